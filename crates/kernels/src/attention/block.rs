//! One block of queries of one head.

use std::ops::Range;

use super::mask::DropoutSites;
use super::softmax_columns::{QueryColumns, softmax, softmax_backward};
use super::{AttentionShape, Causality, Head, QUERY_BLOCK};
use crate::dropout::DropoutCall;
use crate::gemm::{Product, View};
use crate::scratch::with_scratch;
use crate::simd::LANES;
use crate::tile::TileMut;
use crate::transpose::transpose;

/// Queries of causal attention whose products with keys that none of them sees are left out.
const STRIP: usize = 64;

/// Some queries of a head and the keys that at least one of them sees. Scores and weights are matrices
/// `[keys, width]`, one query per column.
pub(super) struct QueryBlock<'a> {
    pub(super) head: &'a Head<'a>,
    pub(super) queries: Range<usize>,
    pub(super) keys: usize,
    /// The number of queries, rounded up to whole vectors; to an odd number of them if there are many, since
    /// at distances that are multiples of large powers of two, all keys of a query would share a few lines of
    /// the L1 cache.
    pub(super) width: usize,
}

impl<'a> QueryBlock<'a> {
    /// The number of blocks for `queries` queries.
    pub(super) fn count(queries: usize) -> usize {
        queries.div_ceil(QUERY_BLOCK)
    }

    /// Block `number` of a head.
    pub(super) fn new(head: &'a Head<'a>, number: usize) -> Self {
        let end = head.shape.tgt_len.min((number + 1) * QUERY_BLOCK);
        let queries = number * QUERY_BLOCK..end;
        Self {
            head,
            keys: head.visible().to(end - 1),
            width: match queries.len().div_ceil(LANES) {
                few @ 0..=4 => few * LANES,
                many => (many | 1) * LANES,
            },
            queries,
        }
    }

    /// Elements of the weights.
    pub(super) fn len(&self) -> usize {
        self.keys * self.width
    }

    /// Fills `weights` with the softmax of the queries over the keys, followed by `dropout`.
    pub(super) fn weights(&self, dropout: Option<DropoutCall>, weights: &mut [f32]) {
        let Self { head, width, .. } = *self;
        let q = head.q.from(self.queries.start, 0);
        self.products(head.k, q, weights);
        let dropout = dropout.map(|dropout| self.sites(dropout));
        let mut softmax = |bias: Option<&[f32]>| {
            let (queries, scale) = (self.columns(), head.scores.scale);
            softmax(weights, width, queries, scale, bias, dropout);
        };
        match head.bias {
            None => softmax(None),
            Some(bias) => with_scratch(self.len(), |columns| {
                let src_len = head.shape.src_len;
                let rows = View::rows(&bias[self.queries.start * src_len..], src_len);
                transpose(rows, [self.queries.len(), self.keys], columns, width);
                softmax(Some(columns));
            }),
        }
    }

    /// Turns `grad`, the gradient of the weights, into the gradient of the unscaled scores. With `dropout`,
    /// `grad` is the gradient of the weights after dropout, and `weights` are the weights before dropout;
    /// they are replaced by the weights after dropout.
    pub(super) fn softmax_backward(
        &self,
        weights: &mut [f32],
        grad: &mut [f32],
        scale: f32,
        dropout: Option<DropoutCall>,
    ) {
        let dropout = dropout.map(|dropout| self.sites(dropout));
        softmax_backward(weights, grad, self.width, self.columns(), scale, dropout);
    }

    fn columns(&self) -> QueryColumns {
        QueryColumns { first: self.queries.start, count: self.queries.len(), visible: self.head.visible() }
    }

    /// The elements of the dropout mask that belong to the weights.
    fn sites(&self, dropout: DropoutCall) -> DropoutSites {
        let AttentionShape { tgt_len, src_len, .. } = self.head.shape;
        DropoutSites {
            dropout,
            start: (self.head.index * tgt_len + self.queries.start) * src_len,
            stride: src_len,
        }
    }

    /// Fills `out` `[keys, width]` with the products of each row of `keys`, the head's keys or values, and
    /// each row of `queries`, the queries or their gradients; both have `d_head` columns. Products for keys
    /// that a query does not see are unspecified.
    pub(super) fn products(&self, keys: View<'_>, queries: View<'_>, out: &mut [f32]) {
        let d_head = self.head.shape.d_head;
        let out = TileMut::new(out, self.keys, self.queries.len(), self.width);
        for Strip { queries: some, seen } in self.strips() {
            // SAFETY: one strip after the other is written, by this thread.
            let mut out = unsafe { out.part(0, some.start, seen, some.len()) };
            let queries = queries.from(some.start, 0);
            Product::new(d_head, keys, queries.t()).write_here(&mut out);
        }
    }

    /// Fills `out` `[queries, d_head]` with the sums of the rows of `keys`, the head's keys or values,
    /// weighted by each column of `weights` `[keys, width]`.
    pub(super) fn sums_of_keys(&self, weights: &[f32], keys: View<'_>, out: &TileMut<'_>) {
        for Strip { queries, seen } in self.strips() {
            // SAFETY: the strips have different rows of `out`; one after the other is written, by this
            // thread.
            let mut out = unsafe { out.part(queries.start, 0, queries.len(), out.cols()) };
            let weights = View::rows(weights, self.width).from(0, queries.start);
            Product::new(seen, weights.t(), keys).write_here(&mut out);
        }
    }

    /// Adds to `sums` `[keys, d_head]` the sums of the rows of `queries`, weighted by each row of `weights`
    /// `[keys, width]`.
    pub(super) fn add_sums_of_queries(&self, weights: &[f32], queries: View<'_>, sums: &TileMut<'_>) {
        let size = self.strip();
        for key in (0..self.keys).step_by(size) {
            let first = self.first_to_see(key);
            let keys = size.min(self.keys - key);
            // SAFETY: the strips have different rows of `sums`; one after the other is written, by this
            // thread.
            let mut sums = unsafe { sums.part(key, 0, keys, sums.cols()) };
            let weights = View::rows(weights, self.width).from(key, first);
            let product = Product::new(self.queries.len() - first, weights, queries.from(first, 0));
            product.added().write_here(&mut sums);
        }
    }

    /// The number of queries, or keys, that are told apart.
    fn strip(&self) -> usize {
        match self.head.scores.causality {
            Causality::Full => self.queries.len().max(self.keys),
            Causality::Causal => STRIP,
        }
    }

    /// All queries, in strips.
    fn strips(&self) -> impl Iterator<Item = Strip> {
        let (visible, start, len) = (self.head.visible(), self.queries.start, self.queries.len());
        let size = self.strip();
        (0..len).step_by(size).map(move |first| {
            let end = len.min(first + size);
            Strip { queries: first..end, seen: visible.to(start + end - 1) }
        })
    }

    /// The first query of the block that sees `key`.
    fn first_to_see(&self, key: usize) -> usize {
        let AttentionShape { tgt_len, src_len, .. } = self.head.shape;
        match self.head.scores.causality {
            Causality::Full => 0,
            Causality::Causal => (key + tgt_len).saturating_sub(src_len + self.queries.start),
        }
    }
}

/// Some queries of a block, and the number of keys that the last of them sees.
struct Strip {
    queries: Range<usize>,
    seen: usize,
}
