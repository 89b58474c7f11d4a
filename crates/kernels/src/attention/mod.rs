//! Scaled dot-product attention: softmax(QKᵀ/√d)V for all heads (*Attention Is All You Need*, section 3.2.1).
//!
//! Scores live only for one block of queries of one head. Keys behind the last one that is no padding are never read,
//! so padding a batch further changes nothing.

mod backward;
mod operands;
mod softmax;

pub use backward::attention_backward;
pub use operands::{Operands, OperandsMut};
pub(crate) use softmax::{softmax_backward_row, softmax_row};

use std::ops::Range;

use crate::area::area;
use crate::dropout::Dropout;
use crate::gemm::{Accumulate, Epilogue, View, gemm_tile};
use crate::parallel::for_each;
use crate::scratch::with_scratch;
use crate::simd::LANES;
use crate::tile::TileMut;
use operands::Views;

/// Queries whose scores are computed together.
const QUERY_BLOCK: usize = 128;
/// Multiply-adds of a call that are worth a second thread.
const LARGE: usize = 1 << 18;

/// The shape of a call.
#[derive(Clone, Copy, Debug)]
pub struct AttentionShape {
    /// Sentences.
    pub batch: usize,
    /// Heads.
    pub n_heads: usize,
    /// Queries of a sentence.
    pub tgt_len: usize,
    /// Keys of a sentence.
    pub src_len: usize,
    /// Columns of a head.
    pub d_head: usize,
}

impl AttentionShape {
    /// Columns of all heads together.
    fn width(&self) -> usize {
        area(self.n_heads, self.d_head)
    }

    /// Numbers in `parts` matrices of all heads of sentences of length `len`.
    fn elements(&self, len: usize, parts: usize) -> usize {
        area(area(self.batch, len), area(parts, self.width()))
    }

    /// Multiply-adds of one product of scores.
    fn work(&self) -> usize {
        let queries = self.elements(self.tgt_len, 1);
        queries.saturating_mul(self.src_len)
    }
}

/// Which keys a query may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Causality {
    /// All.
    Full,
    /// Query i sees key j if j ≤ i + (`src_len` − `tgt_len`): the last query sees all keys.
    Causal,
}

/// What attention reads.
#[derive(Clone, Copy, Debug)]
pub struct AttentionInputs<'a> {
    /// Queries, keys and values.
    pub operands: Operands<'a>,
    /// `[batch, src_len]`: keys that are not 0 here are ignored.
    pub pad: Option<&'a [u8]>,
    /// Which keys a query may see.
    pub causality: Causality,
    /// Drops attention weights; element `((b * n_heads + h) * tgt_len + i) * src_len + j`.
    pub dropout: Option<Dropout>,
}

impl<'a> AttentionInputs<'a> {
    fn views(&self, shape: AttentionShape) -> Views<'a> {
        if let Some(pad) = self.pad {
            let expected = area(shape.batch, shape.src_len);
            assert_eq!(pad.len(), expected, "`pad` of {shape:?}");
        }
        self.operands.views(shape)
    }
}

/// `out` `[batch, tgt_len, n_heads * d_head]` = the attention of each query over the keys that it sees. A query that
/// sees none gives zeros.
///
/// # Panics
/// If a slice does not fit the shape.
pub fn attention(shape: AttentionShape, inputs: AttentionInputs<'_>, out: &mut [f32]) {
    let views = inputs.views(shape);
    let AttentionShape {
        batch,
        n_heads,
        tgt_len,
        d_head,
        ..
    } = shape;
    let elements = shape.elements(tgt_len, 1);
    assert_eq!(out.len(), elements, "`out` of {shape:?}");
    let blocks = tgt_len.div_ceil(QUERY_BLOCK);
    let out = TileMut::new(out, batch * tgt_len, shape.width(), shape.width());
    for_each(batch * n_heads * blocks, is_large(shape), |task| {
        let head = Head::new(shape, inputs, views, task / blocks);
        let queries = query_block(tgt_len, task % blocks);
        let (rows, keys) = (queries.len(), head.keys_seen(&queries));
        let stride = row_stride(keys);
        with_scratch(rows * stride, |weights| {
            head.weights(&queries, keys, weights);
            if let Some(dropout) = inputs.dropout {
                with_scratch(rows * shape.src_len, |scales| {
                    dropout.scales(head.dropout_start(&queries), scales);
                    softmax::drop_weights(weights, stride, keys, scales, shape.src_len);
                });
            }
            // SAFETY: each task has a head and rows of its own, and this call borrows `out` mutably.
            let mut out = unsafe { head.query_tile(&out, &queries, d_head) };
            let weights = View::rows(weights, stride);
            gemm_tile(
                keys,
                weights,
                head.v,
                &mut out,
                Accumulate::Overwrite,
                Epilogue::NONE,
            );
        });
    });
}

