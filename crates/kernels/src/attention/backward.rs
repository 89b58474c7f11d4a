//! The gradients of attention; scores and dropout masks are computed again.

use std::ops::Range;

use super::softmax::{drop_weights, softmax_backward_row};
use super::{
    AttentionInputs, AttentionShape, Head, OperandsMut, QUERY_BLOCK, is_large, query_block,
    row_stride,
};
use crate::dropout::Dropout;
use crate::gemm::{Accumulate, Epilogue, View, gemm_tile};
use crate::parallel::for_each;
use crate::scratch::with_scratch;
use crate::tile::TileMut;

/// The gradients of [`super::attention`] from `grad_out` `[batch, tgt_len, n_heads * d_head]`.
///
/// # Panics
/// If a slice does not fit the shape, or `gradients` have another form than the operands.
pub fn attention_backward(
    shape: AttentionShape,
    inputs: AttentionInputs<'_>,
    grad_out: &[f32],
    gradients: OperandsMut<'_>,
) {
    let views = inputs.views(shape);
    let AttentionShape {
        batch,
        n_heads,
        tgt_len,
        src_len,
        d_head,
    } = shape;
    let width = shape.width();
    let elements = shape.elements(tgt_len, 1);
    assert_eq!(grad_out.len(), elements, "`grad_out` of {shape:?}");
    let targets = gradients.targets(shape);
    for_each(batch * n_heads, is_large(shape), |index| {
        let head = Head::new(shape, inputs, views, index);
        let (sentence, number) = (index / n_heads, index % n_heads);
        // SAFETY: each task has a sentence and head of its own, and this call borrows the gradients mutably.
        let [q, k, v] = unsafe { targets.head(shape, sentence, number) };
        let mut part = Gradients { q, k, v };
        for key in 0..src_len {
            part.k.row_mut(key).fill(0.0);
            part.v.row_mut(key).fill(0.0);
        }
        let grad_out = View::rows(grad_out, width).from(sentence * tgt_len, number * d_head);
        for block in 0..tgt_len.div_ceil(QUERY_BLOCK) {
            block_backward(
                &head,
                inputs.dropout,
                query_block(tgt_len, block),
                grad_out,
                &mut part,
            );
        }
    });
}

/// Where the gradients of one head go.
struct Gradients<'a> {
    /// `[tgt_len, d_head]`, overwritten block by block.
    q: TileMut<'a>,
    /// `[src_len, d_head]`, added to.
    k: TileMut<'a>,
    /// As `k`.
    v: TileMut<'a>,
}

/// What a block of queries of one head contributes.
fn block_backward(
    head: &Head<'_>,
    dropout: Option<Dropout>,
    queries: Range<usize>,
    grad_out: View<'_>,
    gradients: &mut Gradients<'_>,
) {
    let AttentionShape {
        src_len, d_head, ..
    } = head.shape;
    let (rows, keys) = (queries.len(), head.keys_seen(&queries));
    let stride = row_stride(keys);
    let grad_out = grad_out.from(queries.start, 0);
    let scales_len = if dropout.is_some() { rows * src_len } else { 0 };
    with_scratch(2 * rows * stride + scales_len, |scratch| {
        let (weights, rest) = scratch.split_at_mut(rows * stride);
        let (grad, scales) = rest.split_at_mut(rows * stride);
        weights_and_scores(head, dropout, &queries, grad_out, weights, grad, scales);
        // SAFETY: `gradients` is borrowed mutably, and the three parts lie in different matrices.
        let (mut dq, mut dk, mut dv) = unsafe {
            (
                gradients.q.part(queries.start, 0, rows, d_head),
                gradients.k.part(0, 0, keys, d_head),
                gradients.v.part(0, 0, keys, d_head),
            )
        };
        let (weights, grad) = (View::rows(weights, stride), View::rows(grad, stride));
        gemm_tile(
            keys,
            grad,
            head.k,
            &mut dq,
            Accumulate::Overwrite,
            Epilogue::NONE,
        );
        gemm_tile(
            rows,
            grad.t(),
            head.q.from(queries.start, 0),
            &mut dk,
            Accumulate::Add,
            Epilogue::NONE,
        );
        gemm_tile(
            rows,
            weights.t(),
            grad_out,
            &mut dv,
            Accumulate::Add,
            Epilogue::NONE,
        );
    });
}

/// Fills `weights` with the attention weights after dropout and `grad` with the gradients of the scores before they
/// were scaled, both in rows of [`row_stride`]. `scales` is room for the dropout mask.
fn weights_and_scores(
    head: &Head<'_>,
    dropout: Option<Dropout>,
    queries: &Range<usize>,
    grad_out: View<'_>,
    weights: &mut [f32],
    grad: &mut [f32],
    scales: &mut [f32],
) {
    let AttentionShape {
        src_len, d_head, ..
    } = head.shape;
    let keys = head.keys_seen(queries);
    if keys == 0 {
        return;
    }
    let stride = row_stride(keys);
    head.weights(queries, keys, weights);
    let mut tile = TileMut::new(grad, queries.len(), keys, stride);
    let (overwrite, none) = (Accumulate::Overwrite, Epilogue::NONE);
    gemm_tile(d_head, grad_out, head.v.t(), &mut tile, overwrite, none);
    if let Some(dropout) = dropout {
        dropout.scales(head.dropout_start(queries), scales);
        drop_weights(grad, stride, keys, scales, src_len);
    }
    let grad_rows = grad.chunks_exact_mut(stride);
    for (weights, grad) in weights.chunks_exact(stride).zip(grad_rows) {
        grad[keys..].fill(0.0);
        softmax_backward_row(weights, grad, head.scale());
    }
    if dropout.is_some() {
        drop_weights(weights, stride, keys, scales, src_len);
    }
}
