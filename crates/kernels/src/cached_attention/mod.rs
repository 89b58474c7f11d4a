//! Attention to keys and values that are kept in blocks of positions, for decoding.
//!
//! A block holds [`BLOCK`] positions of one layer: the keys `[n_kv_heads, d_head, BLOCK]`, so that one vector
//! register holds a feature of all positions, then the values `[BLOCK, n_kv_heads * d_head]`. Positions are
//! appended in place, and full blocks never change, so that rows with a common beginning can share them.
//!
//! Blocks are slices of 32-bit words. Each word is a number in `f32`, or holds two in bfloat16, to which keys
//! and values are rounded when they are stored. Queries, weights and sums are always `f32`.
//!
//! The results equal those of [`mod@crate::attention`] for the stored keys and values to the bit.

use std::marker::PhantomData;

use cache_element::CacheElement;
use query_group::QueryGroup;

use crate::attention::softmax_row;
use crate::gemm::Float;
use crate::scratch::with_scratch;

mod cache_element;
mod query_group;
#[cfg(test)]
mod tests;

/// Positions in a block.
pub const BLOCK: usize = 16;

/// Queries whose scores are computed together.
const QUERIES: usize = 8;

/// The heads of an attention layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heads {
    /// Query heads.
    pub n_heads: usize,
    /// Key/value heads, a divisor of `n_heads`; see [`crate::attention::AttentionShape`].
    pub n_kv_heads: usize,
    /// Columns per head.
    pub d_head: usize,
    /// Factor of the scores.
    pub scale: f32,
}

/// The layout of the blocks of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheLayout {
    pub heads: Heads,
    /// The number type of keys and values.
    pub precision: Float,
}

/// The arithmetic by which products are added to a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accumulation {
    /// As in `f32` matrix products on this CPU.
    AsInMatrixProducts,
    /// By fused multiply-adds on every CPU, if need be in software.
    Fused,
}

/// A bias of the scores for each head and distance between key and query.
#[derive(Clone, Debug, PartialEq)]
pub struct DistanceBiasValues {
    /// `[n_heads, 2 * reach - 1]`: distance key − query is at column `reach` − 1 + distance.
    values: Vec<f32>,
    reach: usize,
}

/// Queries of one sequence.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a> {
    /// Row after row; the first `n_heads * d_head` columns of each are read.
    pub rows: &'a [f32],
    /// Distance between rows.
    pub stride: usize,
    /// Position of the first query, for a bias.
    pub first: usize,
    /// The keys that they see.
    pub seen: VisibleKeys,
}

/// The blocks of a sequence in one layer.
#[derive(Clone, Copy, Debug)]
pub struct SequenceBlocks<'a> {
    /// Its keys and values.
    pub own: &'a [&'a [f32]],
    /// The blocks of the sequence that is read next, if it is known. They are prefetched, since caches of
    /// many sequences are larger than the processor's.
    pub next: &'a [&'a [f32]],
}

/// The keys that a query sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VisibleKeys {
    /// This many, from the first one on.
    All(usize),
    /// Those up to its own position.
    Earlier,
}

impl DistanceBiasValues {
    /// The bias `of(head, query, key)` of all distances below `reach`.
    pub fn new(n_heads: usize, reach: usize, of: impl Fn(usize, usize, usize) -> f32) -> Self {
        let reach = reach.max(1);
        let distances = || (0..2 * reach - 1).map(|column| (reach - 1, column));
        let head = |head| {
            let of = &of;
            distances().map(move |(query, key)| of(head, query, key))
        };
        Self { values: (0..n_heads).flat_map(head).collect(), reach }
    }

    /// The bias of the scores of the first `keys` keys.
    fn row(&self, head: usize, query: usize, keys: usize) -> &[f32] {
        let width = 2 * self.reach - 1;
        &self.values[head * width + self.reach - 1 - query..][..keys]
    }
}

impl Queries<'_> {
    fn visible(&self, query: usize) -> usize {
        match self.seen {
            VisibleKeys::All(keys) => keys,
            VisibleKeys::Earlier => self.first + query + 1,
        }
    }
}

impl Heads {
    /// Columns of the queries and of the result.
    pub fn query_width(&self) -> usize {
        self.n_heads * self.d_head
    }

    /// Columns of the keys, and of the values.
    pub fn kv_width(&self) -> usize {
        self.n_kv_heads * self.d_head
    }

    /// The layout of blocks of keys and values of this type.
    pub fn stored_in(self, precision: Float) -> CacheLayout {
        CacheLayout { heads: self, precision }
    }
}

impl CacheLayout {
    /// Words of a block.
    pub fn block_len(&self) -> usize {
        let numbers = 2 * BLOCK * self.heads.kv_width();
        match self.precision {
            Float::F32 => numbers,
            Float::Bf16 => numbers / 2,
        }
    }

    /// Writes the keys and values of one position to a block, in which it has the number `index`.
    ///
    /// # Panics
    /// If a slice does not fit.
    pub fn store(&self, block: &mut [f32], index: usize, keys: &[f32], values: &[f32]) {
        let block = &mut block[..self.block_len()];
        match self.precision {
            Float::F32 => self.heads.store::<f32>(block, index, keys, values),
            Float::Bf16 => self.heads.store::<u16>(block, index, keys, values),
        }
    }

