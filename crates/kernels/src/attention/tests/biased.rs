//! Grouped key/value heads and score biases.

use super::*;

/// Grouped-query cases without and with a bias.
fn grouped() -> impl Iterator<Item = Case> {
    let shape = AttentionShape { batch: 3, n_heads: 6, n_kv_heads: 2, tgt_len: 140, src_len: 140, d_head: 5 };
    [false, true].into_iter().map(move |is_biased| {
        let mut case = Case::of(shape);
        case.bias = is_biased.then(|| random(6 * 140 * 140, 6));
        case.lengths = Some(ragged(3, 140));
        case.causality = Causality::Causal;
        case.dropout = Some(DropoutCall { rate: 0.2, seed: 1, micro_batch: 2, site: 3 });
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

/// The gradient of the bias is the sum of those of the sentences, in their order.
#[test]
fn a_sentence_with_a_bias_does_not_depend_on_its_batch() {
    for mut batch in grouped() {
        assert!(batch.run().iter().flatten().all(|x| x.is_finite()));
        batch.dropout = None;
        let all = batch.run();
        let mut sums = vec![0.0; all[4].len()];
        for sentence in 0..3 {
            let mut alone = Case::of(AttentionShape { batch: 1, ..batch.shape });
            let take = |x: &[f32]| x[x.len() / 3 * sentence..][..x.len() / 3].to_vec();
            (alone.q, alone.k, alone.v) = (take(&batch.q), take(&batch.k), take(&batch.v));
            (alone.grad, alone.bias) = (take(&batch.grad), batch.bias.clone());
            alone.causality = Causality::Causal;
            let lens = batch.lengths.as_ref().expect("lengths").lens();
            alone.lengths = Some(Lengths::new([lens[sentence]], 140));
            let [parts @ .., dbias] = alone.run();
            for (part, all) in parts.iter().zip(&all) {
                assert_eq!(bits(part), bits(&take(all)));
            }
            sums.iter_mut().zip(&dbias).for_each(|(sum, x)| *sum += x);
        }
        assert_eq!(bits(&all[4]), bits(&sums));
    }
}

#[test]
#[should_panic(expected = "the heads of AttentionShape")]
fn heads_that_cannot_be_grouped_are_refused() {
    let mut case = Case::new(1, 3, 2, 2, 2);
    case.shape.n_kv_heads = 2;
    case.run();
}
