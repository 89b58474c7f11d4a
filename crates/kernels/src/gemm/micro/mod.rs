//! Microkernels: a register tile of `MR` rows by `NR` columns of the output, over one block of the inner
//! dimension.
//!
//! There is one function per instruction set. In each, a sum is a chain of fused multiply-adds along the
//! depth.

#[cfg(target_arch = "x86_64")]
mod avx512;

use std::ops::Range;

use super::isa::{Isa, NR};
#[cfg(target_arch = "x86_64")]
use crate::lanes::Avx2Lanes;
#[cfg(target_arch = "aarch64")]
use crate::lanes::NeonLanes;
#[cfg(target_feature = "simd128")]
use crate::lanes::Simd128Lanes;
use crate::lanes::{Lanes, PortableLanes};
use crate::packed::PANEL;
use crate::prefetch::Prefetcher;
use crate::simd::BASELINE_IS_FUSED;
use crate::tile::TileMut;

/// The left operand: row r of panel p at depth k is `data[p * panel + r * row + k * col]`.
#[derive(Clone, Copy)]
pub(super) struct LeftPanels<'a> {
    pub(super) data: &'a [f32],
    pub(super) panel: usize,
    pub(super) row: usize,
    pub(super) col: usize,
}

/// The right operand: column c of register tile t at depth k is `data[t * tile + k * step + c]` for the first
/// 16 columns, and `data[t * tile + k * step + half + c - 16]` for further ones.
#[derive(Clone, Copy)]
pub(super) struct RightTiles<'a> {
    pub(super) data: &'a [f32],
    pub(super) tile: usize,
    pub(super) half: usize,
    pub(super) step: usize,
    /// The tile that is needed after the last one; `None` for an operand that is in the caches.
    next: Option<*const f32>,
}

impl<'a> RightTiles<'a> {
    /// A matrix in rows of the distance `row`, of which only whole panels of 16 columns are read.
    pub(super) fn of_rows(isa: Isa, data: &'a [f32], row: usize) -> Self {
        Self { data, tile: isa.nr(), half: PANEL, step: row, next: None }
    }

    /// Panels of 16 columns with `panel` elements each.
    pub(super) fn of_panels(isa: Isa, data: &'a [f32], panel: usize) -> Self {
        Self { data, tile: isa.nr() / PANEL * panel, half: panel, step: PANEL, next: None }
    }

    /// The operand, which may come from RAM if there is `next`, the tile that is needed after its last one.
    pub(super) fn followed_by(self, next: Option<*const f32>) -> Self {
        Self { next, ..self }
    }

    /// The operand after it was read once, in the L2 cache.
    pub(super) fn in_cache(self) -> Self {
        Self { next: None, ..self }
    }

    /// The tile that is needed after tile `tile` of `tiles`.
    fn after(&self, tile: usize, tiles: usize) -> Option<*const f32> {
        self.next.map(|next| {
            if tile + 1 < tiles { self.data.as_ptr().wrapping_add((tile + 1) * self.tile) } else { next }
        })
    }

    /// The element after the last one that a product with `n` columns in tiles of `nr` reads.
    fn end(&self, nr: usize, depth: usize, n: usize) -> usize {
        let (panels, per_tile) = (n.div_ceil(PANEL), nr / PANEL);
        let last = |panel: usize| panel / per_tile * self.tile + panel % per_tile * self.half;
        let before = if panels > 1 { last(panels - 2) } else { 0 };
        last(panels - 1).max(before) + (depth - 1) * self.step + PANEL
    }
}

/// `out[rows]` = (or += for `add`) `left` `[rows, depth]` · `right` `[depth, out.cols()]`, none of
/// which is empty.
pub(super) fn block_product(
    isa: Isa,
    depth: usize,
    left: LeftPanels<'_>,
    right: RightTiles<'_>,
    out: &mut TileMut<'_>,
    rows: Range<usize>,
    add: bool,
) {
    let n = out.cols();
    let m = rows.len();
    let (mr, nr) = (isa.mr(), isa.nr());
    debug_assert!(m > 0 && n > 0 && depth > 0, "an empty product: [{m}, {depth}] · [{depth}, {n}]");
    let last = (m - 1) / mr * left.panel + (m - 1) % mr * left.row + (depth - 1) * left.col;
    assert!(last < left.data.len(), "`left` needs {} elements but has {}", last + 1, left.data.len());
    let end = right.end(nr, depth, n);
    assert!(end <= right.data.len(), "`right` needs {end} elements but has {}", right.data.len());
    let first = rows.start;
    let tile = |out: &mut TileMut<'_>, a: usize, row: usize, panel: usize| {
        let cols = nr.min(n - panel * nr);
        Tile {
            depth,
            a: left.data[a * left.panel..].as_ptr(),
            a_row: left.row,
            a_col: left.col,
            b: right.data[panel * right.tile..].as_ptr(),
            b_tile: right.tile,
            b_half: right.half,
            b_step: right.step,
            ahead: right.after(panel, n.div_ceil(nr)).filter(|_| row == 0),
            out: out.address(first + row, panel * nr),
            out_row: out.row_stride(),
            cols,
            add,
        }
    };
    let wide = if m <= isa.wide_rows() { n / nr / WIDE * WIDE } else { 0 };
    for panel in (0..wide).step_by(WIDE) {
        // SAFETY: the assertions above cover `a` and `b`, and all rows and `WIDE` tiles of `nr` columns lie
        // inside `out`.
        unsafe { tile(out, 0, 0, panel).run_wide(isa, m) }
    }
    for panel in wide..n.div_ceil(nr) {
        for (a, row) in (0..m).step_by(mr).enumerate() {
            let next = row + mr;
            let [next_row, next_col] = if next < m { [next, panel * nr] } else { [0, (panel + 1) * nr] };
            out.prefetch_part([first + next_row, next_col], [mr, nr]);
            // SAFETY: the assertions above cover `a` and `b`, and the rectangle of `min(mr, m - row)` rows
            // and `cols` columns lies inside `out`.
            unsafe { tile(out, a, row, panel).run(isa, mr.min(m - row)) }
        }
    }
}

