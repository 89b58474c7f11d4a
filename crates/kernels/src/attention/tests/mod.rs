mod biased;

use super::*;
use crate::reference;
use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, wide};

/// A call with random inputs.
struct Case {
    shape: AttentionShape,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    grad: Vec<f32>,
    lengths: Option<Lengths>,
    bias: Option<Vec<f32>>,
    causality: Causality,
    dropout: Option<DropoutCall>,
}

impl Case {
    fn new(batch: usize, n_heads: usize, tgt_len: usize, src_len: usize, d_head: usize) -> Self {
        let shape = AttentionShape { batch, n_heads, n_kv_heads: n_heads, tgt_len, src_len, d_head };
        Self::of(shape)
    }

    fn of(shape: AttentionShape) -> Self {
        let (queries, keys) = (
            shape.batch * shape.tgt_len * shape.query_width(),
            shape.batch * shape.src_len * shape.kv_width(),
        );
        Self {
            shape,
            q: random(queries, 1).iter().map(|x| 3.0 * x).collect(),
            k: random(keys, 2),
            v: random(keys, 3),
            grad: random(queries, 4),
            lengths: None,
            bias: None,
            causality: Causality::Full,
            dropout: None,
        }
    }

    fn inputs<'a>(&'a self, operands: QkvOperands<&'a [f32]>) -> AttentionInputs<'a, &'a [f32]> {
        AttentionInputs {
            operands,
            lengths: self.lengths.as_ref(),
            scores: Scores {
                bias: self.bias.as_deref(),
                ..Scores::scaled(self.shape.d_head, self.causality)
            },
            dropout: self.dropout,
        }
    }

    /// Buffer for the gradient of the bias.
    fn bias_gradient<'a>(&self, room: &'a mut [f32]) -> Option<&'a mut [f32]> {
        self.bias.is_some().then_some(room)
    }

    /// Output, dq, dk, dv, dbias.
    fn run(&self) -> [Vec<f32>; 5] {
        let width = self.shape.kv_width();
        let keys_values = side_by_side(&[(&self.k, width), (&self.v, width)]);
        let operands = QkvOperands::Apart { queries: &self.q[..], keys_values: &keys_values[..] };
        let mut out = vec![f32::NAN; self.q.len()];
        let (mut dq, mut dkv) = (out.clone(), vec![f32::NAN; keys_values.len()]);
        let mut dbias = vec![f32::NAN; self.bias.as_ref().map_or(0, Vec::len)];
        attention(self.shape, self.inputs(operands), &mut out);
        let gradients = QkvOperands::Apart { queries: &mut dq[..], keys_values: &mut dkv[..] };
        let (inputs, bias) = (self.inputs(operands), self.bias_gradient(&mut dbias));
        attention_backward(self.shape, inputs, &self.grad, gradients, bias);
        let [dk, dv] = columns(&dkv, [width; 2]);
        [out, dq, dk, dv, dbias]
    }

    /// The same with joined operands.
    fn run_joined(&self) -> [Vec<f32>; 5] {
        let (width, kv_width) = (self.shape.query_width(), self.shape.kv_width());
        let parts = [(&self.q[..], width), (&self.k, kv_width), (&self.v, kv_width)];
        let joined = side_by_side(&parts);
        let mut dbias = vec![f32::NAN; self.bias.as_ref().map_or(0, Vec::len)];
        let operands = QkvOperands::Joined(&joined[..]);
        let mut out = vec![f32::NAN; self.q.len()];
        let mut gradient = vec![f32::NAN; joined.len()];
        attention(self.shape, self.inputs(operands), &mut out);
        let gradients = QkvOperands::Joined(&mut gradient[..]);
        let (inputs, bias) = (self.inputs(operands), self.bias_gradient(&mut dbias));
        attention_backward(self.shape, inputs, &self.grad, gradients, bias);
        let [dq, dk, dv] = columns(&gradient, [width, kv_width, kv_width]);
        [out, dq, dk, dv, dbias]
    }

    fn assert_matches_the_reference(&self) {
        let (q, k, v) = (wide(&self.q), wide(&self.k), wide(&self.v));
        let bias = self.bias.as_ref().map(|bias| wide(bias));
        let Self { shape, causality, dropout, .. } = *self;
        let twin = reference::ReferenceAttention {
            shape,
            q: &q,
            k: &k,
            v: &v,
            lens: self.lengths.as_ref().map(Lengths::lens),
            causality,
            scale: 1.0 / (shape.d_head as f64).sqrt(),
            bias: bias.as_deref(),
            dropout,
        };
        let what = format!(
            "{shape:?}, {causality:?}, padded {}, dropped {}",
            self.lengths.is_some(),
            dropout.is_some()
        );
        let [out, gradients @ ..] = self.run();
        assert_close(&out, &twin.forward(), 5e-6, &what);
        for (found, twin) in gradients.iter().zip(&twin.backward(&wide(&self.grad))) {
            assert_close(found, twin, 2e-5, &what);
        }
    }
}

