//! Compares each reference backward pass with central differences of its forward pass.

use attentive_base::lengths::Lengths;

use super::*;
use crate::attention::{AttentionShape, Causality};
use crate::gemm::Float;
use crate::norm::{NormCall, NormKind};
use crate::recurrent::{CellKind, Direction, RecurrentCall};
use crate::testing::{assert_derivative, random, wide};

fn numbers(len: usize, seed: u32) -> Vec<f64> {
    wide(&random(len, seed))
}

#[test]
fn linear_gradients_are_derivatives() {
    for activation in [Activation::Identity, Activation::Relu] {
        let call =
            LinearCall { rows: 3, d_in: 4, d_out: 5, activation, dropout: None, precision: Float::F32 };
        let (x, w, b, g) = (numbers(12, 1), numbers(20, 2), numbers(5, 3), numbers(15, 4));
        let out = linear(call, &x, &w, Some(&b));
        assert!(out.iter().any(|&y| y <= 0.0) && out.iter().any(|&y| y > 0.0));
        let [dx, dw, db] = linear_backward(call, &x, &w, &out, &g);
        assert_derivative(&x, &g, &dx, |x| linear(call, x, &w, Some(&b)));
        assert_derivative(&w, &g, &dw, |w| linear(call, &x, w, Some(&b)));
        assert_derivative(&b, &g, &db, |b| linear(call, &x, &w, Some(b)));
    }
}

#[test]
fn attention_gradients_are_derivatives() {
    let dropout = DropoutCall { rate: 0.3, seed: 5, micro_batch: 1, site: 2 };
    let lens = [2, 0];
    for (causality, lens, dropout, is_biased) in [
        (Causality::Full, None, None, false),
        (Causality::Causal, None, Some(dropout), true),
        (Causality::Full, Some(&lens[..]), Some(dropout), true),
        (Causality::Causal, Some(&lens[..]), None, true),
    ] {
        let shape = AttentionShape {
            batch: 2,
            n_heads: 2,
            n_kv_heads: if is_biased { 1 } else { 2 },
            tgt_len: 3,
            src_len: 4,
            d_head: 3,
        };
        let (q, k, v, g) = (
            numbers(36, 1),
            numbers(24 * shape.n_kv_heads, 2),
            numbers(24 * shape.n_kv_heads, 3),
            numbers(36, 4),
        );
        let bias = is_biased.then(|| numbers(24, 5));
        let all = ReferenceAttention {
            shape,
            q: &q,
            k: &k,
            v: &v,
            lens,
            causality,
            scale: 0.7,
            bias: bias.as_deref(),
            dropout,
        };
        let [dq, dk, dv, dbias] = all.backward(&g);
        assert_derivative(&q, &g, &dq, |q| ReferenceAttention { q, ..all }.forward());
        assert_derivative(&k, &g, &dk, |k| ReferenceAttention { k, ..all }.forward());
        assert_derivative(&v, &g, &dv, |v| ReferenceAttention { v, ..all }.forward());
        if let Some(bias) = &bias {
            assert_derivative(bias, &g, &dbias, |bias| {
                let bias = Some(bias);
                ReferenceAttention { bias, ..all }.forward()
            });
        }
    }
}

#[test]
fn norm_gradients_are_derivatives() {
    let (rows, d) = (2, 5);
    for (kind, gains) in [(NormKind::Layer, d), (NormKind::Rms, d), (NormKind::Scalar, 1)] {
        let (x, gain, bias, g) =
            (numbers(rows * d, 1), numbers(gains, 2), numbers(gains, 3), numbers(rows * d, 4));
        let call = NormCall { kind, rows, d, epsilon: 1e-3 };
        let [dx, dgain, dbias] = norm_backward(call, &x, &gain, &g);
        assert_derivative(&x, &g, &dx, |x| norm(call, x, &gain, Some(&bias)));
        assert_derivative(&gain, &g, &dgain, |gain| norm(call, &x, gain, Some(&bias)));
        assert_derivative(&bias, &g, &dbias, |bias| norm(call, &x, &gain, Some(bias)));
    }
}

#[test]
fn cross_entropy_gradients_are_derivatives() {
    let shape = ProjectionShape { rows: 4, d_model: 3, vocab: 5, precision: Float::F32 };
    let targets = [2, IGNORE, 4, 0];
    for (smoothing, weights) in [(0.0, None), (0.2, None), (0.2, Some(&[0.5, 1.0, 0.0, 3.0][..]))] {
        let (x, w, b) = (numbers(12, 1), numbers(15, 2), numbers(5, 3));
        let (_, [dx, dw, db]) = cross_entropy(shape, &x, &w, Some(&b), &targets, weights, smoothing);
        let loss = |x: &[f64], w: &[f64], b: &[f64]| {
            vec![cross_entropy(shape, x, w, Some(b), &targets, weights, smoothing).0.loss]
        };
        assert_derivative(&x, &[1.0], &dx, |x| loss(x, &w, &b));
        assert_derivative(&w, &[1.0], &dw, |w| loss(&x, w, &b));
        assert_derivative(&b, &[1.0], &db, |b| loss(&x, &w, b));
    }
}

#[test]
fn the_embedding_gradient_is_the_derivative() {
    let (ids, d, scale) = ([3, 0, 3, 1], 2, 1.5);
    let (table, g) = (numbers(5 * d, 1), numbers(ids.len() * d, 2));
    let dtable = embedding_backward(&ids, &g, 5, d, scale);
    assert_derivative(&table, &g, &dtable, |table| embedding(&ids, table, d, scale, None));
}

