//! Scaled dot-product attention: softmax(scale · QKᵀ + bias)V for all heads (*Attention Is All You Need*,
//! section 3.2.1).
//!
//! Scores exist only for one block of queries of one head at a time, with one row per key and one column per
//! query. Padded keys are never read, so additional padding does not change the results.

mod backward;
mod block;
mod mask;
mod operands;
mod scores;
mod softmax_columns;
mod softmax_row;

pub use backward::attention_backward;
pub use operands::QkvOperands;
pub use scores::{Causality, Scores, scale_of};
pub(crate) use softmax_row::{softmax_backward_row, softmax_row};

use attentive_base::lengths::Lengths;

use crate::area::area;
use crate::dropout::DropoutCall;
use crate::gemm::View;
use crate::parallel::for_each_short;
use crate::scratch::with_scratch;
use crate::threads::Threads;
use crate::tile::TileMut;
use block::QueryBlock;
use operands::Views;

/// Queries whose scores are computed together.
const QUERY_BLOCK: usize = 128;
/// Number of multiply-adds above which a call uses several threads.
const LARGE: usize = 1 << 18;

/// The largest matrix of queries or keys of a head, in elements, that is loaded into the caches while another
/// head is computed.
const PREFETCHED: usize = 1 << 12;

/// Dimensions of a call.
#[derive(Clone, Copy, Debug)]
pub struct AttentionShape {
    /// Sentences.
    pub batch: usize,
    /// Query heads.
    pub n_heads: usize,
    /// Key/value heads, a divisor of `n_heads`: each is shared by `n_heads / n_kv_heads` consecutive query
    /// heads (grouped-query attention, Ainslie et al. 2023).
    pub n_kv_heads: usize,
    /// Queries per sentence.
    pub tgt_len: usize,
    /// Keys per sentence.
    pub src_len: usize,
    /// Columns per head.
    pub d_head: usize,
}

impl AttentionShape {
    /// Columns of the queries and of the result.
    pub fn query_width(&self) -> usize {
        area(self.n_heads, self.d_head)
    }

    /// Columns of the keys, and of the values.
    pub fn kv_width(&self) -> usize {
        area(self.n_kv_heads, self.d_head)
    }

    /// Columns of the concatenated queries, keys and values.
    pub fn joined_width(&self) -> usize {
        self.query_width() + 2 * self.kv_width()
    }

    /// Query heads per key/value head.
    fn group(&self) -> usize {
        self.n_heads / self.n_kv_heads.max(1)
    }

    /// Elements of a matrix with rows of `width` for sentences of length `len`.
    fn elements(&self, len: usize, width: usize) -> usize {
        area(area(self.batch, len), width)
    }

    /// Elements of the scores of one head of one sentence.
    fn scores(&self) -> usize {
        area(self.tgt_len, self.src_len)
    }

    /// Whether a head is so small that the next one is loaded meanwhile, beside it: it has at most one block
    /// of queries.
    fn is_prefetched(&self) -> bool {
        let len = self.tgt_len.max(self.src_len);
        len <= QUERY_BLOCK && area(len, self.d_head) <= PREFETCHED
    }

    fn check(&self) {
        let divides = self.n_kv_heads > 0 && self.n_heads.is_multiple_of(self.n_kv_heads);
        assert!(divides || self.n_heads == 0, "the heads of {self:?}");
    }

    fn check_bias(&self, bias: &[f32]) {
        let expected = area(self.n_heads, self.scores());
        assert_eq!(bias.len(), expected, "score bias of {self:?}");
    }

    /// Multiply-adds of QKᵀ.
    fn work(&self) -> usize {
        let queries = self.elements(self.tgt_len, self.query_width());
        queries.saturating_mul(self.src_len)
    }
}

/// Operands of attention.
#[derive(Clone, Copy, Debug)]
pub struct AttentionInputs<'a, T> {
    /// Queries, keys and values.
    pub operands: QkvOperands<T>,
    /// Keys per sentence; `None` if all are real.
    pub lengths: Option<&'a Lengths>,
    /// Scale, mask and bias of the scores.
    pub scores: Scores<T>,
    /// Dropout on the attention weights; the mask index is `((b * n_heads + h) * tgt_len + i) * src_len + j`.
    pub dropout: Option<DropoutCall>,
}

impl<'a, T> AttentionInputs<'a, T> {
    /// Applies `f` to each operand.
    pub fn map<U>(self, f: impl Fn(T) -> U + Copy) -> AttentionInputs<'a, U> {
        AttentionInputs {
            operands: self.operands.map(f),
            lengths: self.lengths,
            scores: self.scores.map(f),
            dropout: self.dropout,
        }
    }
}

impl<'a> AttentionInputs<'a, &'a [f32]> {
    fn views(&self, shape: AttentionShape) -> Views<'a> {
        shape.check();
        if let Some(lengths) = self.lengths {
            let found = (lengths.rows(), lengths.width());
            assert_eq!(found, (shape.batch, shape.src_len), "`lengths` of {shape:?}");
        }
        if let Some(bias) = self.scores.bias {
            shape.check_bias(bias);
        }
        self.operands.views(shape)
    }
}

