//! Attention with every mask, bias and grouping, and its weights.

use super::*;

#[test]
fn attentions() {
    let shape = |batch, n_heads, tgt_len, src_len, d_head| AttentionShape {
        batch,
        n_heads,
        n_kv_heads: n_heads,
        tgt_len,
        src_len,
        d_head,
    };
    let cases = [
        (shape(1, 1, 1, 1, 1), Causality::Full, None, None),
        (shape(2, 2, 3, 5, 3), Causality::Full, Some(vec![5, 2]), None),
        (shape(2, 2, 4, 4, 5), Causality::Causal, None, None),
        (shape(2, 1, 1, 6, 4), Causality::Causal, Some(vec![3, 0]), None),
        (shape(3, 2, 4, 4, 2), Causality::Causal, Some(vec![4, 1, 2]), Some(dropout(0.4))),
    ];
    for (seed, (shape, causality, lens, dropout)) in cases.into_iter().enumerate() {
        let width = shape.n_heads * shape.d_head;
        let lengths = lens.map(|lens: Vec<usize>| Lengths::new(lens, shape.src_len));
        let scores = TapeScores::scaled(shape.d_head, causality);
        let run = |attended| attention(shape, attended, lengths.as_ref(), &scores, dropout);
        let (queries, keys) = (shape.batch * shape.tgt_len, shape.batch * shape.src_len);
        let apart = Case::new(seed as u64, &[[queries, width], [keys, 2 * width]]);
        apart.check(&|inputs| {
            let attended = QkvSource::Other { queries: inputs[0].clone(), keys_values: inputs[1].clone() };
            run(attended)
        });
        if shape.tgt_len == shape.src_len {
            let joined = Case::new(seed as u64, &[[queries, 3 * width]]);
            joined.check(&|inputs| run(QkvSource::Itself(inputs[0].clone())));
        }
    }
}

/// Grouped keys and values, a scale of its own, and a bias.
#[test]
fn biased_attentions() {
    for (seed, n_kv_heads) in (0..).zip([1, 2, 4]) {
        let shape = AttentionShape { batch: 2, n_heads: 4, n_kv_heads, tgt_len: 3, src_len: 3, d_head: 2 };
        let lengths = Lengths::new([3, 2], 3);
        let run = |attended, bias: &Value| {
            let scores = TapeScores { scale: 0.8, causality: Causality::Causal, bias: Some(bias.clone()) };
            attention(shape, attended, Some(&lengths), &scores, Some(dropout(0.3)))
        };
        let bias = [4, 9];
        Case::new(seed, &[[6, shape.joined_width()], bias])
            .check(&|inputs| run(QkvSource::Itself(inputs[0].clone()), &inputs[1]));
        let shapes = [[6, 8], [6, 2 * shape.kv_width()], bias];
        Case::new(seed, &shapes).check(&|inputs| {
            let attended = QkvSource::Other { queries: inputs[0].clone(), keys_values: inputs[1].clone() };
            run(attended, &inputs[2])
        });
    }
}

/// The weighted sums of the values are the result of attention.
#[test]
fn weights_belong_to_the_result() {
    on_each_device(|| {
        let shape = AttentionShape { batch: 2, n_heads: 4, n_kv_heads: 2, tgt_len: 3, src_len: 3, d_head: 2 };
        let lengths = Lengths::new([3, 2], 3);
        let scores = TapeScores { scale: 0.8, causality: Causality::Causal, bias: Some(random(1, [4, 9])) };
        let all = random(2, [6, shape.joined_width()]);
        let attended = || QkvSource::Itself(all.clone());
        let weights = attention_weights(shape, &attended(), Some(&lengths), &scores);
        let result = attention(shape, attended(), Some(&lengths), &scores, None);
        assert_eq!(weights.shape, [2, 4, 3, 3]);
        let first_value = shape.query_width() + shape.kv_width();
        for (number, weights) in weights.values.chunks_exact(3).enumerate() {
            let (query, head, sequence) = (number % 3, number / 3 % 4, number / 12);
            let visible = (query + 1).min(lengths.lens()[sequence]);
            assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            assert!(weights[visible..].iter().all(|&weight| weight == 0.0));
            for feature in 0..2 {
                let value = |key: usize| {
                    let row = (sequence * 3 + key) * shape.joined_width();
                    all.values()[row + first_value + head / 2 * 2 + feature]
                };
                let expected: f32 = (0..3).map(|key| weights[key] * value(key)).sum();
                let row = (sequence * 3 + query) * shape.query_width();
                let found = result.values()[row + head * 2 + feature];
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
        let mean = weights.mean_of_heads();
        assert_eq!(mean.shape, [2, 1, 3, 3]);
        let of_heads = (0..4).map(|head| weights.values[head * 9 + 4]);
        assert!((mean.values[4] - of_heads.sum::<f32>() / 4.0).abs() < 1e-6);
    });
}

#[test]
fn a_query_without_visible_keys_has_no_weights() {
    on_each_device(|| {
        let shape = AttentionShape { batch: 2, n_heads: 1, n_kv_heads: 1, tgt_len: 1, src_len: 2, d_head: 2 };
        let attended = QkvSource::Other { queries: random(1, [2, 2]), keys_values: random(2, [4, 4]) };
        let lengths = Lengths::new([0, 1], 2);
        let scores = TapeScores::scaled(2, Causality::Full);
        let weights = attention_weights(shape, &attended, Some(&lengths), &scores);
        assert_eq!(weights.values, [0.0, 0.0, 1.0, 0.0]);
    });
}