fn is_large(shape: AttentionShape) -> bool {
    shape.work() >= LARGE && rayon::current_num_threads() > 1
}

/// The distance of rows of scores for `keys` keys: whole vectors.
fn row_stride(keys: usize) -> usize {
    keys.next_multiple_of(LANES)
}

/// The queries of block `block`.
fn query_block(tgt_len: usize, block: usize) -> Range<usize> {
    block * QUERY_BLOCK..tgt_len.min((block + 1) * QUERY_BLOCK)
}

/// One head of one sentence.
struct Head<'a> {
    shape: AttentionShape,
    causality: Causality,
    /// Its place among all heads of all sentences.
    index: usize,
    /// Keys up to the last that is no padding.
    n_keys: usize,
    /// `[src_len]`
    pad: Option<&'a [u8]>,
    q: View<'a>,
    k: View<'a>,
    v: View<'a>,
}

impl<'a> Head<'a> {
    fn new(
        shape: AttentionShape,
        inputs: AttentionInputs<'a>,
        views: Views<'a>,
        index: usize,
    ) -> Self {
        let (sentence, col) = (index / shape.n_heads, index % shape.n_heads * shape.d_head);
        let part = |view: View<'a>, len| view.from(sentence * len, col);
        let pad = inputs
            .pad
            .map(|pad| &pad[sentence * shape.src_len..][..shape.src_len]);
        Self {
            shape,
            causality: inputs.causality,
            index,
            n_keys: pad.map_or(shape.src_len, |pad| {
                pad.iter()
                    .rposition(|&pad| pad == 0)
                    .map_or(0, |last| last + 1)
            }),
            pad,
            q: part(views.q, shape.tgt_len),
            k: part(views.k, shape.src_len),
            v: part(views.v, shape.src_len),
        }
    }

    /// How many keys `query` sees, padding between them included.
    fn visible(&self, query: usize) -> usize {
        match self.causality {
            Causality::Full => self.n_keys,
            Causality::Causal => (query + 1 + self.shape.src_len)
                .saturating_sub(self.shape.tgt_len)
                .min(self.n_keys),
        }
    }

    /// How many keys any of `queries` sees.
    fn keys_seen(&self, queries: &Range<usize>) -> usize {
        queries
            .clone()
            .next_back()
            .map_or(0, |last| self.visible(last))
    }

    /// The softmax of `queries` over the first `keys` keys, before dropout, in rows of [`row_stride`] with zeros
    /// behind the last key.
    fn weights(&self, queries: &Range<usize>, keys: usize, weights: &mut [f32]) {
        let d_head = self.shape.d_head;
        let stride = row_stride(keys);
        let mut tile = TileMut::new(weights, queries.len(), keys, stride);
        let q = self.q.from(queries.start, 0);
        gemm_tile(
            d_head,
            q,
            self.k.t(),
            &mut tile,
            Accumulate::Overwrite,
            Epilogue::NONE,
        );
        if keys > 0 {
            for (query, row) in queries.clone().zip(weights.chunks_exact_mut(stride)) {
                softmax::softmax_row(row, self.visible(query), self.pad, self.scale());
            }
        }
    }

    /// 1/√d_head
    fn scale(&self) -> f32 {
        1.0 / (self.shape.d_head as f32).sqrt()
    }

    /// The dropout element of the first key of the first of `queries`.
    fn dropout_start(&self, queries: &Range<usize>) -> usize {
        (self.index * self.shape.tgt_len + queries.start) * self.shape.src_len
    }

    /// The part of `matrix` `[batch * tgt_len, n_heads * d_head]` that belongs to `queries` of this head.
    ///
    /// # Safety
    /// While the part is used, nothing else may touch its elements.
    unsafe fn query_tile<'m>(
        &self,
        matrix: &'m TileMut<'_>,
        queries: &Range<usize>,
        d_head: usize,
    ) -> TileMut<'m> {
        let (sentence, head) = (
            self.index / self.shape.n_heads,
            self.index % self.shape.n_heads,
        );
        // SAFETY: passed on to the caller.
        unsafe {
            matrix.part(
                sentence * self.shape.tgt_len + queries.start,
                head * d_head,
                queries.len(),
                d_head,
            )
        }
    }
}

#[cfg(test)]
mod tests;
