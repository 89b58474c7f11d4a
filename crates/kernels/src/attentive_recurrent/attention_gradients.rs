//! The gradients of the attention at a position.

use super::AttentiveRecurrentCall;
use super::layer::Layer;
use crate::parallel::for_each;
use crate::tile::TileMut;

/// The gradients of attention, position by position.
pub(super) struct AttentionBackward<'a> {
    pub(super) layer: &'a Layer<'a>,
    /// Of the contexts, `[batch * len, d_value]`.
    pub(super) dcontexts: TileMut<'a>,
    /// Of a sequence's keys, `[batch, src_len * d_key]`, summed up.
    pub(super) keys: TileMut<'a>,
    /// A sequence's share of the gradient of v, `[batch, d_key]`, so that their sum has one order.
    pub(super) shares: TileMut<'a>,
}

impl AttentionBackward<'_> {
    /// The gradients at `position` from those that come to its contexts through x, `[ranks, d_value]`: fills `dqueries`
    /// `[ranks, d_key]`.
    pub(super) fn retreat(
        &self,
        position: usize,
        through_x: &[f32],
        queries: &[f32],
        dqueries: &mut [f32],
    ) {
        let Layer {
            call,
            inputs,
            result,
            grad_out,
            schedule,
        } = *self.layer;
        let AttentiveRecurrentCall {
            src_len,
            d_key,
            d_value,
            ..
        } = call;
        let rows = schedule.active(position);
        let shape = call.attention(rows);
        let dqueries = TileMut::new(dqueries, rows, d_key, d_key);
        let out_cols = call.out_cols();
        for_each(rows, shape.is_large(), |rank| {
            let row = schedule.row(rank, position);
            let sequence = schedule.sequence(rank);
            // SAFETY: each rank is met once, its sequence has its rows to itself, and whoever made `self` lent the
            // matrices mutably.
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
