use super::*;

fn pair(src: &[TokenId], tgt: &[TokenId]) -> (Vec<TokenId>, Vec<TokenId>) {
    (src.to_vec(), tgt.to_vec())
}

const LIMITS: ShortlistLimits = ShortlistLimits { per_token: 2, min_probability: 0.1, frequent: 1 };

/// Model 1 tells a translation from a word that merely occurs along with it: 1 always occurs with 2 or 3,
/// whose translations differ.
#[test]
fn the_translation_of_a_token_is_its_first_candidate() {
    let pairs = [
        pair(&[1, 2], &[11, 12]),
        pair(&[1, 3], &[11, 13]),
        pair(&[2], &[12]),
        pair(&[3], &[13]),
        pair(&[1], &[11]),
    ];
    let list = learn(&pairs, [5, 20], &[0], LIMITS);
    for (src, tgt) in [(1, 11), (2, 12), (3, 13)] {
        assert_eq!(list.of(src)[0], tgt, "{list:?}");
    }
    assert!(list.of(0).is_empty() && list.of(4).is_empty() && list.of(99).is_empty());
    assert!((0..5).all(|token| list.of(token).len() <= LIMITS.per_token));
    // 11 is the most frequent token, and 0 a special one.
    assert_eq!(list.candidates(&[]), [0, 11]);
    assert_eq!(list.candidates(&[4, 99]), [0, 11]);
}

#[test]
fn candidates_are_distinct_and_sorted() {
    let list = Shortlist::new(vec![2, 2, 4], vec![7, 3, 3, 9], vec![1], 10).expect("valid");
    assert_eq!(list.candidates(&[2, 0, 0, 1]), [1, 3, 7, 9]);
    assert_eq!((list.src_vocab(), list.tgt_vocab()), (3, 10));
}

#[test]
fn lists_that_do_not_fit_are_refused() {
    let problem = |ends: &[u32], candidates: &[u32], always: &[u32]| {
        Shortlist::new(ends.to_vec(), candidates.to_vec(), always.to_vec(), 10).expect_err("refused")
    };
    assert!(problem(&[2, 1], &[1], &[]).contains("do not belong"));
    assert!(problem(&[1], &[1, 2], &[]).contains("do not belong"));
    assert!(problem(&[1], &[10], &[]).contains("10 is not in"));
    assert!(problem(&[], &[], &[12]).contains("12 is not in"));
}

/// Tokens without a common pair get no probability, and probabilities sum to at most 1.
#[test]
fn limits_bound_the_candidates() {
    let pairs: Vec<_> = (0..30).map(|i| pair(&[0], &[i % 10])).collect();
    let all = ShortlistLimits { per_token: 100, min_probability: 0.0, frequent: 0 };
    assert_eq!(learn(&pairs, [1, 12], &[], all).candidates(&[0]), (0..10).collect::<Vec<_>>());
    let few = ShortlistLimits { per_token: 3, ..all };
    // Ties go to the lower token.
    assert_eq!(learn(&pairs, [1, 12], &[], few).of(0), [0, 1, 2]);
    let likely = ShortlistLimits { min_probability: 0.2, ..all };
    assert!(learn(&pairs, [1, 12], &[], likely).of(0).is_empty());
    assert_eq!(learn(&[], [2, 3], &[1], all).candidates(&[0]), [1]);
}