/// Concatenates matrices of given widths column-wise.
fn side_by_side(parts: &[(&[f32], usize)]) -> Vec<f32> {
    let rows = parts[0].0.len() / parts[0].1.max(1);
    let row = |row: usize| {
        let parts = parts.iter();
        parts.flat_map(move |(part, width)| &part[row * width..][..*width])
    };
    (0..rows).flat_map(row).copied().collect()
}

/// The inverse of [`side_by_side`].
fn columns<const N: usize>(joined: &[f32], widths: [usize; N]) -> [Vec<f32>; N] {
    let mut first = 0;
    widths.map(|width| {
        let rows = joined.chunks(widths.iter().sum::<usize>().max(1));
        let part = rows.flat_map(|row| &row[first..][..width]).copied();
        let part = part.collect();
        first += width;
        part
    })
}

/// Decreasing lengths, starting at `src_len`.
fn ragged(batch: usize, src_len: usize) -> Lengths {
    let lens: Vec<usize> = (0..batch).map(|b| src_len * (3 - b % 3) / 3).collect();
    Lengths::new(lens, src_len)
}

#[test]
fn joined_operands_give_the_same_bits() {
    for causality in [Causality::Full, Causality::Causal] {
        let mut case = Case::new(2, 3, 140, 140, 5);
        case.causality = causality;
        case.lengths = Some(Lengths::new([121, 140], 140));
        case.dropout = Some(DropoutCall { rate: 0.2, seed: 1, micro_batch: 2, site: 3 });
        assert_eq!(case.run().map(|part| bits(&part)), case.run_joined().map(|part| bits(&part)));
    }
}

#[test]
fn forward_and_backward_match_the_reference() {
    let dropout = DropoutCall { rate: 0.2, seed: 1, micro_batch: 2, site: 3 };
    let shapes =
        [(1, 1, 1, 1, 1), (2, 3, 5, 7, 5), (1, 2, 70, 70, 16), (2, 1, 1, 40, 33), (1, 1, 300, 260, 4)];
    for (batch, n_heads, tgt_len, src_len, d_head) in shapes {
        for causality in [Causality::Full, Causality::Causal] {
            for padded in [false, true] {
                for dropout in [None, Some(dropout)] {
                    let mut case = Case::new(batch, n_heads, tgt_len, src_len, d_head);
                    case.causality = causality;
                    case.dropout = dropout;
                    case.lengths = padded.then(|| ragged(batch, src_len));
                    case.assert_matches_the_reference();
                }
            }
        }
    }
}

#[test]
fn empty_shapes_do_nothing() {
    for (batch, n_heads, tgt_len, src_len, d_head) in [(0, 2, 3, 4, 5), (2, 2, 0, 4, 5), (2, 0, 3, 4, 5)] {
        let parts = Case::new(batch, n_heads, tgt_len, src_len, d_head).run();
        assert!(parts.iter().flatten().all(|&x| x == 0.0));
    }
}

