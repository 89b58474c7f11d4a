//! The products of attention for a few queries.

use std::array::from_fn;
use std::marker::PhantomData;

use super::cache_element::{self, CacheElement};
use super::{Accumulation, BLOCK, Heads, SequenceBlocks};
use crate::lanes::Lanes;
#[cfg(target_arch = "aarch64")]
use crate::lanes::NeonLanes;
#[cfg(not(target_feature = "simd128"))]
use crate::lanes::PortableLanes;
#[cfg(target_feature = "simd128")]
use crate::lanes::Simd128Lanes;
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2Lanes, Avx512Lanes};
use crate::prefetch::prefetch_line;
#[cfg(not(target_feature = "simd128"))]
use crate::simd::BASELINE_IS_FUSED;
#[cfg(target_arch = "aarch64")]
use crate::simd::has_neon;
#[cfg(target_arch = "x86_64")]
use crate::simd::{has_avx2_fma, has_avx512};

/// Terms that a sum adds before they are added to the total, as in a matrix product.
const TERMS: usize = 256;

/// Several queries of one head, or one query of all heads; each query of each of these heads has a row of
/// weights.
#[derive(Clone, Copy)]
pub(super) struct QueryGroup<'a, T> {
    pub(super) heads: Heads,
    /// The queries, from the first one of the group on.
    pub(super) rows: &'a [f32],
    /// Distance between rows of `rows`.
    pub(super) stride: usize,
    /// The number of queries. If it is 1, the group has all heads of this query.
    pub(super) n_queries: usize,
    /// The head of several queries; not used for a single one.
    pub(super) head: usize,
    /// The blocks of keys and values.
    pub(super) blocks: SequenceBlocks<'a>,
    /// The keys for which there are weights; those that a query does not see have weight 0.
    pub(super) keys: usize,
    /// The number type of the blocks.
    pub(super) element: PhantomData<T>,
}

/// Calls `$group.$body::<L>($weights, $stride, $out)` with the widest lanes of this CPU.
macro_rules! with_lanes {
    ($accumulation:expr, $group:ident.$body:ident($weights:expr, $stride:expr, $out:expr)) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn widest<T: CacheElement>(
                group: &QueryGroup<'_, T>,
                weights: &mut [f32],
                stride: usize,
                out: &mut [f32],
            ) {
                group.$body::<Avx512Lanes>(weights, stride, out)
            }
            #[target_feature(enable = "avx2,fma")]
            fn wide<T: CacheElement>(
                group: &QueryGroup<'_, T>,
                weights: &mut [f32],
                stride: usize,
                out: &mut [f32],
            ) {
                group.$body::<Avx2Lanes>(weights, stride, out)
            }
            if has_avx512() {
                // SAFETY: the CPU supports all of these features.
                return unsafe { widest($group, $weights, $stride, $out) };
            }
            if has_avx2_fma() {
                // SAFETY: the CPU supports both features.
                return unsafe { wide($group, $weights, $stride, $out) };
            }
        }
        #[cfg(target_arch = "aarch64")]
        if has_neon() {
            return $group.$body::<NeonLanes>($weights, $stride, $out);
        }
        #[cfg(target_feature = "simd128")]
        if $accumulation == Accumulation::Fused {
            $group.$body::<Simd128Lanes<true>>($weights, $stride, $out)
        } else {
            $group.$body::<Simd128Lanes<false>>($weights, $stride, $out)
        }
        #[cfg(not(target_feature = "simd128"))]
        if BASELINE_IS_FUSED || $accumulation == Accumulation::Fused {
            $group.$body::<PortableLanes<true>>($weights, $stride, $out)
        } else {
            $group.$body::<PortableLanes<false>>($weights, $stride, $out)
        }
    }};
}

