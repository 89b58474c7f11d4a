//! From the last layer to the next token.

use std::sync::Arc;

use attentive_kernels::top_k::{largest, log_sum_exp};

use super::LastLayer;
use super::linear::Linear;
use super::matrix::Matrix;
use super::weights::Scope;
use crate::architecture;
use crate::batch::TokenId;
use crate::model::NextToken;

/// The output projection.
#[derive(Debug)]
pub(super) struct Projection {
    map: Linear,
    scale: f32,
}

impl Projection {
    /// The projection at `scope`, which uses `table` if tied.
    pub(super) fn new(
        head: &architecture::Vocabulary,
        table: &Arc<Matrix>,
        mut scope: Scope<'_>,
    ) -> Self {
        let weight = match head.tied {
            true => Arc::clone(table),
            false => scope.matrix("weight"),
        };
        Self {
            map: Linear {
                weight,
                bias: head.bias.then(|| scope.vector("bias")),
            },
            scale: head.scale as f32,
        }
    }

    /// Width of the last layer.
    pub(super) fn d_in(&self) -> usize {
        self.map.weight.d_in()
    }

    /// The logits of all rows, row after row.
    pub(super) fn logits(&self, last: LastLayer) -> Vec<f32> {
        let LastLayer { rows, mut values } = last;
        if self.scale != 1.0 {
            values.iter_mut().for_each(|x| *x *= self.scale);
        }
        let mut logits = vec![0.0; rows * self.map.d_out()];
        self.map.apply(rows, &values, &mut logits);
        logits
    }

    /// See [`crate::model::likeliest`].
    pub(super) fn likeliest(
        &self,
        last: LastLayer,
        count: usize,
        never: &[TokenId],
    ) -> Vec<Vec<NextToken>> {
        let logits = self.logits(last);
        let of_row = |row: &[f32]| {
            let best = largest(row, count, never);
            let Some(&(top, _)) = best.first() else {
                return Vec::new();
            };
            let barred = never.iter().map(|&token| row[token as usize]);
            let total = log_sum_exp(row, barred.fold(top, f32::max));
            best.into_iter()
                .map(|(logit, token)| NextToken {
                    token,
                    log_prob: (f64::from(logit) - total).min(0.0),
                })
                .collect()
        };
        logits.chunks_exact(self.map.d_out()).map(of_row).collect()
    }
}
