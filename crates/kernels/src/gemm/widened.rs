//! Products of few rows with weights in bfloat16, which are widened to `f32` in registers, for CPUs that do
//! not multiply pairs.
//!
//! A line of a panel has one word for each column, which holds the numbers at an even and at the next odd
//! depth: a shift makes an `f32` of the former, a mask one of the latter. As in the other `f32` microkernels,
//! a sum is a chain of fused multiply-adds along each block of the depth.

use super::isa::Isa;
use super::pack::KC;
use super::{Product, RightOperand, View};
use crate::packed::{PANEL, PackedBf16};
use crate::tile::TileMut;

/// The largest number of rows for which weights are widened in registers; more rows share widened copies.
pub(super) const fn max_rows(isa: Isa) -> usize {
    match isa {
        Isa::Portable => 0,
        Isa::Avx2(_) => 2,
        Isa::Avx512(_) => 6,
    }
}

/// Panels side by side in a tile: so many sums that no multiply-add waits for another.
const fn wide(isa: Isa) -> usize {
    match isa {
        Isa::Portable => 1,
        Isa::Avx2(_) => 2,
        Isa::Avx512(_) => 4,
    }
}

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
    for start in (0..k).step_by(KC) {
        let mut first = 0;
        while first < n {
            let whole = wide(isa) * PANEL;
            let cols = if n - first >= whole { whole } else { PANEL.min(n - first) };
            let tile = Tile {
                depth: KC.min(k - start),
                a: a.from(0, start).data.as_ptr(),
                a_row: a.row_stride,
                b: panels[first / PANEL * panel + start * PANEL..].as_ptr(),
                b_panel: panel,
                out: out.address(0, first),
                out_row: out.row_stride(),
                cols,
                add: product.adds(start),
            };
            // SAFETY: the assertions above cover the rows of `a` and the panels of these columns, and `out`
            // has both.
            unsafe { tile.run(isa, rows) }
            first += cols;
        }
    }
    product.epilogue.finish(out, 0..rows);
}

/// One register tile: the addresses of its operands and of its output.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
struct Tile {
    depth: usize,
    a: *const f32,
    a_row: usize,
    b: *const u16,
    b_panel: usize,
    out: *mut f32,
    out_row: usize,
    cols: usize,
    add: bool,
}