    /// Copies the keys and values of the first `len` positions of a block. The contents of the others are
    /// unspecified.
    ///
    /// # Panics
    /// If a slice does not fit.
    pub fn copy(&self, from: &[f32], to: &mut [f32], len: usize) {
        let half = self.block_len() / 2;
        // A word may hold the last number of a position and the first one of the next.
        let used = half + (len * half).div_ceil(BLOCK);
        to[..used].copy_from_slice(&from[..used]);
    }

    /// Computes `out` `[queries, n_heads * d_head]`. `attention`, if given, receives the weights of each
    /// query, averaged over the heads: `[queries, keys]`, where keys is the largest number that a query sees.
    ///
    /// # Panics
    /// If a slice does not fit, or there are fewer positions than a query sees.
    pub fn attend(
        &self,
        queries: Queries<'_>,
        blocks: SequenceBlocks<'_>,
        bias: Option<&DistanceBiasValues>,
        accumulation: Accumulation,
        out: &mut [f32],
        attention: Option<&mut [f32]>,
    ) {
        let width = self.heads.query_width();
        if out.is_empty() {
            return;
        }
        let n = out.len() / width;
        assert_eq!(out.len(), n * width, "`out` has rows of {width}");
        assert!(queries.rows.len() >= (n - 1) * queries.stride + width, "{n} queries");
        let keys = queries.visible(n - 1);
        let n_blocks = keys.div_ceil(BLOCK);
        assert!(n_blocks <= blocks.own.len(), "{keys} keys");
        let blocks = SequenceBlocks { own: &blocks.own[..n_blocks], ..blocks };
        for block in blocks.own {
            assert_eq!(block.len(), self.block_len(), "a block of {self:?}");
        }
        let mut call = AttendCall { heads: self.heads, queries, blocks, bias, attention, keys };
        match self.precision {
            Float::F32 => call.attend::<f32>(accumulation, n, out),
            Float::Bf16 => call.attend::<u16>(accumulation, n, out),
        }
    }
}

impl Heads {
    fn store<T: CacheElement>(&self, block: &mut [f32], index: usize, keys: &[f32], values: &[f32]) {
        let width = self.kv_width();
        let (to_keys, to_values) = cache_element::of_words_mut::<T>(block).split_at_mut(BLOCK * width);
        assert_eq!(keys.len(), width, "keys of {self:?}");
        for (to, &key) in to_keys.chunks_exact_mut(BLOCK).zip(keys) {
            to[index] = T::rounded(key);
        }
        T::round_into(values, &mut to_values[index * width..][..width]);
    }
}

/// One call of [`CacheLayout::attend`].
struct AttendCall<'a> {
    heads: Heads,
    queries: Queries<'a>,
    blocks: SequenceBlocks<'a>,
    bias: Option<&'a DistanceBiasValues>,
    attention: Option<&'a mut [f32]>,
    /// Keys that the last query sees.
    keys: usize,
}

impl<'a> AttendCall<'a> {
    fn attend<T: CacheElement>(&mut self, accumulation: Accumulation, n: usize, out: &mut [f32]) {
        if let Some(attention) = self.attention.as_deref_mut() {
            attention.fill(0.0);
        }
        let (n_heads, width) = (self.heads.n_heads, self.heads.query_width());
        let stride = (self.blocks.own.len() * BLOCK).max(BLOCK);
        with_scratch(QUERIES.max(n_heads) * stride, |weights| {
            for first in (0..n).step_by(QUERIES) {
                let rows = QUERIES.min(n - first);
                let out = &mut out[first * width..];
                if rows == 1 {
                    self.attend_one::<T>(accumulation, first, weights, stride, out);
                    continue;
                }
                for head in 0..n_heads {
                    let group = self.group::<T>(first, rows, head);
                    let weights = &mut weights[..rows * stride];
                    group.scores(accumulation, weights, stride);
                    for (query, row) in (first..).zip(weights.chunks_exact_mut(stride)) {
                        self.softmax(head, query, row);
                    }
                    group.contexts(accumulation, weights, stride, out);
                }
            }
        });
    }

    /// All heads of one query.
    fn attend_one<T: CacheElement>(
        &mut self,
        accumulation: Accumulation,
        query: usize,
        weights: &mut [f32],
        stride: usize,
        out: &mut [f32],
    ) {
        let group = self.group::<T>(query, 1, 0);
        let weights = &mut weights[..self.heads.n_heads * stride];
        group.scores(accumulation, weights, stride);
        for (head, row) in weights.chunks_exact_mut(stride).enumerate() {
            self.softmax(head, query, row);
        }
        group.contexts(accumulation, weights, stride, out);
    }

    /// `rows` queries of `head`, or one query of all heads.
    fn group<T: CacheElement>(&self, first: usize, rows: usize, head: usize) -> QueryGroup<'a, T> {
        QueryGroup {
            heads: self.heads,
            rows: &self.queries.rows[first * self.queries.stride..],
            stride: self.queries.stride,
            n_queries: rows,
            head,
            blocks: self.blocks,
            keys: self.keys,
            element: PhantomData,
        }
    }

    fn softmax(&mut self, head: usize, query: usize, row: &mut [f32]) {
        let visible = self.queries.visible(query);
        let position = self.queries.first + query;
        let bias = self.bias.map(|bias| bias.row(head, position, visible));
        softmax_row(row, visible, self.heads.scale, bias);
        if let Some(attention) = self.attention.as_deref_mut() {
            let share = 1.0 / self.heads.n_heads as f32;
            let to = &mut attention[query * self.keys..][..self.keys];
            for (to, weight) in to.iter_mut().zip(row) {
                *to += share * *weight;
            }
        }
    }
}