#[test]
fn a_query_without_keys_gives_zeros() {
    let mut no_key = Case::new(1, 2, 3, 0, 4);
    let [out, dq, ..] = no_key.run();
    assert!(out.iter().chain(&dq).all(|&x| x == 0.0));
    no_key = Case::new(2, 2, 3, 4, 5);
    no_key.lengths = Some(Lengths::new([0, 4], 4));
    let width = 10;
    let [out, dq, dk, dv, _] = no_key.run();
    for (part, len) in [(&out, 3), (&dq, 3), (&dk, 4), (&dv, 4)] {
        assert!(part[..len * width].iter().all(|&x| x == 0.0), "the padded sentence");
        assert!(part[len * width..].iter().all(|&x| x != 0.0), "the other sentence");
    }
}

#[test]
fn more_padding_gives_identical_bits() {
    let (batch, tgt_len, src_len, d_head) = (2, 6, 11, 8);
    let mut narrow = Case::new(batch, 1, tgt_len, src_len, d_head);
    narrow.lengths = Some(Lengths::new([11, 9], src_len));
    let [out, dq, dk, dv, _] = narrow.run();
    for extra in [1, 5, 300] {
        // Padded keys and values hold NaN, which must never be read.
        let widen = |x: &[f32]| -> Vec<f32> {
            let padding = vec![f32::NAN; extra * d_head];
            x.chunks(src_len * d_head).flat_map(|x| [x, &padding[..]].concat()).collect()
        };
        let mut padded = Case::new(batch, 1, tgt_len, src_len + extra, d_head);
        (padded.k, padded.v) = (widen(&narrow.k), widen(&narrow.v));
        padded.lengths = Some(Lengths::new([11, 9], src_len + extra));
        let [wide_out, wide_dq, wide_dk, wide_dv, _] = padded.run();
        assert_eq!(bits(&wide_out), bits(&out));
        assert_eq!(bits(&wide_dq), bits(&dq));
        for (wide, narrow) in [(&wide_dk, &dk), (&wide_dv, &dv)] {
            for (wide, narrow) in wide.chunks((src_len + extra) * d_head).zip(narrow.chunks(src_len * d_head))
            {
                assert_eq!(bits(&wide[..narrow.len()]), bits(narrow));
                assert!(wide[narrow.len()..].iter().all(|&x| x == 0.0));
            }
        }
    }
}

#[test]
fn a_cached_query_equals_the_last_row_of_the_full_pass() {
    let (len, width) = (150, 12);
    let mut full = Case::new(1, 3, len, len, 4);
    full.causality = Causality::Causal;
    let [all, ..] = full.run();
    for i in [0, 1, 63, 127, 128, 149] {
        let mut step = Case::new(1, 3, 1, i + 1, 4);
        step.q = full.q[i * width..][..width].to_vec();
        step.k = full.k[..(i + 1) * width].to_vec();
        step.v = full.v[..(i + 1) * width].to_vec();
        step.causality = Causality::Causal;
        assert_eq!(step.run()[0], all[i * width..][..width], "step {i}");
    }
}

#[test]
fn a_sentence_does_not_depend_on_its_batch() {
    let batch = Case::new(5, 2, 9, 13, 6);
    let [all, ..] = batch.run();
    for sentence in 0..5 {
        let mut alone = Case::new(1, 2, 9, 13, 6);
        let take = |x: &[f32]| x[x.len() / 5 * sentence..][..x.len() / 5].to_vec();
        (alone.q, alone.k, alone.v) = (take(&batch.q), take(&batch.k), take(&batch.v));
        assert_eq!(bits(&alone.run()[0]), bits(&take(&all)));
    }
}

#[test]
fn huge_scores_and_nan_are_handled() {
    let mut case = Case::new(1, 1, 2, 3, 2);
    case.q = vec![1e10, 1e10, -1e10, 1e10];
    assert!(case.run().iter().flatten().all(|x| x.is_finite()));
    case.q[0] = f32::NAN;
    let [out, ..] = case.run();
    assert!(out[..2].iter().all(|x| x.is_nan()) && out[2..].iter().all(|x| x.is_finite()));
}

#[test]
fn the_thread_count_changes_nothing() {
    let mut case = Case::new(3, 2, 200, 210, 20);
    case.dropout = Some(DropoutCall { rate: 0.1, seed: 1, micro_batch: 1, site: 1 });
    case.lengths = Some(ragged(3, 210));
    assert_same_on_all_pools(|| case.run().concat());
}