/// Computes `out` `[batch, tgt_len, n_heads * d_head]`, the attention of each query over its visible keys.
/// The result is zero for a query without visible keys.
///
/// # Panics
/// If a slice does not fit the shape.
pub fn attention(shape: AttentionShape, inputs: AttentionInputs<'_, &[f32]>, out: &mut [f32]) {
    let views = inputs.views(shape);
    let AttentionShape { batch, n_heads, tgt_len, d_head, .. } = shape;
    let width = shape.query_width();
    let elements = shape.elements(tgt_len, width);
    assert_eq!(out.len(), elements, "`out` of {shape:?}");
    let blocks = QueryBlock::count(tgt_len);
    let out = TileMut::new(out, batch * tgt_len, width, width);
    for_each_short(batch * n_heads * blocks, is_large(shape), |task| {
        let head = Head::new(shape, inputs, views, task / blocks);
        let next = task + 1;
        if shape.is_prefetched() && next < batch * n_heads {
            let next = Head::new(shape, inputs, views, next);
            next.prefetch();
            // SAFETY: nothing is read or written.
            unsafe { next.query_tile(&out, &(0..tgt_len), d_head) }.prefetch();
        }
        let block = QueryBlock::new(&head, task % blocks);
        with_scratch(block.len(), |weights| {
            block.weights(inputs.dropout, weights);
            // SAFETY: each task has its own head and rows, and this call borrows `out` mutably.
            let out = unsafe { head.query_tile(&out, &block.queries, d_head) };
            block.sums_of_keys(weights, head.v, &out);
        });
    });
}

fn is_large(shape: AttentionShape) -> bool {
    shape.work() >= LARGE && Threads::current().count() > 1
}

/// Which keys of a sentence are visible.
#[derive(Clone, Copy)]
struct Visible {
    causality: Causality,
    /// Keys that are not padding.
    n_keys: usize,
    src_len: usize,
    tgt_len: usize,
}

impl Visible {
    /// The number of keys visible to `query`.
    #[inline(always)]
    fn to(self, query: usize) -> usize {
        match self.causality {
            Causality::Full => self.n_keys,
            Causality::Causal => (query + 1 + self.src_len).saturating_sub(self.tgt_len).min(self.n_keys),
        }
    }
}

/// One head of one sentence.
struct Head<'a> {
    shape: AttentionShape,
    scores: Scores<&'a [f32]>,
    /// `[tgt_len, src_len]`
    bias: Option<&'a [f32]>,
    /// Index among all heads of all sentences.
    index: usize,
    /// Keys that are not padding.
    n_keys: usize,
    q: View<'a>,
    k: View<'a>,
    v: View<'a>,
}

impl<'a> Head<'a> {
    fn new(
        shape: AttentionShape,
        inputs: AttentionInputs<'a, &'a [f32]>,
        views: Views<'a>,
        index: usize,
    ) -> Self {
        let (sentence, head) = (index / shape.n_heads, index % shape.n_heads);
        let keys = |view: View<'a>| {
            let kv_head = head / shape.group();
            view.from(sentence * shape.src_len, kv_head * shape.d_head)
        };
        let bias = inputs.scores.bias;
        Self {
            shape,
            scores: inputs.scores,
            bias: bias.map(|bias| &bias[head * shape.scores()..][..shape.scores()]),
            index,
            n_keys: (inputs.lengths).map_or(shape.src_len, |lengths| lengths.lens()[sentence]),
            q: views.q.from(sentence * shape.tgt_len, head * shape.d_head),
            k: keys(views.k),
            v: keys(views.v),
        }
    }

    /// Asks the processor to load what the head reads.
    fn prefetch(&self) {
        let AttentionShape { tgt_len, d_head, .. } = self.shape;
        self.q.prefetch(tgt_len, d_head);
        self.k.prefetch(self.n_keys, d_head);
        self.v.prefetch(self.n_keys, d_head);
    }

    fn visible(&self) -> Visible {
        Visible {
            causality: self.scores.causality,
            n_keys: self.n_keys,
            src_len: self.shape.src_len,
            tgt_len: self.shape.tgt_len,
        }
    }

    /// The part of `matrix` `[batch * tgt_len, n_heads * d_head]` that holds `queries` of this head.
    ///
    /// # Safety
    /// Nothing else may access these elements while the part is in use.
    unsafe fn query_tile<'m>(
        &self,
        matrix: &'m TileMut<'_>,
        queries: &std::ops::Range<usize>,
        d_head: usize,
    ) -> TileMut<'m> {
        let (sentence, head) = (self.index / self.shape.n_heads, self.index % self.shape.n_heads);
        // SAFETY: the caller upholds the contract.
        unsafe {
            matrix.part(sentence * self.shape.tgt_len + queries.start, head * d_head, queries.len(), d_head)
        }
    }
}

#[cfg(test)]
mod tests;