#[test]
fn recurrent_gradients_are_derivatives() {
    let (lengths, d) = (Lengths::new([3, 0, 2], 3), 2);
    for cell in [CellKind::Rnn, CellKind::Lstm, CellKind::CoupledLstm, CellKind::Gru, CellKind::Ssru] {
        for direction in [Direction::Forward, Direction::Backward] {
            let call = RecurrentCall { cell, direction, lengths: &lengths, d, precision: Float::F32 };
            let (gates, states) = (cell.gates() * d, cell.states() * d);
            let hidden = cell.hidden_gates() * d;
            let (x, w) = (numbers(9 * gates, 1), numbers(hidden * d, 2));
            let (b, first) = (numbers(hidden, 3), numbers(3 * states, 4));
            let g = numbers(9 * states, 5);
            let with = |x: &[f64], w: &[f64], b: &[f64], first: &[f64]| {
                let twin = Recurrent {
                    call,
                    projected: x,
                    weight: (hidden > 0).then_some(w),
                    bias: (hidden > 0).then_some(b),
                    initial: Some(first),
                };
                (twin.forward(), twin.backward(&g))
            };
            let (_, [dx, dw, db, dfirst]) = with(&x, &w, &b, &first);
            assert_derivative(&x, &g, &dx, |x| with(x, &w, &b, &first).0);
            assert_derivative(&w, &g, &dw, |w| with(&x, w, &b, &first).0);
            assert_derivative(&b, &g, &db, |b| with(&x, &w, b, &first).0);
            assert_derivative(&first, &g, &dfirst, |first| with(&x, &w, &b, first).0);
        }
    }
}

#[test]
fn additive_attention_gradients_are_derivatives() {
    let shape = AdditiveAttentionShape { rows: 2, src_len: 4, d_key: 3, d_value: 2 };
    let lens = [3, 0];
    let (q, k, value, v) = (numbers(6, 1), numbers(24, 2), numbers(16, 3), numbers(3, 4));
    let g = numbers(4, 5);
    for lens in [None, Some(&lens[..])] {
        let with = |q: &[f64], k: &[f64], value: &[f64], v: &[f64]| {
            let twin = ReferenceAdditiveAttention { shape, queries: q, keys: k, values: value, lens, v };
            (twin.forward(), twin.backward(&g))
        };
        let (_, [dq, dk, dvalue, dv]) = with(&q, &k, &value, &v);
        assert_derivative(&q, &g, &dq, |q| with(q, &k, &value, &v).0);
        assert_derivative(&k, &g, &dk, |k| with(&q, k, &value, &v).0);
        assert_derivative(&value, &g, &dvalue, |value| with(&q, &k, value, &v).0);
        assert_derivative(&v, &g, &dv, |v| with(&q, &k, &value, v).0);
    }
}

/// The reference's inputs in the order of its gradients: projections, hidden weight, bias, initial states,
/// the two projections, keys, values and v.
fn attentive_reference<'a>(
    call: RecurrentCall<'a>,
    shape: AdditiveAttentionShape,
    lens: Option<&'a [usize]>,
    inputs: &'a [Vec<f64>; 9],
) -> AttentiveRecurrent<'a> {
    let [projected, weight, bias, initial, query_weight, context_weight, keys, values, v] = inputs;
    AttentiveRecurrent {
        recurrent: Recurrent {
            call,
            projected,
            weight: (!weight.is_empty()).then_some(weight),
            bias: (!bias.is_empty()).then_some(bias),
            initial: Some(initial),
        },
        attention: ReferenceAdditiveAttention { shape, queries: &[], keys, values, lens, v },
        query_weight,
        context_weight,
    }
}

#[test]
fn attentive_recurrent_gradients_are_derivatives() {
    let (lengths, d) = (Lengths::new([3, 0, 2], 3), 2);
    let shape = AdditiveAttentionShape { rows: 3, src_len: 3, d_key: 2, d_value: 3 };
    let src_lens = [2, 3, 0];
    for cell in [CellKind::Rnn, CellKind::Lstm, CellKind::CoupledLstm, CellKind::Gru, CellKind::Ssru] {
        for (direction, lens) in [
            (Direction::Forward, None),
            (Direction::Forward, Some(&src_lens[..])),
            (Direction::Backward, None),
        ] {
            let call = RecurrentCall { cell, direction, lengths: &lengths, d, precision: Float::F32 };
            let (gates, states) = (cell.gates() * d, cell.states() * d);
            let sizes = [
                9 * gates,
                cell.hidden_gates() * d * d,
                cell.hidden_gates() * d,
                3 * states,
                2 * d,
                gates * 3,
                18,
                27,
                2,
            ];
            let mut seed = 0;
            let inputs = sizes.map(|len| {
                seed += 1;
                numbers(len, seed)
            });
            let grad = numbers(9 * (states + 3), 10);
            let gradients = attentive_reference(call, shape, lens, &inputs).backward(&grad);
            for (number, gradient) in gradients.iter().enumerate() {
                assert_derivative(&inputs[number], &grad, gradient, |moved| {
                    let mut inputs = inputs.clone();
                    inputs[number] = moved.to_vec();
                    let [out, _] = attentive_reference(call, shape, lens, &inputs).forward();
                    out
                });
            }
        }
    }
}
