//! Products of few rows with weights in bfloat16, which are widened to `f32` in registers, for CPUs that do
//! not multiply pairs.
//!
//! A line of a panel has one word for each column, which holds the numbers at an even and at the next odd
//! depth: a shift makes an `f32` of the former, a mask one of the latter. As in the other `f32` microkernels,
//! a sum is a chain of fused multiply-adds along each block of the depth.

use super::isa::Isa;
use super::pack::KC;
use super::{Product, RightOperand, View};
use crate::lanes::Lanes;
#[cfg(target_arch = "aarch64")]
use crate::lanes::NeonLanes;
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2Lanes, Avx512Lanes};
use crate::packed::{PANEL, PackedBf16};
use crate::prefetch::{Prefetcher, is_far};
use crate::tile::TileMut;

/// The largest number of rows for which weights are widened in registers; more rows share widened copies.
pub(super) const fn max_rows(isa: Isa) -> usize {
    match isa {
        Isa::Portable => 0,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => usize::MAX,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(_) => 6,
        #[cfg(target_arch = "aarch64")]
        Isa::Neon(_) => 2,
        #[cfg(target_feature = "simd128")]
        Isa::Simd128(_) => 0,
    }
}

/// Rows of a tile, of `rows` rows at most, and panels side by side: so many sums that no multiply-add waits
/// for another.
fn shape(isa: Isa, rows: usize) -> (usize, usize) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) if rows > 2 => (rows.div_ceil(rows.div_ceil(AVX2_ROWS)), 1),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => (rows, 2),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(_) => (rows, 4),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon(_) => (rows, 2),
        #[cfg(target_feature = "simd128")]
        Isa::Simd128(_) => (rows, 1),
        Isa::Portable => (rows, 1),
    }
}

/// The most rows of a tile whose sums fit into the registers of AVX2 beside the numbers of two depths.
#[cfg(target_arch = "x86_64")]
const AVX2_ROWS: usize = 5;

/// Computes `out`, the product with the columns of `weight` from `col` on, which starts a panel. The left
/// operand has at most [`max_rows`] rows, which are contiguous, and at least one.
pub(super) fn product(
    isa: Isa,
    product: &Product<'_, View<'_>, RightOperand<'_>>,
    (weight, col): (PackedBf16<'_>, usize),
    out: &mut TileMut<'_>,
) {
    let (rows, n, Product { k, a, .. }) = (out.rows(), out.cols(), *product);
    assert!(rows <= max_rows(isa) && a.col_stride == 1, "few contiguous rows");
    a.assert_holds("a", rows, k);
    let panel = k.next_multiple_of(2) * PANEL;
    let panels = &weight.values()[col / PANEL * panel..];
    let needed = n.div_ceil(PANEL) * panel;
    assert!(needed <= panels.len(), "{n} columns need {needed} numbers of the weight");
    let (tile_rows, tile_panels) = shape(isa, rows);
    let is_far = is_far(size_of_val(weight.values()));
    for start in (0..k).step_by(KC) {
        let mut first = 0;
        while first < n {
            let whole = tile_panels * PANEL;
            let cols = if n - first >= whole { whole } else { PANEL.min(n - first) };
            for row in (0..rows).step_by(tile_rows) {
                let tile = Tile {
                    depth: KC.min(k - start),
                    a: a.from(row, start).data.as_ptr(),
                    a_row: a.row_stride,
                    b: panels[first / PANEL * panel + start * PANEL..].as_ptr(),
                    b_panel: panel,
                    prefetches: is_far && row == 0,
                    out: out.address(row, first),
                    out_row: out.row_stride(),
                    cols,
                    add: product.adds(start),
                };
                // SAFETY: the assertions above cover the rows of `a` and the panels of these columns, and
                // `out` has both.
                unsafe { tile.run(isa, tile_rows.min(rows - row)) }
            }
            first += cols;
        }
    }
    product.epilogue.finish(out, 0..rows);
}

/// One register tile: the addresses of its operands and of its output.
struct Tile {
    depth: usize,
    a: *const f32,
    a_row: usize,
    b: *const u16,
    b_panel: usize,
    /// Whether the panels that follow are prefetched, see [`Prefetcher`].
    prefetches: bool,
    out: *mut f32,
    out_row: usize,
    cols: usize,
    add: bool,
}

/// Calls the kernel compiled for the given numbers of rows and panels.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! with_size {
    ($tile:ident.$kernel:ident, $rows:ident in $($n:literal)*, $wide:literal) => {
        match ($rows, $tile.cols > PANEL) {
            $(
                ($n, true) => $tile.$kernel::<$n, $wide>(),
                ($n, false) => $tile.$kernel::<$n, 1>(),
            )*
            _ => unreachable!("{} rows in a tile", $rows),
        }
    };
}

