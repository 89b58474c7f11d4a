//! Alignments of an invented language, of which all are known.

use attentive_base::random::Random;

use super::*;

/// Pairs in which each word has a translation, in one of several forms, adjectives follow their nouns, and each
/// sentence begins with a word without a source; and their links.
fn invented(count: usize, forms: u64) -> (Vec<String>, Vec<String>, Vec<GoldLinks>) {
    let mut random = Random::new(3, 0);
    let mut below = |n: u64| random.next_u64() % n;
    let (mut src, mut tgt, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        let (mut a, mut b, mut gold) = (Vec::new(), vec!["oh".to_owned()], GoldLinks::default());
        for _ in 0..1 + below(4) {
            let (noun, adjective, verb) = (below(30), below(20), below(10));
            let mut formed = |word: String| word + &below(forms).to_string();
            let at = a.len();
            a.extend(
                [format!("{adjective}adj"), format!("{noun}Noun"), format!("{verb}verb")].map(&mut formed),
            );
            let to = b.len();
            b.extend([format!("{noun}n."), format!("{adjective}a."), format!("{verb}v.")].map(&mut formed));
            gold.sure.0.extend([(at, to + 1), (at + 1, to), (at + 2, to + 2)]);
        }
        gold.possible = gold.sure.clone();
        src.push(a.join(" "));
        tgt.push(b.join(" "));
        links.push(gold);
    }
    (src, tgt, links)
}

fn score(found: &[WordLinks], gold: &[GoldLinks]) -> AlignmentScore {
    let mut score = AlignmentScore::default();
    found.iter().zip(gold).for_each(|(found, gold)| score.add(found, gold));
    score
}

#[test]
fn the_alignments_of_an_invented_language_are_found() {
    let (src, tgt, gold) = invented(1000, 1);
    for symmetrization in [
        Symmetrization::GrowDiagFinalAnd,
        Symmetrization::Intersection,
        Symmetrization::Forward,
        Symmetrization::Backward,
    ] {
        let found = align_words(&src, &tgt, symmetrization).unwrap();
        let score = score(&found, &gold);
        assert!(score.error_rate() < 0.05, "{symmetrization:?}: {score:?}");
    }
}

/// Most forms occur once or twice.
#[test]
fn rare_forms_of_a_word_are_aligned_like_the_others() {
    let (src, tgt, gold) = invented(1000, 1000);
    let score = score(&align_words(&src, &tgt, Symmetrization::GrowDiagFinalAnd).unwrap(), &gold);
    assert!(score.error_rate() < 0.05, "{score:?}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (src, tgt, _) = invented(200, 1);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| align_words(&src, &tgt, Symmetrization::Union).unwrap())
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn lines_without_words_have_no_links() {
    let lines = |lines: [&str; 3]| lines.map(String::from).to_vec();
    let found =
        align_words(&lines(["a b", "", "a"]), &lines(["x y", "z", " "]), Symmetrization::Union).unwrap();
    assert!(!found[0].0.is_empty());
    assert_eq!([&found[1], &found[2]], [&WordLinks::default(); 2]);
    assert!(align_words(&[], &[], Symmetrization::Union).unwrap().is_empty());
    assert!(align_words(&lines(["a", "b", "c"]), &[], Symmetrization::Union).is_err());
}

#[test]
fn links_grow_between_those_of_both_directions() {
    let links = |text: &str| text.parse::<GoldLinks>().unwrap().sure;
    let (forward, backward) = (links("0-0 1-1 3-2 5-5"), links("0-0 1-2 4-4"));
    // 1-1 is beside 0-0, then 1-2 beside 1-1, and 3-2 has a new source word, but is nobody's neighbor.
    assert_eq!(Symmetrization::GrowDiagFinalAnd.combined(&forward, &backward), links("0-0 1-1 1-2 4-4 5-5"));
    assert_eq!(Symmetrization::Intersection.combined(&forward, &backward), links("0-0"));
    assert_eq!(Symmetrization::Union.combined(&forward, &backward).0.len(), 6);
}

#[test]
fn error_rates_follow_their_definition() {
    let gold: GoldLinks = "0-0 1?1 2p2 3-3".parse().unwrap();
    assert_eq!((gold.sure.0.len(), gold.possible.0.len()), (2, 4));
    let found: WordLinks = [(0, 0), (1, 1), (4, 4)].into_iter().collect();
    let score = score(&[found], &[gold]);
    assert_eq!((score.precision(), score.recall()), (2.0 / 3.0, 0.5));
    assert!((score.error_rate() - (1.0 - 3.0 / 5.0)).abs() < 1e-12);
    assert!("0-x".parse::<GoldLinks>().unwrap_err().to_string().contains("`0-x` is no link"));
    assert_eq!("0-0 1?1".parse::<GoldLinks>().unwrap().possible.to_string(), "0-0 1-1");
}
