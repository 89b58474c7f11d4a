use attentive_device::{AttentionInputs, AttentionShape, Device, Lengths, QkvOperands, on};
use attentive_kernels::attention::{Causality, Scores, scale_of};

use super::*;

/// [batch, heads, key heads, queries, keys, columns of a head]
pub(super) fn shape([batch, n_heads, n_kv_heads, tgt_len, src_len, d_head]: [usize; 6]) -> AttentionShape {
    AttentionShape { batch, n_heads, n_kv_heads, tgt_len, src_len, d_head }
}

pub(super) struct Case<'a> {
    pub(super) shape: AttentionShape,
    pub(super) lengths: Option<&'a Lengths>,
    pub(super) causality: Causality,
    pub(super) biased: bool,
    pub(super) dropout: Option<DropoutCall>,
    pub(super) joined: bool,
}

impl Case<'_> {
    /// The result and all gradients.
    pub(super) fn both(&self, device: &dyn Device) -> Vec<Buffer> {
        let shape = self.shape;
        let (queries, keys) = (shape.batch * shape.tgt_len, shape.batch * shape.src_len);
        let sizes = if self.joined {
            [queries * shape.joined_width(), 0]
        } else {
            [queries * shape.query_width(), keys * 2 * shape.kv_width()]
        };
        let [first, second] = [random(1, sizes[0]), random(2, sizes[1])];
        let [mut dfirst, mut dsecond] = sizes.map(room);
        let operands = if self.joined {
            QkvOperands::Joined(&first)
        } else {
            QkvOperands::Apart { queries: &first, keys_values: &second }
        };
        let gradients = if self.joined {
            QkvOperands::Joined(&mut dfirst)
        } else {
            QkvOperands::Apart { queries: &mut dfirst, keys_values: &mut dsecond }
        };
        let weights = shape.n_heads * shape.tgt_len * shape.src_len;
        let (bias, mut dbias) = (random(3, weights), room(weights));
        let inputs = AttentionInputs {
            operands,
            lengths: self.lengths,
            scores: Scores {
                scale: 3.0 * scale_of(shape.d_head),
                causality: self.causality,
                bias: self.biased.then_some(&bias),
            },
            dropout: self.dropout,
        };
        let width = queries * shape.query_width();
        let (mut out, grad) = (room(width), random(4, width));
        device.attention(shape, inputs, &mut out);
        let dbias_wanted = self.biased.then_some(&mut dbias);
        device.attention_backward(shape, inputs, &grad, gradients, dbias_wanted);
        let mut results = vec![out, dfirst, dsecond];
        results.extend(self.biased.then_some(dbias));
        results
    }
}

#[test]
fn all_kinds() {
    let shapes = [
        [1, 1, 1, 1, 1, 1],
        [2, 2, 1, 3, 5, 4],
        [2, 4, 2, 37, 37, 16],
        [1, 2, 2, 40, 70, 33],
        [3, 1, 1, 5, 2, 70],
        [0, 2, 2, 3, 3, 4],
        [2, 2, 2, 4, 0, 4],
    ];
    for numbers in shapes {
        let shape = shape(numbers);
        let lens = (0..shape.batch).map(|b| shape.src_len * (b + 1) % (shape.src_len + 1));
        let lengths = Lengths::new(Vec::from_iter(lens), shape.src_len);
        for (number, causality) in [Causality::Full, Causality::Causal].into_iter().enumerate() {
            for (lengths, biased, rate) in [
                (None, false, None),
                (Some(&lengths), false, Some(0.3)),
                (Some(&lengths), true, None),
                (None, true, Some(0.1)),
            ] {
                let case = Case {
                    shape,
                    lengths,
                    causality,
                    biased,
                    dropout: rate.map(dropout),
                    joined: shape.tgt_len == shape.src_len && (number == 1) != biased,
                };
                let what = format!("{shape:?}, {causality:?}, {lengths:?}, {biased}, {rate:?}");
                agree(&what, |device| case.both(device));
            }
        }
    }
}

#[test]
fn a_sentence_alone_has_the_bits_it_has_among_others_with_more_padding() {
    let Some(gpu) = gpu() else {
        return;
    };
    let (len, d) = (20, 24);
    let real = numbers(1, len * 3 * d);
    let first = |batch: usize, width: usize| {
        let shape = shape([batch, 2, 2, width, width, d / 2]);
        let mut all = vec![f32::NAN; batch * width * 3 * d];
        all[..real.len()].copy_from_slice(&real);
        let lengths = Lengths::new(vec![len; batch], width);
        let inputs = AttentionInputs {
            operands: QkvOperands::Joined(&all),
            lengths: Some(&lengths),
            scores: Scores::scaled(d / 2, Causality::Causal),
            dropout: None,
        };
        on(gpu, || {
            let all = Buffer::from(all.clone());
            let mut out = room(batch * width * d);
            let inputs = AttentionInputs {
                operands: QkvOperands::Joined(&all),
                scores: Scores::scaled(d / 2, Causality::Causal),
                lengths: inputs.lengths,
                dropout: None,
            };
            crate::current().attention(shape, inputs, &mut out);
            out.into_vec()[..len * d].to_vec()
        })
    };
    let alone = first(1, len);
    assert!(alone.iter().all(|x| x.is_finite()));
    for (batch, width) in [(1, 21), (3, 20), (2, 70)] {
        assert_eq!(bits(&[first(batch, width)]), bits(std::slice::from_ref(&alone)), "{batch} of {width}");
    }
}