/// Divides the rows of weights into tiles of 1, 2, 4 or 5 rows, and calls a method for each, which has the
/// number of rows as its parameter `R`. Where `row` stands, it gets the first row.
macro_rules! for_row_tiles {
    ($group:ident.$tile:ident::<$lanes:ident, $same:ident, R $(, $more:ident)?>(row, $($argument:expr),*)) => {{
        let (n, mut row) = ($group.n_rows(), 0);
        while row < n {
            row += match n - row {
                1 => {
                    $group.$tile::<$lanes, $same, 1 $(, $more)?>(row, $($argument),*);
                    1
                }
                2 | 3 => {
                    $group.$tile::<$lanes, $same, 2 $(, $more)?>(row, $($argument),*);
                    2
                }
                // As many as a beam of the usual width.
                5 => {
                    $group.$tile::<$lanes, $same, 5 $(, $more)?>(row, $($argument),*);
                    5
                }
                _ => {
                    $group.$tile::<$lanes, $same, 4 $(, $more)?>(row, $($argument),*);
                    4
                }
            };
        }
    }};
}

impl<T: CacheElement> QueryGroup<'_, T> {
    /// q·k of all keys in `blocks`, in rows of `stride`.
    pub(super) fn scores(&self, accumulation: Accumulation, weights: &mut [f32], stride: usize) {
        with_lanes!(accumulation, self.all_scores(weights, stride, &mut []))
    }

    /// Σ weight · value, into the columns of the head.
    pub(super) fn contexts(
        &self,
        accumulation: Accumulation,
        weights: &mut [f32],
        stride: usize,
        out: &mut [f32],
    ) {
        with_lanes!(accumulation, self.all_contexts(weights, stride, out))
    }

    /// The query of a row of weights.
    #[inline(always)]
    fn query(&self, row: usize) -> &[f32] {
        let d = self.heads.d_head;
        let (query, head) = self.query_and_head(row);
        &self.rows[query * self.stride + head * d..][..d]
    }

    /// The query and head of a row of weights.
    #[inline(always)]
    fn query_and_head(&self, row: usize) -> (usize, usize) {
        match self.n_queries {
            1 => (0, row),
            _ => (row, self.head),
        }
    }

    /// The distance in bytes from `block` to that of the same number that is read next; 0 if there is none.
    #[inline(always)]
    fn distance_to_next(&self, block: usize) -> isize {
        let address = |block: &[f32]| block.as_ptr().addr() as isize;
        match self.blocks.next.get(block) {
            Some(next) => address(next).wrapping_sub(address(self.blocks.own[block])),
            None => 0,
        }
    }

    /// Rows of weights.
    #[inline(always)]
    fn n_rows(&self) -> usize {
        match self.n_queries {
            1 => self.heads.n_heads,
            n => n,
        }
    }

    /// The head of the keys and values of a row of weights.
    #[inline(always)]
    fn kv_head(&self, row: usize) -> usize {
        let (_, head) = self.query_and_head(row);
        head / (self.heads.n_heads / self.heads.n_kv_heads)
    }

    /// The keys of a block for a row of weights, `[d_head, BLOCK]`.
    #[inline(always)]
    fn keys(&self, block: usize, row: usize) -> &[[T; BLOCK]] {
        let d = self.heads.d_head;
        let (keys, _) = cache_element::of_words::<T>(self.blocks.own[block]).as_chunks::<BLOCK>();
        &keys[self.kv_head(row) * d..][..d]
    }

    #[inline(always)]
    fn all_scores<L: Lanes>(&self, weights: &mut [f32], stride: usize, _: &mut [f32]) {
        match self.n_queries {
            1 => self.scores_of::<L, false>(weights, stride),
            _ => self.scores_of::<L, true>(weights, stride),
        }
    }

    /// All scores. If `SAME`, all rows have the same keys.
    #[inline(always)]
    fn scores_of<L: Lanes, const SAME: bool>(&self, weights: &mut [f32], stride: usize) {
        let n_blocks = self.blocks.own.len();
        let mut block = 0;
        while self.fits_twice::<L>() && block + 2 <= n_blocks {
            self.scores_of_blocks::<L, SAME, 2>(block, weights, stride);
            block += 2;
        }
        while block < n_blocks {
            self.scores_of_blocks::<L, SAME, 1>(block, weights, stride);
            block += 1;
        }
    }

    /// Whether two sums for each row of the largest tile fit into the registers.
    #[inline(always)]
    fn fits_twice<L: Lanes>(&self) -> bool {
        L::SUMS >= 2 * self.n_rows().min(5)
    }

    /// The scores of all rows and `B` blocks from `block` on.
    #[inline(always)]
    fn scores_of_blocks<L: Lanes, const SAME: bool, const B: usize>(
        &self,
        block: usize,
        weights: &mut [f32],
        stride: usize,
    ) {
        for_row_tiles!(self.score_tile::<L, SAME, R, B>(row, block, weights, stride));
    }

    /// The scores of `R` rows from `first` on and `B` blocks from `block` on.
    #[inline(always)]
    fn score_tile<L: Lanes, const SAME: bool, const R: usize, const B: usize>(
        &self,
        first: usize,
        block: usize,
        weights: &mut [f32],
        stride: usize,
    ) {
        let d_head = self.heads.d_head;
        let mut queries = [std::ptr::null::<f32>(); R];
        let mut keys = [[std::ptr::null::<T>(); B]; R];
        for row in 0..R {
            queries[row] = self.query(first + row).as_ptr();
            for (b, keys) in keys[row].iter_mut().enumerate() {
                *keys = self.keys(block + b, first + row).as_ptr().cast();
            }
        }
        let distances: [isize; B] = from_fn(|b| self.distance_to_next(block + b));
        assert!(weights.len() >= (first + R - 1) * stride + (block + B) * BLOCK);
        // SAFETY: the CPU supports `L`; a query has `d_head` elements and its keys `d_head` times `BLOCK`;
        // the last row of weights has room for the last block.
        unsafe {
            let mut loaded = [L::splat(0.0); B];
            let mut total = [[L::splat(0.0); B]; R];
            for start in (0..d_head).step_by(TERMS) {
                let mut sums = [[L::splat(0.0); B]; R];
                for d in start..d_head.min(start + TERMS) {
                    for row in 0..R {
                        let query = L::splat(*queries[row].add(d));
                        for b in 0..B {
                            if !SAME || row == 0 {
                                let line = keys[row][b].add(d * BLOCK);
                                loaded[b] = T::load(line);
                                prefetch_line(line.cast::<u8>().wrapping_offset(distances[b]));
                            }
                            sums[row][b] = sums[row][b].add_product(query, loaded[b]);
                        }
                    }
                }
                total = plus(start, total, sums);
            }
            for (row, total) in total.into_iter().enumerate() {
                for (b, total) in total.into_iter().enumerate() {
                    let offset = (first + row) * stride + (block + b) * BLOCK;
                    total.store(weights.as_mut_ptr().add(offset));
                }
            }
        }
    }

    #[inline(always)]
    fn all_contexts<L: Lanes>(&self, weights: &mut [f32], stride: usize, out: &mut [f32]) {
        match self.n_queries {
            1 => self.contexts_of::<L, false>(weights, stride, out),
            _ => self.contexts_of::<L, true>(weights, stride, out),
        }
    }

    /// All contexts. If `SAME`, all rows have the same values.
    #[inline(always)]
    fn contexts_of<L: Lanes, const SAME: bool>(&self, weights: &[f32], stride: usize, out: &mut [f32]) {
        for_row_tiles!(self.contexts_of_rows::<L, SAME, R>(row, weights, stride, out));
    }

    /// The contexts of `R` rows from `row` on.
    #[inline(always)]
    fn contexts_of_rows<L: Lanes, const SAME: bool, const R: usize>(
        &self,
        row: usize,
        weights: &[f32],
        stride: usize,
        out: &mut [f32],
    ) {
        let d = self.heads.d_head;
        let mut column = 0;
        while L::SUMS >= 2 * R && column + 2 * BLOCK <= d {
            self.context_tile::<L, SAME, R, 2>(row, column, weights, stride, out);
            column += 2 * BLOCK;
        }
        while column + BLOCK <= d {
            self.context_tile::<L, SAME, R, 1>(row, column, weights, stride, out);
            column += BLOCK;
        }
        for column in column..d {
            self.context_column::<L, R>(row, column, weights, stride, out);
        }
    }

    /// The value of position `key` for a row of weights in `column` of the head.
    #[inline(always)]
    fn value(&self, key: usize, row: usize, column: usize) -> T {
        let values = self.values(key);
        values[self.kv_head(row) * self.heads.d_head + column]
    }

    /// The values of position `key`, `[n_kv_heads * d_head]`.
    #[inline(always)]
    fn values(&self, key: usize) -> &[T] {
        let width = self.heads.kv_width();
        let block = cache_element::of_words::<T>(self.blocks.own[key / BLOCK]);
        &block[(BLOCK + key % BLOCK) * width..][..width]
    }

    /// Where the context of a row of weights begins.
    #[inline(always)]
    fn context(&self, row: usize) -> usize {
        let (query, head) = self.query_and_head(row);
        query * self.heads.query_width() + head * self.heads.d_head
    }

    /// `V` vectors of columns of the contexts of `R` rows from `first` on.
    #[inline(always)]
    fn context_tile<L: Lanes, const SAME: bool, const R: usize, const V: usize>(
        &self,
        first: usize,
        column: usize,
        weights: &[f32],
        stride: usize,
        out: &mut [f32],
    ) {
        let width = self.heads.kv_width();
        let mut offsets = [0; R];
        for (row, offset) in offsets.iter_mut().enumerate() {
            *offset = self.kv_head(first + row) * self.heads.d_head + column;
            assert!(*offset + V * BLOCK <= width, "columns of a value");
        }
        assert!(weights.len() >= (first + R - 1) * stride + self.keys, "weights");
        let last = self.context(first + R - 1) + column + V * BLOCK;
        assert!(out.len() >= last, "contexts");
        // SAFETY: the CPU supports `L`; the assertions above cover the values of a key, the weights and the
        // results.
        unsafe {
            let mut loaded = [L::splat(0.0); V];
            let mut total = [[L::splat(0.0); V]; R];
            for start in (0..self.keys).step_by(TERMS) {
                let mut sums = [[L::splat(0.0); V]; R];
                for key in start..self.keys.min(start + TERMS) {
                    let values = self.values(key).as_ptr();
                    let distance = self.distance_to_next(key / BLOCK);
                    for row in 0..R {
                        let weight = L::splat(*weights.as_ptr().add((first + row) * stride + key));
                        for v in 0..V {
                            if !SAME || row == 0 {
                                let line = values.add(offsets[row] + v * BLOCK);
                                loaded[v] = T::load(line);
                                prefetch_line(line.cast::<u8>().wrapping_offset(distance));
                            }
                            sums[row][v] = sums[row][v].add_product(weight, loaded[v]);
                        }
                    }
                }
                total = plus(start, total, sums);
            }
            for (row, total) in total.into_iter().enumerate() {
                for (v, total) in total.into_iter().enumerate() {
                    let offset = self.context(first + row) + column + v * BLOCK;
                    total.store(out.as_mut_ptr().add(offset));
                }
            }
        }
    }

    /// One column of the contexts of `R` rows from `first` on.
    #[inline(always)]
    fn context_column<L: Lanes, const R: usize>(
        &self,
        first: usize,
        column: usize,
        weights: &[f32],
        stride: usize,
        out: &mut [f32],
    ) {
        for row in first..first + R {
            let mut total = 0.0;
            for start in (0..self.keys).step_by(TERMS) {
                let mut sum = 0.0;
                for key in start..self.keys.min(start + TERMS) {
                    let weight = weights[row * stride + key];
                    sum = L::add_one_product(weight, self.value(key, row, column).widen(), sum);
                }
                total = if start == 0 { sum } else { total + sum };
            }
            out[self.context(row) + column] = total;
        }
    }
}

/// The total after the sums of the terms from `start` on.
///
/// # Safety
/// The CPU supports `L`.
#[inline(always)]
unsafe fn plus<L: Lanes, const R: usize, const V: usize>(
    start: usize,
    mut total: [[L; V]; R],
    sums: [[L; V]; R],
) -> [[L; V]; R] {
    if start == 0 {
        return sums;
    }
    for row in 0..R {
        for v in 0..V {
            // SAFETY: the caller upholds the contract.
            total[row][v] = unsafe { total[row][v].plus(sums[row][v]) };
        }
    }
    total
}
