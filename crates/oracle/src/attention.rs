//! Attention: the reference takes queries, keys and values apart.

use attentive_kernels::reference;

use crate::columns::{copied, written};
use attentive_device::*;

/// Queries, keys and values, with zeros instead of padding, which must not be read.
pub(super) struct OracleAttention<'a> {
    shape: AttentionShape,
    inputs: AttentionInputs<'a, &'a [f64]>,
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
}

impl<'a> OracleAttention<'a> {
    pub(super) fn new(shape: AttentionShape, inputs: AttentionInputs<'a, &'a [f64]>) -> Self {
        let (width, kv_width) = (shape.query_width(), shape.kv_width());
        let [q, mut k, mut v] = match inputs.operands {
            QkvOperands::Joined(all) => [(0, width), (width, kv_width), (width + kv_width, kv_width)]
                .map(|(first, count)| copied(all, shape.joined_width(), first, count)),
            QkvOperands::Apart { queries, keys_values } => {
                let part = |first| copied(keys_values, 2 * kv_width, first, kv_width);
                [queries.to_vec(), part(0), part(kv_width)]
            }
        };
        for (row, is_padding) in inputs.lengths.iter().flat_map(|lengths| lengths.mask()).enumerate() {
            if is_padding {
                k[row * kv_width..][..kv_width].fill(0.0);
                v[row * kv_width..][..kv_width].fill(0.0);
            }
        }
        Self { shape, inputs, q, k, v }
    }

    fn reference(&self) -> reference::ReferenceAttention<'_> {
        reference::ReferenceAttention {
            shape: self.shape,
            q: &self.q,
            k: &self.k,
            v: &self.v,
            lens: self.inputs.lengths.map(Lengths::lens),
            causality: self.inputs.scores.causality,
            scale: self.inputs.scores.scale.into(),
            bias: self.inputs.scores.bias,
            dropout: self.inputs.dropout,
        }
    }

    pub(super) fn forward(&self) -> Vec<f64> {
        self.reference().forward()
    }

    /// Writes the gradients of the operands and returns that of the bias.
    pub(super) fn backward(&self, grad: &[f64], gradients: QkvOperands<&mut Vec<f64>>) -> Vec<f64> {
        let [dq, dk, dv, dbias] = self.reference().backward(grad);
        let (width, kv_width) = (self.shape.query_width(), self.shape.kv_width());
        match gradients {
            QkvOperands::Joined(all) => {
                let all_columns = self.shape.joined_width();
                written(all, all_columns, 0, &dq, width);
                written(all, all_columns, width, &dk, kv_width);
                written(all, all_columns, width + kv_width, &dv, kv_width);
            }
            QkvOperands::Apart { queries, keys_values } => {
                *queries = dq;
                written(keys_values, 2 * kv_width, 0, &dk, kv_width);
                written(keys_values, 2 * kv_width, kv_width, &dv, kv_width);
            }
        }
        dbias
    }
}
