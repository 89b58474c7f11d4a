//! One block of queries of one head.

use std::ops::Range;

use super::columns::softmax;
use super::{AttentionShape, Head, QUERY_BLOCK};
use crate::dropout::Dropout;
use crate::gemm::{Product, View};
use crate::scratch::with_scratch;
use crate::simd::LANES;
use crate::tile::TileMut;
use crate::transpose::transpose;

/// Some queries of a head and the keys that at least one of them sees. Scores and weights are matrices `[keys, width]`, one
/// query per column.
pub(super) struct Block<'a> {
    pub(super) head: &'a Head<'a>,
    pub(super) queries: Range<usize>,
    pub(super) keys: usize,
    /// The number of queries, rounded up to whole vectors; to an odd number of them if there are many, since at distances that
    /// are multiples of large powers of two, all keys of a query would share a few lines of the L1 cache.
    pub(super) width: usize,
}

impl<'a> Block<'a> {
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

    /// Elements of the dropout factors of 16 queries.
    pub(super) fn drawn_len(&self) -> usize {
        LANES * self.head.shape.src_len
    }

    /// Fills `weights` with the softmax of the queries over the keys, before dropout.
    pub(super) fn weights(&self, weights: &mut [f32]) {
        let Self { head, width, .. } = *self;
        let q = head.q.from(self.queries.start, 0);
        self.products(head.k, q, weights);
        let mut softmax = |bias: Option<&[f32]>| {
            let (visible, scale) = (head.visible(), head.scores.scale);
            softmax(weights, width, self.queries.start, visible, scale, bias);
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

    /// Fills `out` `[keys, width]` with the products of each row of `keys`, the head's keys or values, and each row of `queries`,
    /// the queries or their gradients; both have `d_head` columns.
    pub(super) fn products(&self, keys: View<'_>, queries: View<'_>, out: &mut [f32]) {
        let mut out = TileMut::new(out, self.keys, self.queries.len(), self.width);
        Product::new(self.head.shape.d_head, keys, queries.t()).write_here(&mut out);
    }

    /// Fills `factors` `[keys, width]` with the dropout factors of the weights; `drawn` is scratch.
    pub(super) fn draw(&self, dropout: Dropout, drawn: &mut [f32], factors: &mut [f32]) {
        let AttentionShape {
            tgt_len, src_len, ..
        } = self.head.shape;
        for first in (0..self.queries.len()).step_by(LANES) {
            let rows = LANES.min(self.queries.len() - first);
            let query = self.head.index * tgt_len + self.queries.start + first;
            dropout.scales(query * src_len, &mut drawn[..rows * src_len]);
            let from = View::rows(drawn, src_len);
            let columns = factors.get_mut(first..).unwrap_or_default();
            transpose(from, [rows, self.keys], columns, self.width);
        }
    }
}