impl Tile {
    /// # Safety
    /// The CPU supports `isa`; `a` is readable for `rows` rows and `depth` columns, and `b` for `depth`
    /// numbers of each column of the panels that have one of the first `cols` columns; `out` is writable for
    /// `rows` rows and `cols` columns; both are those of a [`shape`], or the columns are at most 16, and 1 ≤
    /// `rows`.
    unsafe fn run(&self, isa: Isa, rows: usize) {
        // SAFETY: the caller upholds the contract.
        unsafe {
            match isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2(_) => with_size!(self.avx2, rows in 1 2 3 4 5, 2),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512(_) => with_size!(self.avx512, rows in 1 2 3 4 5 6, 4),
                #[cfg(target_arch = "aarch64")]
                Isa::Neon(_) => with_size!(self.neon, rows in 1 2, 2),
                #[cfg(target_feature = "simd128")]
                Isa::Simd128(_) => unreachable!("{rows} rows with an instruction set that widens none"),
                Isa::Portable => unreachable!("{rows} rows with an instruction set that widens none"),
            }
        }
    }

    /// # Safety
    /// See [`Self::panels`]; the CPU has AVX-512F.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512<const ROWS: usize, const PANELS: usize>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.panels::<Avx512Lanes, ROWS, PANELS>() }
    }

    /// # Safety
    /// See [`Self::panels`]; the CPU has AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<const ROWS: usize, const PANELS: usize>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.panels::<Avx2Lanes, ROWS, PANELS>() }
    }

    /// # Safety
    /// See [`Self::panels`].
    #[cfg(target_arch = "aarch64")]
    unsafe fn neon<const ROWS: usize, const PANELS: usize>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.panels::<NeonLanes, ROWS, PANELS>() }
    }

    /// # Safety
    /// See [`Self::run`], with `ROWS` rows and the columns of `PANELS` panels; the CPU supports `L`.
    #[inline(always)]
    unsafe fn panels<L: Lanes, const ROWS: usize, const PANELS: usize>(&self) {
        // SAFETY: all addresses lie within the ranges that the caller guarantees.
        unsafe {
            let mut sums = [[L::splat(0.0); PANELS]; ROWS];
            let (mut a, mut b) = (self.a, self.b);
            let mut ahead: Prefetcher<PANELS> =
                Prefetcher::new(std::array::from_fn(|panel| b.wrapping_add((PANELS + panel) * self.b_panel)));
            for _ in 0..self.depth / 2 {
                if self.prefetches {
                    ahead.prefetch();
                }
                for panel in 0..PANELS {
                    let [even, odd] = L::load_bf16_pairs(b.wrapping_add(panel * self.b_panel));
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let (a, sum) = (a.wrapping_add(row * self.a_row), &mut sums[panel]);
                        *sum = sum.add_scaled(a, even).add_scaled(a.wrapping_add(1), odd);
                    }
                }
                (a, b) = (a.wrapping_add(2), b.wrapping_add(2 * PANEL));
            }
            if self.depth % 2 == 1 {
                for panel in 0..PANELS {
                    let [even, _] = L::load_bf16_pairs(b.wrapping_add(panel * self.b_panel));
                    for (row, sums) in sums.iter_mut().enumerate() {
                        sums[panel] = sums[panel].add_scaled(a.wrapping_add(row * self.a_row), even);
                    }
                }
            }
            for (row, sums) in sums.into_iter().enumerate() {
                for (panel, sum) in sums.into_iter().enumerate() {
                    let first = panel * PANEL;
                    let out = self.out.add(row * self.out_row + first);
                    if self.cols - first >= PANEL {
                        let sum = if self.add { L::load(out).plus(sum) } else { sum };
                        sum.store(out);
                        continue;
                    }
                    let mut sums = [0.0; PANEL];
                    sum.store(sums.as_mut_ptr());
                    let out = std::slice::from_raw_parts_mut(out, self.cols - first);
                    for (out, sum) in out.iter_mut().zip(sums) {
                        *out = if self.add { *out + sum } else { sum };
                    }
                }
            }
        }
    }
}