/// Tiles that a wide tile covers, which has few rows: so many sums that none waits for another.
const WIDE: usize = 4;

/// One register tile: the addresses of its operands and of its output.
struct Tile {
    depth: usize,
    a: *const f32,
    a_row: usize,
    a_col: usize,
    b: *const f32,
    b_tile: usize,
    b_half: usize,
    b_step: usize,
    /// The tile to prefetch, see [`crate::prefetch::Prefetcher`].
    ahead: Option<*const f32>,
    out: *mut f32,
    out_row: usize,
    cols: usize,
    add: bool,
}

/// Calls the kernel compiled for the given number of rows.
macro_rules! with_rows {
    ($tile:ident.$kernel:ident, $rows:ident in $($n:literal)*) => {
        match $rows {
            $($n => $tile.$kernel::<$n>(),)*
            _ => unreachable!("{} rows in a tile", $rows),
        }
    };
}

/// [`with_rows`] of a kernel that prefetches the next tile or not.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! with_rows_prefetching {
    ($tile:ident.$kernel:ident, $rows:ident in $($n:literal)*) => {
        match ($rows, $tile.ahead) {
            $(
                ($n, Some(_)) => $tile.$kernel::<$n, true>(),
                ($n, None) => $tile.$kernel::<$n, false>(),
            )*
            _ => unreachable!("{} rows in a tile", $rows),
        }
    };
}

impl Tile {
    /// # Safety
    /// The CPU supports `isa`; `a` is readable for `rows` rows and `depth` columns, `b` for `depth` rows of
    /// one tile; `out` is writable for `rows` rows and `cols` columns; 1 ≤ `rows` ≤ `isa.mr()`.
    unsafe fn run(&self, isa: Isa, rows: usize) {
        // SAFETY: the caller upholds the contract.
        unsafe {
            match isa {
                Isa::Portable => with_rows!(self.portable, rows in 1 2 3 4 5 6),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2(_) => with_rows_prefetching!(self.avx2, rows in 1 2 3 4 5 6),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512(_) if self.cols <= PANEL => {
                    with_rows_prefetching!(self.avx512_narrow, rows in 1 2 3 4 5 6 7 8 9 10 11 12)
                }
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512(_) => {
                    with_rows_prefetching!(self.avx512_square, rows in 1 2 3 4 5 6 7 8 9 10 11 12)
                }
                #[cfg(target_arch = "aarch64")]
                Isa::Neon(_) => with_rows_prefetching!(self.neon, rows in 1 2 3 4 5 6),
                #[cfg(target_feature = "simd128")]
                Isa::Simd128(_) => with_rows!(self.simd128, rows in 1 2 3),
            }
        }
    }

