//! Attention: both forms, with every mask, bias and grouping.

use super::*;

#[test]
fn attention_matches() {
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
        (
            shape(2, 2, 3, 5, 3),
            Causality::Full,
            Some(vec![5, 2]),
            None,
        ),
        (shape(2, 2, 4, 4, 5), Causality::Causal, None, None),
        (
            shape(2, 1, 1, 6, 4),
            Causality::Causal,
            Some(vec![3, 0]),
            None,
        ),
        (
            shape(3, 2, 4, 4, 2),
            Causality::Causal,
            Some(vec![4, 1, 2]),
            Some(dropout(0.4)),
        ),
    ];
    for (seed, (shape, causality, lens, dropout)) in cases.into_iter().enumerate() {
        let width = shape.n_heads * shape.d_head;
        let lengths = lens.map(|lens: Vec<usize>| Lengths::new(lens, shape.src_len));
        let scores = Scores::scaled(shape.d_head, causality);
        let run = |form, attended| {
            let run = if form == Form::Fused {
                attention
            } else {
                crate::ops::attention::portable
            };
            run(shape, attended, lengths.as_ref(), &scores, dropout)
        };
        let (queries, keys) = (shape.batch * shape.tgt_len, shape.batch * shape.src_len);
        let apart = Case::new(seed as u64, &[[queries, width], [keys, 2 * width]]);
        apart.check(&|form, inputs| {
            let attended = Attended::Other {
                queries: inputs[0].clone(),
                keys_values: inputs[1].clone(),
            };
            run(form, attended)
        });
        if shape.tgt_len == shape.src_len {
            let joined = Case::new(seed as u64, &[[queries, 3 * width]]);
            joined.check(&|form, inputs| run(form, Attended::Itself(inputs[0].clone())));
        }
    }
}

/// Grouped keys and values, a scale of its own, and a bias.
#[test]
fn biased_attention_matches() {
    for (seed, n_kv_heads) in (0..).zip([1, 2, 4]) {
        let shape = AttentionShape {
            batch: 2,
            n_heads: 4,
            n_kv_heads,
            tgt_len: 3,
            src_len: 3,
            d_head: 2,
        };
        let lengths = Lengths::new([3, 2], 3);
        let run = |form, attended, bias: &Tensor<2>| {
            let scores = Scores {
                scale: 0.8,
                causality: Causality::Causal,
                bias: Some(bias.clone().reshape([4, 3, 3])),
            };
            let run = match form {
                Form::Fused => attention,
                Form::Portable => crate::ops::attention::portable,
            };
            run(shape, attended, Some(&lengths), &scores, Some(dropout(0.3)))
        };
        let bias = [4, 9];
        Case::new(seed, &[[6, shape.joined_width()], bias])
            .check(&|form, inputs| run(form, Attended::Itself(inputs[0].clone()), &inputs[1]));
        let shapes = [[6, 8], [6, 2 * shape.kv_width()], bias];
        Case::new(seed, &shapes).check(&|form, inputs| {
            let attended = Attended::Other {
                queries: inputs[0].clone(),
                keys_values: inputs[1].clone(),
            };
            run(form, attended, &inputs[2])
        });
    }
}
