//! Gradients of attention; scores and dropout masks are recomputed.

use std::ops::Range;

use super::operands::{Targets, Views};
use super::softmax::{add_row, drop_weights, scale_row, softmax_backward_rows};
use super::{
    AttentionInputs, AttentionShape, Head, Operands, QUERY_BLOCK, is_large, query_block, row_stride,
};
use crate::dropout::Dropout;
use crate::gemm::{Product, View};
use crate::parallel::{for_each, for_each_short};
use crate::scratch::with_scratches;
use crate::tile::TileMut;

/// The gradients of [`super::attention`] given `grad_out` `[batch, tgt_len, n_heads * d_head]`. The gradient of the
/// score bias, summed over the sentences in their order, is computed only if `bias` is given.
///
/// # Panics
/// If a slice does not fit the shape, or `gradients` has another layout than the operands.
pub fn attention_backward(
    shape: AttentionShape,
    inputs: AttentionInputs<'_, &[f32]>,
    grad_out: &[f32],
    gradients: Operands<&mut [f32]>,
    bias: Option<&mut [f32]>,
) {
    let views = inputs.views(shape);
    let width = shape.query_width();
    let elements = shape.elements(shape.tgt_len, width);
    assert_eq!(grad_out.len(), elements, "`grad_out` of {shape:?}");
    let bias = bias.map(|bias| {
        shape.check_bias(bias);
        bias.fill(0.0);
        TileMut::new(bias, shape.n_heads, shape.scores(), shape.scores())
    });
    let backward = Backward {
        shape,
        inputs,
        views,
        grad_out: View::rows(grad_out, width),
        targets: gradients.targets(shape),
        bias,
    };
    let AttentionShape {
        batch, n_kv_heads, ..
    } = shape;
    // The gradient of the bias of a head is summed on one thread, in the order of the sentences.
    match backward.bias {
        Some(_) => for_each(n_kv_heads, is_large(shape), |kv_head| {
            (0..batch).for_each(|sentence| backward.head_group(sentence, kv_head));
        }),
        None => for_each_short(batch * n_kv_heads, is_large(shape), |index| {
            backward.head_group(index / n_kv_heads, index % n_kv_heads);
        }),
    }
}

/// Inputs and outputs of a backward pass.
struct Backward<'a> {
    shape: AttentionShape,
    inputs: AttentionInputs<'a, &'a [f32]>,
    views: Views<'a>,
    /// `[batch * tgt_len, n_heads * d_head]`
    grad_out: View<'a>,
    targets: Targets<'a>,
    /// The gradient of the bias, one row of `tgt_len * src_len` per head.
    bias: Option<TileMut<'a>>,
}

impl Backward<'_> {
    /// The query heads of one sentence that share key/value head `kv_head`, one after the other.
    fn head_group(&self, sentence: usize, kv_head: usize) {
        let shape = self.shape;
        // SAFETY: these heads of this sentence belong to one task only, and the call borrows the gradients mutably.
        let [mut k, mut v] = unsafe { self.targets.keys_values(shape, sentence, kv_head) };
        for key in 0..shape.src_len {
            k.row_mut(key).fill(0.0);
            v.row_mut(key).fill(0.0);
        }
        for number in kv_head * shape.group()..(kv_head + 1) * shape.group() {
            let index = sentence * shape.n_heads + number;
            let head = Head::new(shape, self.inputs, self.views, index);
            // SAFETY: as above; the bias of a head is written only by the task that owns the head in all sentences.
            let (q, bias) = unsafe {
                let bias = self.bias.as_ref();
                let bias = bias.map(|bias| bias.part(number, 0, 1, shape.scores()));
                (self.targets.queries(shape, sentence, number), bias)
            };
            let mut gradients = Gradients {
                q,
                k: &k,
                v: &v,
                bias,
            };
            let column = number * shape.d_head;
            let grad_out = self.grad_out.from(sentence * shape.tgt_len, column);
            for block in 0..shape.tgt_len.div_ceil(QUERY_BLOCK) {
                let queries = query_block(shape.tgt_len, block);
                let block = Block {
                    head: &head,
                    dropout: self.inputs.dropout,
                    keys: head.keys_seen(&queries),
                    grad_out: grad_out.from(queries.start, 0),
                    queries,
                };
                block.backward(&mut gradients);
            }
        }
    }
}

