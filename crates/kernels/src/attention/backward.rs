//! Gradients of attention; scores and dropout masks are recomputed.

use super::block::QueryBlock;
use super::operands::{Targets, Views};
use super::{AttentionInputs, AttentionShape, Head, QkvOperands, is_large, softmax_columns};
use crate::gemm::View;
use crate::parallel::{for_each, for_each_short};
use crate::scratch::{with_scratch, with_scratches};
use crate::simd::LANES;
use crate::tile::TileMut;
use crate::transpose::transpose;

/// The gradients of [`super::attention`] given `grad_out` `[batch, tgt_len, n_heads * d_head]`. The gradient
/// of the score bias, summed over the sentences in their order, is computed only if `bias` is given.
///
/// # Panics
/// If a slice does not fit the shape, or `gradients` has another layout than the operands.
pub fn attention_backward(
    shape: AttentionShape,
    inputs: AttentionInputs<'_, &[f32]>,
    grad_out: &[f32],
    gradients: QkvOperands<&mut [f32]>,
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
    let AttentionShape { batch, n_kv_heads, .. } = shape;
    // The gradient of the bias of a head is summed on one thread, in the order of the sentences.
    match backward.bias {
        Some(_) => for_each(n_kv_heads, is_large(shape), |kv_head| {
            (0..batch).for_each(|sentence| backward.head_group(sentence, kv_head));
        }),
        None => for_each_short(batch * n_kv_heads, is_large(shape), |index| {
            let next = index + 1;
            if shape.is_prefetched() && next < batch * n_kv_heads {
                backward.prefetch(next / n_kv_heads, next % n_kv_heads);
            }
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
    /// Asks the processor to load what [`Self::head_group`] reads and writes for the first query head.
    fn prefetch(&self, sentence: usize, kv_head: usize) {
        let shape = self.shape;
        let AttentionShape { n_heads, tgt_len, d_head, .. } = shape;
        let number = kv_head * shape.group();
        let index = sentence * n_heads + number;
        Head::new(shape, self.inputs, self.views, index).prefetch();
        let grad_out = self.grad_out.from(sentence * tgt_len, number * d_head);
        grad_out.prefetch(tgt_len, d_head);
        // SAFETY: nothing is read or written.
        unsafe {
            self.targets.queries(shape, sentence, number).prefetch();
            let keys_values = self.targets.keys_values(shape, sentence, kv_head);
            keys_values.iter().for_each(TileMut::prefetch);
        }
    }

    /// The query heads of one sentence that share key/value head `kv_head`, one after the other.
    fn head_group(&self, sentence: usize, kv_head: usize) {
        let shape = self.shape;
        // SAFETY: these heads of this sentence belong to one task only, and the call borrows the gradients
        // mutably.
        let [mut k, mut v] = unsafe { self.targets.keys_values(shape, sentence, kv_head) };
        for key in 0..shape.src_len {
            k.row_mut(key).fill(0.0);
            v.row_mut(key).fill(0.0);
        }
        for number in kv_head * shape.group()..(kv_head + 1) * shape.group() {
            let index = sentence * shape.n_heads + number;
            let head = Head::new(shape, self.inputs, self.views, index);
            // SAFETY: this head of this sentence belongs to one task only, and the call borrows the gradients
            // mutably; the bias of a head is written only by the task that owns the head in all sentences.
            let (q, bias) = unsafe {
                let bias = self.bias.as_ref();
                let bias = bias.map(|bias| bias.part(number, 0, 1, shape.scores()));
                (self.targets.queries(shape, sentence, number), bias)
            };
            let mut gradients = Gradients { q, k: &k, v: &v, bias };
            let column = number * shape.d_head;
            let grad_out = self.grad_out.from(sentence * shape.tgt_len, column);
            for number in 0..QueryBlock::count(shape.tgt_len) {
                let block = QueryBlock::new(&head, number);
                self.block(&block, grad_out.from(block.queries.start, 0), &mut gradients);
            }
        }
    }

    /// Adds the gradients of one block of queries, given those of its results, `[queries, d_head]`.
    fn block(&self, block: &QueryBlock<'_>, grad_out: View<'_>, gradients: &mut Gradients<'_>) {
        let AttentionShape { d_head, .. } = self.shape;
        let (first, n_queries, len) = (block.queries.start, block.queries.len(), block.len());
        let dropout = self.inputs.dropout;
        with_scratches([len, len], |[weights, grad]| {
            block.weights(None, weights);
            block.products(block.head.v, grad_out, grad);
            // The bias is added after scaling.
            let scale = block.head.scores.scale;
            match &mut gradients.bias {
                None => block.softmax_backward(weights, grad, scale, dropout),
                Some(bias) => {
                    block.softmax_backward(weights, grad, 1.0, dropout);
                    self.add_bias_gradient(block, grad, bias.row_mut(0));
                    softmax_columns::scale(grad, scale);
                }
            }
            // SAFETY: `gradients` is borrowed mutably, and no other task has these rows.
            let dq = unsafe { gradients.q.part(first, 0, n_queries, d_head) };
            block.sums_of_keys(grad, block.head.k, &dq);
            block.add_sums_of_queries(grad, block.head.q.from(first, 0), gradients.k);
            block.add_sums_of_queries(weights, grad_out, gradients.v);
        });
    }

    /// Adds the gradients `grad` `[keys, width]` of the scaled scores to `bias` `[tgt_len, src_len]`.
    fn add_bias_gradient(&self, block: &QueryBlock<'_>, grad: &[f32], bias: &mut [f32]) {
        let src_len = self.shape.src_len;
        let (keys, n_queries) = (block.keys, block.queries.len());
        let width = keys.next_multiple_of(LANES);
        let bias = bias[block.queries.start * src_len..].chunks_exact_mut(src_len);
        with_scratch(n_queries * width, |rows| {
            transpose(View::rows(grad, block.width), [keys, n_queries], rows, width);
            for (row, bias) in rows.chunks_exact(width.max(1)).zip(bias) {
                softmax_columns::add(bias, &row[..keys]);
            }
        });
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
