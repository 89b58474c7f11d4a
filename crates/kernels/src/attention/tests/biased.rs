//! Grouped key/value heads and score biases.

use super::*;

/// Grouped-query cases with both forms of bias.
fn grouped() -> impl Iterator<Item = Case> {
    let shape = AttentionShape {
        batch: 3,
        n_heads: 6,
        n_kv_heads: 2,
        tgt_len: 140,
        src_len: 140,
        d_head: 5,
    };
    let one = 6 * 140 * 140;
    [None, Some(one), Some(3 * one)]
        .into_iter()
        .map(move |bias| {
            let mut case = Case::of(shape);
            case.bias = bias.map(|len| random(len, 6));
            case.lengths = Some(ragged(3, 140));
            case.causality = Causality::Causal;
            case.dropout = Some(Dropout {
                rate: 0.2,
                seed: 1,
                micro_batch: 2,
                site: 3,
            });
            case
        })
}

#[test]
fn shared_heads_and_biases_match_the_reference() {
    for mut case in grouped() {
        case.assert_matches_the_reference();
        let found = case.run().map(|part| bits(&part));
        assert_eq!(found, case.run_joined().map(|part| bits(&part)));
        case.causality = Causality::Full;
        case.dropout = None;
        case.assert_matches_the_reference();
        case.shape.n_kv_heads = 1;
        (case.k, case.v) = (random(3 * 140 * 5, 2), random(3 * 140 * 5, 3));
        case.assert_matches_the_reference();
    }
}

#[test]
fn the_thread_count_does_not_change_the_bias_gradient() {
    for case in grouped() {
        assert_same_on_all_pools(|| case.run().concat());
    }
}

#[test]
fn a_shared_bias_applies_to_every_sentence() {
    let [_, mut shared, mut each] = grouped()
        .collect::<Vec<_>>()
        .try_into()
        .ok()
        .expect("three");
    let bias = shared.bias.take().expect("a bias");
    each.bias = Some(bias.repeat(3));
    shared.bias = Some(bias);
    let (shared, each) = (shared.run(), each.run());
    for (one, other) in shared[..4].iter().zip(&each) {
        assert_eq!(bits(one), bits(other));
    }
    let one = shared[4].len();
    let sum = |i: usize| (0.0 + each[4][i] + each[4][one + i]) + each[4][2 * one + i];
    let sums: Vec<f32> = (0..one).map(sum).collect();
    assert_eq!(bits(&shared[4]), bits(&sums));
}

#[test]
fn a_sentence_with_a_bias_does_not_depend_on_its_batch() {
    for batch in grouped() {
        let all = batch.run();
        for sentence in 0..3 {
            let mut alone = Case::of(AttentionShape {
                batch: 1,
                ..batch.shape
            });
            let take = |x: &[f32]| x[x.len() / 3 * sentence..][..x.len() / 3].to_vec();
            (alone.q, alone.k, alone.v) = (take(&batch.q), take(&batch.k), take(&batch.v));
            alone.bias = batch.bias.as_ref().map(|bias| match batch.is_shared(bias) {
                true => bias.clone(),
                false => take(bias),
            });
            alone.causality = Causality::Causal;
            let lens = batch.lengths.as_ref().expect("lengths").lens();
            alone.lengths = Some(Lengths::new([lens[sentence]], 140));
            let mut undropped = Case::of(batch.shape);
            undropped.bias = batch.bias.clone();
            undropped.lengths = batch.lengths.clone();
            undropped.causality = Causality::Causal;
            (undropped.q, undropped.k) = (batch.q.clone(), batch.k.clone());
            undropped.v = batch.v.clone();
            assert_eq!(bits(&alone.run()[0]), bits(&take(&undropped.run()[0])));
        }
        assert!(all.iter().flatten().all(|x| x.is_finite()));
    }
}

#[test]
#[should_panic(expected = "the heads of AttentionShape")]
fn heads_that_cannot_be_grouped_are_refused() {
    let mut case = Case::new(1, 3, 2, 2, 2);
    case.shape.n_kv_heads = 2;
    case.run();
}