    /// [`Self::run`] for `WIDE` tiles side by side, of which all columns are wanted.
    ///
    /// # Safety
    /// The CPU supports `isa`; `a` is readable for `rows` rows and `depth` columns, `b` for `WIDE` tiles;
    /// `out` is writable for `rows` rows and `WIDE * isa.nr()` columns; 1 ≤ `rows` ≤ `isa.wide_rows()`.
    unsafe fn run_wide(&self, isa: Isa, rows: usize) {
        // SAFETY: the caller upholds the contract.
        unsafe {
            match isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2(_) => with_rows!(self.avx2_wide, rows in 1),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512(_) => with_rows!(self.avx512_wide, rows in 1 2 3),
                #[cfg(target_arch = "aarch64")]
                Isa::Neon(_) => with_rows!(self.neon_wide, rows in 1),
                #[cfg(target_feature = "simd128")]
                Isa::Simd128(_) => unreachable!("an instruction set without wide tiles, {rows} rows"),
                Isa::Portable => unreachable!("an instruction set without wide tiles, {rows} rows"),
            }
        }
    }

    /// What the next tile reads, in vectors of 16 columns.
    #[inline(always)]
    fn ahead<const HALVES: usize>(&self) -> Prefetcher<HALVES> {
        let next = self.ahead.unwrap_or(self.b);
        Prefetcher::new(std::array::from_fn(|half| next.wrapping_add(half * self.b_half)))
    }

    /// # Safety
    /// See [`Self::run`], with `ROWS` rows and at most 16 columns; the CPU supports `L`.
    #[inline(always)]
    unsafe fn square<L: Lanes, const ROWS: usize, const PREFETCH: bool>(&self) {
        // SAFETY: all addresses lie within the ranges that the caller guarantees.
        unsafe {
            let mut sums = [L::splat(0.0); ROWS];
            let (mut a, mut b) = (self.a, self.b);
            let mut ahead = self.ahead::<1>();
            for _ in 0..self.depth {
                if PREFETCH {
                    ahead.prefetch();
                }
                let values = L::load(b);
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add_scaled(a.wrapping_add(row * self.a_row), values);
                }
                a = a.wrapping_add(self.a_col);
                b = b.wrapping_add(self.b_step);
            }
            for (row, sum) in sums.into_iter().enumerate() {
                if self.cols < NR {
                    let mut sums = [0.0; NR];
                    sum.store(sums.as_mut_ptr());
                    self.store_row(row, &sums);
                } else {
                    self.store_lanes(row, 0, sum);
                }
            }
        }
    }

    /// # Safety
    /// See [`Self::run_wide`], with `ROWS` rows and tiles of 16 columns; the CPU supports `L`.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[inline(always)]
    unsafe fn wide<L: Lanes, const ROWS: usize>(&self) {
        // SAFETY: all addresses lie within the ranges that the caller guarantees.
        unsafe {
            let mut sums = [[L::splat(0.0); WIDE]; ROWS];
            let (mut a, mut b) = (self.a, self.b);
            for _ in 0..self.depth {
                for (row, sums) in sums.iter_mut().enumerate() {
                    let a = a.wrapping_add(row * self.a_row);
                    for (panel, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.add_scaled(a, L::load(b.wrapping_add(panel * self.b_tile)));
                    }
                }
                a = a.wrapping_add(self.a_col);
                b = b.wrapping_add(self.b_step);
            }
            for (row, sums) in sums.into_iter().enumerate() {
                for (panel, sum) in sums.into_iter().enumerate() {
                    self.store_lanes(row, panel * NR, sum);
                }
            }
        }
    }

    /// # Safety
    /// `out` is writable for 16 elements of row `row` from column `col` on; the CPU supports `L`.
    #[inline(always)]
    unsafe fn store_lanes<L: Lanes>(&self, row: usize, col: usize, sum: L) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let out = self.out.add(row * self.out_row + col);
            let sum = if self.add { L::load(out).plus(sum) } else { sum };
            sum.store(out);
        }
    }

    /// # Safety
    /// See [`Self::run`], with `ROWS` rows.
    unsafe fn portable<const ROWS: usize>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.square::<PortableLanes<BASELINE_IS_FUSED>, ROWS, false>() }
    }

    /// # Safety
    /// See [`Self::run`], with `ROWS` rows; the CPU has AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<const ROWS: usize, const PREFETCH: bool>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.square::<Avx2Lanes, ROWS, PREFETCH>() }
    }

    /// # Safety
    /// See [`Self::run_wide`], with `ROWS` rows; the CPU has AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2_wide<const ROWS: usize>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.wide::<Avx2Lanes, ROWS>() }
    }

    /// # Safety
    /// See [`Self::run`], with `ROWS` rows.
    #[cfg(target_arch = "aarch64")]
    unsafe fn neon<const ROWS: usize, const PREFETCH: bool>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.square::<NeonLanes, ROWS, PREFETCH>() }
    }

    /// # Safety
    /// See [`Self::run`], with `ROWS` rows.
    #[cfg(target_feature = "simd128")]
    unsafe fn simd128<const ROWS: usize>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.square::<Simd128Lanes<false>, ROWS, false>() }
    }

    /// # Safety
    /// See [`Self::run_wide`], with `ROWS` rows.
    #[cfg(target_arch = "aarch64")]
    unsafe fn neon_wide<const ROWS: usize>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.wide::<NeonLanes, ROWS>() }
    }

    /// # Safety
    /// `out` is writable for `cols` elements of row `row`.
    #[inline(always)]
    unsafe fn store_row(&self, row: usize, sums: &[f32; NR]) {
        // SAFETY: guaranteed by the caller.
        let out = unsafe { std::slice::from_raw_parts_mut(self.out.add(row * self.out_row), self.cols) };
        for (out, &sum) in out.iter_mut().zip(sums) {
            *out = if self.add { *out + sum } else { sum };
        }
    }
}
