//! The microkernels of AVX-512, whose tile has two vectors side by side.

use super::{Tile, WIDE};

impl Tile {
    /// # Safety
    /// See [`Self::run`], with `ROWS` rows and more than 16 columns; the CPU has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512_square<const ROWS: usize, const PREFETCH: bool>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.avx512::<ROWS, 2, PREFETCH>() }
    }

    /// # Safety
    /// See [`Self::run`], with `ROWS` rows and at most 16 columns; the CPU has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512_narrow<const ROWS: usize, const PREFETCH: bool>(&self) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.avx512::<ROWS, 1, PREFETCH>() }
    }

    /// # Safety
    /// See [`Self::run`], with `ROWS` rows and at most `HALVES` times 16 columns; the CPU has AVX-512F.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn avx512<const ROWS: usize, const HALVES: usize, const PREFETCH: bool>(&self) {
        use std::arch::x86_64::{
            _mm512_add_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps,
            _mm512_set1_ps, _mm512_setzero_ps,
        };
        use std::hint::black_box;
        // SAFETY: all addresses lie within the ranges that the caller guarantees; masked lanes are not
        // accessed.
        unsafe {
            let mut sums = [[_mm512_setzero_ps(); HALVES]; ROWS];
            // Three addresses that the compiler cannot relate to each other; otherwise it computes each from
            // the previous one, a chain of additions as slow as the products.
            let mut a = [0, 4, 8].map(|row| black_box(self.a.wrapping_add(row * self.a_row)));
            let mut b = self.b;
            let mut ahead = self.ahead::<HALVES>();
            for _ in 0..self.depth {
                if PREFETCH {
                    ahead.prefetch();
                }
                let mut halves = [_mm512_setzero_ps(); HALVES];
                for (half, values) in halves.iter_mut().enumerate() {
                    *values = _mm512_loadu_ps(b.wrapping_add(half * self.b_half));
                }
                for (row, sums) in sums.iter_mut().enumerate() {
                    let a = _mm512_set1_ps(*a[row / 4].add(row % 4 * self.a_row));
                    for (sum, b) in sums.iter_mut().zip(halves) {
                        *sum = _mm512_fmadd_ps(a, b, *sum);
                    }
                }
                a = a.map(|a| a.wrapping_add(self.a_col));
                b = b.wrapping_add(self.b_step);
            }
            let used = u32::MAX >> (32 - self.cols);
            for (row, sums) in sums.into_iter().enumerate() {
                let out = self.out.add(row * self.out_row);
                for (half, sum) in sums.into_iter().enumerate() {
                    let (used, out) = ((used >> (16 * half)) as u16, out.wrapping_add(16 * half));
                    let sum =
                        if self.add { _mm512_add_ps(_mm512_maskz_loadu_ps(used, out), sum) } else { sum };
                    _mm512_mask_storeu_ps(out, used, sum);
                }
            }
        }
    }

    /// # Safety
    /// See [`Self::run_wide`], with `ROWS` rows; the CPU has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512_wide<const ROWS: usize>(&self) {
        use std::arch::x86_64::{
            _mm512_add_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps,
            _mm512_storeu_ps,
        };
        const LANES: usize = 16;
        // SAFETY: all addresses lie within the ranges that the caller guarantees.
        unsafe {
            let mut sums = [[[_mm512_setzero_ps(); 2]; WIDE]; ROWS];
            let (mut a, mut b) = (self.a, self.b);
            for _ in 0..self.depth {
                let mut of_rows = [_mm512_setzero_ps(); ROWS];
                for (row, of_row) in of_rows.iter_mut().enumerate() {
                    *of_row = _mm512_set1_ps(*a.add(row * self.a_row));
                }
                for panel in 0..WIDE {
                    let b = b.add(panel * self.b_tile);
                    let (b0, b1) = (_mm512_loadu_ps(b), _mm512_loadu_ps(b.add(self.b_half)));
                    for (sums, a) in sums.iter_mut().zip(of_rows) {
                        sums[panel][0] = _mm512_fmadd_ps(a, b0, sums[panel][0]);
                        sums[panel][1] = _mm512_fmadd_ps(a, b1, sums[panel][1]);
                    }
                }
                a = a.wrapping_add(self.a_col);
                b = b.wrapping_add(self.b_step);
            }
            for (row, sums) in sums.into_iter().enumerate() {
                for (half, sum) in sums.into_iter().flatten().enumerate() {
                    let out = self.out.add(row * self.out_row + LANES * half);
                    let sum = if self.add { _mm512_add_ps(_mm512_loadu_ps(out), sum) } else { sum };
                    _mm512_storeu_ps(out, sum);
                }
            }
        }
    }
}
