//! The gradients of the attention at one position.

use super::AttentiveRecurrentCall;
use super::layer::Layer;
use crate::parallel::for_each;
use crate::tile::TileMut;

/// Accumulates the gradients of attention, position by position.
pub(super) struct AttentionBackward<'a> {
    pub(super) layer: &'a Layer<'a>,
    /// Gradients of the contexts, `[batch * len, d_value]`.
    pub(super) dcontexts: TileMut<'a>,
    /// Gradients of each sequence's keys, `[batch, src_len * d_key]`, accumulated.
    pub(super) keys: TileMut<'a>,
    /// Per-sequence gradients of v, `[batch, d_key]`, so that they can be summed in a fixed order.
    pub(super) shares: TileMut<'a>,
}

impl AttentionBackward<'_> {
    /// Backpropagates through the attention at `position`, given the gradients `[ranks, d_value]` that reach
    /// its contexts through x; fills `dqueries` `[ranks, d_key]`.
    pub(super) fn retreat(&self, position: usize, through_x: &[f32], queries: &[f32], dqueries: &mut [f32]) {
        let Layer { call, inputs, result, grad_out, schedule } = *self.layer;
        let AttentiveRecurrentCall { src_len, d_key, d_value, .. } = call;
        let rows = schedule.active(position);
        let shape = call.attention(rows);
        let dqueries = TileMut::new(dqueries, rows, d_key, d_key);
        let out_cols = call.out_cols();
        for_each(rows, shape.is_large(), |rank| {
            let row = schedule.row(rank, position);
            let sequence = schedule.sequence(rank);
            // SAFETY: each rank occurs once, its sequence owns its rows, and the matrices are mutably
            // borrowed for as long as `self` exists.
            let mut parts = unsafe {
                [
                    self.dcontexts.part(row, 0, 1, d_value),
                    dqueries.part(rank, 0, 1, d_key),
                    self.keys.part(sequence, 0, 1, src_len * d_key),
                    self.shares.part(sequence, 0, 1, d_key),
                ]
            };
            let [dcontext, dquery, dkeys, share] = parts.each_mut().map(|part| part.row_mut(0));
            let direct = &grad_out[(row + 1) * out_cols - d_value..][..d_value];
            let through_x = &through_x[rank * d_value..][..d_value];
            for ((sum, &direct), &through_x) in dcontext.iter_mut().zip(direct).zip(through_x) {
                *sum = direct + through_x;
            }
            let weights = &result.attention_weights[row * src_len..][..src_len];
            let query = inputs.attention(queries).row(shape, rank, sequence);
            query.query_backward(weights, dcontext, dquery, dkeys, share);
        });
    }
}