/// Calls the kernel compiled for the given numbers of rows and panels.
#[cfg(target_arch = "x86_64")]
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
    /// `rows` rows and `cols` columns, which are at most 16 or as many as [`wide`] panels have; 1 ≤ `rows` ≤
    /// [`max_rows`].
    unsafe fn run(&self, isa: Isa, rows: usize) {
        // SAFETY: the caller upholds the contract.
        unsafe {
            match isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2(_) => with_size!(self.avx2, rows in 1 2, 2),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512(_) => with_size!(self.avx512, rows in 1 2 3 4 5 6, 4),
                _ => unreachable!("{rows} rows with an instruction set that widens none"),
            }
        }
    }

    /// # Safety
    /// See [`Self::run`], with `ROWS` rows and the columns of `PANELS` panels; the CPU has AVX-512F.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512<const ROWS: usize, const PANELS: usize>(&self) {
        use std::arch::x86_64::{
            _mm512_add_ps, _mm512_and_si512, _mm512_castsi512_ps, _mm512_fmadd_ps, _mm512_loadu_si512,
            _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_set1_ps,
            _mm512_setzero_ps, _mm512_slli_epi32,
        };
        // SAFETY: all addresses lie within the ranges that the caller guarantees; masked lanes are not
        // accessed.
        unsafe {
            let upper = _mm512_set1_epi32(UPPER);
            let mut sums = [[_mm512_setzero_ps(); PANELS]; ROWS];
            let (mut a, mut b) = (self.a, self.b);
            for _ in 0..self.depth / 2 {
                for panel in 0..PANELS {
                    let words = _mm512_loadu_si512(b.add(panel * self.b_panel).cast());
                    let even = _mm512_castsi512_ps(_mm512_slli_epi32::<16>(words));
                    let odd = _mm512_castsi512_ps(_mm512_and_si512(words, upper));
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let a = a.add(row * self.a_row);
                        sums[panel] = _mm512_fmadd_ps(_mm512_set1_ps(*a), even, sums[panel]);
                        sums[panel] = _mm512_fmadd_ps(_mm512_set1_ps(*a.add(1)), odd, sums[panel]);
                    }
                }
                (a, b) = (a.wrapping_add(2), b.wrapping_add(2 * PANEL));
            }
            if self.depth % 2 == 1 {
                for panel in 0..PANELS {
                    let words = _mm512_loadu_si512(b.add(panel * self.b_panel).cast());
                    let even = _mm512_castsi512_ps(_mm512_slli_epi32::<16>(words));
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let a = _mm512_set1_ps(*a.add(row * self.a_row));
                        sums[panel] = _mm512_fmadd_ps(a, even, sums[panel]);
                    }
                }
            }
            let used = match PANELS {
                1 => u16::MAX >> (PANEL - self.cols),
                _ => u16::MAX,
            };
            for (row, sums) in sums.into_iter().enumerate() {
                for (panel, sum) in sums.into_iter().enumerate() {
                    let out = self.out.add(row * self.out_row + panel * PANEL);
                    let sum =
                        if self.add { _mm512_add_ps(_mm512_maskz_loadu_ps(used, out), sum) } else { sum };
                    _mm512_mask_storeu_ps(out, used, sum);
                }
            }
        }
    }

    /// # Safety
    /// See [`Self::run`], with `ROWS` rows and the columns of `PANELS` panels; the CPU has AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<const ROWS: usize, const PANELS: usize>(&self) {
        use std::arch::x86_64::{
            _mm256_and_si256, _mm256_broadcast_ss, _mm256_castsi256_ps, _mm256_fmadd_ps, _mm256_loadu_si256,
            _mm256_set1_epi32, _mm256_setzero_ps, _mm256_slli_epi32, _mm256_storeu_ps,
        };
        // SAFETY: all addresses lie within the ranges that the caller guarantees.
        unsafe {
            let upper = _mm256_set1_epi32(UPPER);
            let mut sums = [[[_mm256_setzero_ps(); 2]; PANELS]; ROWS];
            let (mut a, mut b) = (self.a, self.b);
            let halves = |b: *const u16, panel: usize| {
                let line = b.add(panel * self.b_panel);
                [line, line.add(PANEL)].map(|half| _mm256_loadu_si256(half.cast()))
            };
            for _ in 0..self.depth / 2 {
                for panel in 0..PANELS {
                    for (half, words) in halves(b, panel).into_iter().enumerate() {
                        let even = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(words));
                        let odd = _mm256_castsi256_ps(_mm256_and_si256(words, upper));
                        for (row, sums) in sums.iter_mut().enumerate() {
                            let (a, sum) = (a.add(row * self.a_row), &mut sums[panel][half]);
                            *sum = _mm256_fmadd_ps(_mm256_broadcast_ss(&*a), even, *sum);
                            *sum = _mm256_fmadd_ps(_mm256_broadcast_ss(&*a.add(1)), odd, *sum);
                        }
                    }
                }
                (a, b) = (a.wrapping_add(2), b.wrapping_add(2 * PANEL));
            }
            if self.depth % 2 == 1 {
                for panel in 0..PANELS {
                    for (half, words) in halves(b, panel).into_iter().enumerate() {
                        let even = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(words));
                        for (row, sums) in sums.iter_mut().enumerate() {
                            let a = _mm256_broadcast_ss(&*a.add(row * self.a_row));
                            let sum = &mut sums[panel][half];
                            *sum = _mm256_fmadd_ps(a, even, *sum);
                        }
                    }
                }
            }
            for (row, sums) in sums.into_iter().enumerate() {
                for (panel, [low, high]) in sums.into_iter().enumerate() {
                    let mut sums = [0.0; PANEL];
                    _mm256_storeu_ps(sums.as_mut_ptr(), low);
                    _mm256_storeu_ps(sums.as_mut_ptr().add(8), high);
                    let first = panel * PANEL;
                    let out = self.out.add(row * self.out_row + first);
                    let out = std::slice::from_raw_parts_mut(out, PANEL.min(self.cols - first));
                    for (out, sum) in out.iter_mut().zip(sums) {
                        *out = if self.add { *out + sum } else { sum };
                    }
                }
            }
        }
    }
}

/// The bits of the second number of a word.
#[cfg(target_arch = "x86_64")]
const UPPER: i32 = 0xFFFF_0000_u32.cast_signed();