/// Gradient outputs of one head.
struct Gradients<'a> {
    /// `[tgt_len, d_head]`, overwritten block by block.
    q: TileMut<'a>,
    /// `[src_len, d_head]`, added to.
    k: &'a TileMut<'a>,
    /// Same as `k`.
    v: &'a TileMut<'a>,
    /// One row of `tgt_len * src_len`, added to.
    bias: Option<TileMut<'a>>,
}

/// One block of queries of one head.
struct Block<'a> {
    head: &'a Head<'a>,
    dropout: Option<Dropout>,
    queries: Range<usize>,
    /// Keys seen by the queries.
    keys: usize,
    /// `[queries, d_head]`
    grad_out: View<'a>,
}

impl Block<'_> {
    /// Adds the gradients.
    fn backward(&self, gradients: &mut Gradients<'_>) {
        let Self { head, keys, .. } = *self;
        let AttentionShape {
            src_len, d_head, ..
        } = head.shape;
        let (first, rows, stride) = (self.queries.start, self.queries.len(), row_stride(keys));
        let scales = self.dropout.map_or(0, |_| rows * src_len);
        let lens = [rows * stride, rows * stride, scales];
        with_scratches(lens, |[weights, grad, scales]| {
            let bias = gradients.bias.as_mut().map(|bias| bias.row_mut(0));
            self.weights_and_scores(weights, grad, scales, bias);
            // SAFETY: `gradients` is borrowed mutably, no other task has these tiles, and the three do not overlap.
            let (mut dq, mut dk, mut dv) = unsafe {
                (
                    gradients.q.part(first, 0, rows, d_head),
                    gradients.k.part(0, 0, keys, d_head),
                    gradients.v.part(0, 0, keys, d_head),
                )
            };
            let (weights, grad) = (View::rows(weights, stride), View::rows(grad, stride));
            let to_k = Product::new(rows, grad.t(), head.q.from(first, 0));
            let to_v = Product::new(rows, weights.t(), self.grad_out);
            Product::new(keys, grad, head.k).write_here(&mut dq);
            to_k.added().write_here(&mut dk);
            to_v.added().write_here(&mut dv);
        });
    }

    /// Fills `weights` with the attention weights after dropout and `grad` with the gradients of the unscaled scores,
    /// both in rows of [`row_stride`]; adds the gradients of the scaled scores to `bias` `[tgt_len, src_len]`. `scales`
    /// is scratch for the dropout mask.
    fn weights_and_scores(
        &self,
        weights: &mut [f32],
        grad: &mut [f32],
        scales: &mut [f32],
        bias: Option<&mut [f32]>,
    ) {
        let Self {
            head,
            keys,
            ref queries,
            ..
        } = *self;
        let AttentionShape {
            src_len, d_head, ..
        } = head.shape;
        if keys == 0 {
            return;
        }
        let stride = row_stride(keys);
        head.weights(queries, keys, weights);
        let mut tile = TileMut::new(grad, queries.len(), keys, stride);
        Product::new(d_head, self.grad_out, head.v.t()).write_here(&mut tile);
        if let Some(dropout) = self.dropout {
            dropout.scales(head.dropout_start(queries), scales);
            drop_weights(grad, stride, keys, scales, src_len);
        }
        // The bias is added after scaling.
        let scale = match bias {
            Some(_) => 1.0,
            None => head.scores.scale,
        };
        softmax_backward_rows(weights, grad, stride, keys, scale);
        if let Some(bias) = bias {
            let bias = bias[queries.start * src_len..].chunks_exact_mut(src_len);
            for (grad, bias) in grad.chunks_exact_mut(stride).zip(bias) {
                add_row(bias, &grad[..keys]);
                scale_row(grad, head.scores.scale);
            }
        }
        if self.dropout.is_some() {
            drop_weights(weights, stride, keys, scales, src_len);
        }
    }
}
