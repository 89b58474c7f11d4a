//! The AVX-512 microkernel: 8 rows by two vectors of columns.
//!
//! `vdpbf16ps` adds two products to each lane. A sum starts from zero and covers `STEPS` blocks before it is added to
//! the output. Subnormal numbers are treated as zero.

use std::arch::x86_64::{
    __m512bh, __m512i, _mm512_add_ps, _mm512_dpbf16_ps, _mm512_loadu_si512, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_setzero_ps, _mm512_setzero_si512,
};
use std::mem::transmute;

use super::{Tile, WIDTH};
use crate::prefetch::Ahead;

/// Rows of a register tile.
const ROWS: usize = 8;

/// # Safety
/// The CPU has AVX-512F and AVX-512 BF16. Each panel of `tile` has as many lines as it says; the output is writable for its rows
/// and columns.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn multiply(tile: &Tile<2, 2>) {
    for first in (0..tile.rows).step_by(ROWS) {
        // SAFETY: the caller upholds the contract.
        unsafe {
            match tile.rows - first {
                1 => multiply_rows::<1>(tile, first),
                2 => multiply_rows::<2>(tile, first),
                3 | 4 => multiply_rows::<4>(tile, first),
                _ => multiply_rows::<ROWS>(tile, first),
            }
        }
    }
}

/// [`multiply`] for at most `N` rows from `first` on.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn multiply_rows<const N: usize>(tile: &Tile<2, 2>, first: usize) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        match tile.next.filter(|_| first == 0) {
            Some(next) => multiply_asking::<N, true>(tile, first, Ahead::new(next)),
            None => multiply_asking::<N, false>(tile, first, Ahead::new(tile.right)),
        }
    }
}

/// [`multiply_rows`], asking for what is needed next if `ASKS`.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn multiply_asking<const N: usize, const ASKS: bool>(
    tile: &Tile<2, 2>,
    first: usize,
    mut ahead: Ahead<2>,
) {
    let pair = |x: __m512i| -> __m512bh {
        // SAFETY: both types are 512 bits.
        unsafe { transmute(x) }
    };
    let mut sums = [[_mm512_setzero_ps(); 2]; N];
    let [mut right0, mut right1] = tile.right.map(|line| line.cast::<__m512i>());
    let mut left = tile.left[first / WIDTH].cast::<i32>();
    // SAFETY: all addresses lie within the panels and the output that the caller guarantees; masked lanes are not
    // accessed.
    unsafe {
        left = left.add(first % WIDTH * WIDTH);
        let (steps, rest) = (tile.lines / WIDTH, tile.lines % WIDTH);
        let mut add = |line: usize, left: *const i32, [b0, b1]: [__m512i; 2]| {
            for (row, sums) in sums.iter_mut().enumerate() {
                let a = pair(_mm512_set1_epi32(*left.add(row * WIDTH + line)));
                sums[0] = _mm512_dpbf16_ps(sums[0], a, pair(b0));
                sums[1] = _mm512_dpbf16_ps(sums[1], a, pair(b1));
            }
        };
        for _ in 0..steps {
            for line in 0..WIDTH {
                if ASKS {
                    ahead.ask();
                }
                let b = [right0, right1].map(|right| _mm512_loadu_si512(right.add(line)));
                add(line, left, b);
            }
            left = left.wrapping_add(WIDTH * WIDTH);
            (right0, right1) = (right0.wrapping_add(WIDTH), right1.wrapping_add(WIDTH));
        }
        if rest > 0 {
            for line in 0..WIDTH {
                // Missing lines are zero; they are added too, since a sum may be −0.
                let b = [right0, right1].map(|right| match line < rest {
                    true => _mm512_loadu_si512(right.add(line)),
                    false => _mm512_setzero_si512(),
                });
                add(line, left, b);
            }
        }
        let used = u32::MAX >> (32 - tile.cols);
        for (row, sums) in sums.into_iter().enumerate().take(tile.rows - first) {
            let out = tile.out.add((first + row) * tile.out_row);
            for (half, sum) in sums.into_iter().enumerate() {
                let (used, out) = (
                    (used >> (WIDTH * half)) as u16,
                    out.wrapping_add(WIDTH * half),
                );
                let sum = match tile.add {
                    true => _mm512_add_ps(_mm512_maskz_loadu_ps(used, out), sum),
                    false => sum,
                };
                _mm512_mask_storeu_ps(out, used, sum);
            }
        }
    }
}
