//! The AVX-512 microkernel: 8 rows by two vectors of columns, or up to two rows by eight.
//!
//! `vdpbf16ps` adds two products to each lane. A sum starts from zero and covers `STEPS` blocks before it is added to
//! the output. Subnormal numbers are treated as zero.

use std::arch::x86_64::{
    __m512bh, __m512i, _mm512_add_ps, _mm512_dpbf16_ps, _mm512_loadu_si512, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_setzero_ps, _mm512_setzero_si512,
};
use std::array::from_fn;
use std::mem::transmute;

use super::{Tile, WIDTH};
use crate::prefetch::Ahead;

/// Rows of a register tile.
const ROWS: usize = 8;
/// Panels of a wide tile, of which the sums of a row do not wait for each other.
pub(super) const WIDE: usize = 8;
/// The most rows of a wide tile.
pub(super) const WIDE_ROWS: usize = 2;

/// # Safety
/// The CPU has AVX-512F and AVX-512 BF16. Each panel of `tile` has as many lines as it says; the output is writable for its rows
/// and columns.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn multiply(tile: &Tile<2, 2>) {
    for first in (0..tile.rows).step_by(ROWS) {
        // SAFETY: the caller upholds the contract.
        unsafe {
            match tile.rows - first {
                1 => multiply_rows::<1, 2, _>(tile, first),
                2 => multiply_rows::<2, 2, _>(tile, first),
                3 | 4 => multiply_rows::<4, 2, _>(tile, first),
                _ => multiply_rows::<ROWS, 2, _>(tile, first),
            }
        }
    }
}

/// [`multiply`] for at most [`WIDE_ROWS`] rows, and panels in the caches: from RAM, so many of them come more slowly than two that
/// were asked for.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn multiply_wide(tile: &Tile<1, WIDE>) {
    let ahead = Ahead::new(tile.right);
    // SAFETY: the caller upholds the contract.
    unsafe {
        match tile.rows {
            1 => multiply_asking::<1, WIDE, 1, false>(tile, 0, ahead),
            WIDE_ROWS => multiply_asking::<WIDE_ROWS, WIDE, 1, false>(tile, 0, ahead),
            rows => unreachable!("{rows} rows of a wide tile"),
        }
    }
}

/// [`multiply`] for at most `N` rows from `first` on.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn multiply_rows<const N: usize, const P: usize, const L: usize>(
    tile: &Tile<L, P>,
    first: usize,
) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        match tile.next.filter(|_| first == 0) {
            Some(next) => multiply_asking::<N, P, L, true>(tile, first, Ahead::new(next)),
            None => multiply_asking::<N, P, L, false>(tile, first, Ahead::new(tile.right)),
        }
    }
}

/// [`multiply_rows`], asking for what is needed next if `ASKS`.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn multiply_asking<const N: usize, const P: usize, const L: usize, const ASKS: bool>(
    tile: &Tile<L, P>,
    first: usize,
    mut ahead: Ahead<P>,
) {
    let pair = |x: __m512i| -> __m512bh {
        // SAFETY: both types are 512 bits.
        unsafe { transmute(x) }
    };
    let mut sums = [[_mm512_setzero_ps(); P]; N];
    let mut right = tile.right.map(|line| line.cast::<__m512i>());
    let mut left = tile.left[first / WIDTH].cast::<i32>();
    // SAFETY: all addresses lie within the panels and the output that the caller guarantees; masked lanes are not
    // accessed.
    unsafe {
        left = left.add(first % WIDTH * WIDTH);
        let (steps, rest) = (tile.lines / WIDTH, tile.lines % WIDTH);
        let mut add = |line: usize, left: *const i32, b: [__m512i; P]| {
            for (row, sums) in sums.iter_mut().enumerate() {
                let a = pair(_mm512_set1_epi32(*left.add(row * WIDTH + line)));
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = _mm512_dpbf16_ps(*sum, a, pair(b));
                }
            }
        };
        for _ in 0..steps {
            for line in 0..WIDTH {
                if ASKS {
                    ahead.ask();
                }
                let b = right.map(|right| _mm512_loadu_si512(right.add(line)));
                add(line, left, b);
            }
            left = left.wrapping_add(WIDTH * WIDTH);
            right = right.map(|right| right.wrapping_add(WIDTH));
        }
        if rest > 0 {
            for line in 0..WIDTH {
                // Missing lines are zero; they are added too, since a sum may be −0.
                let b = right.map(|right| match line < rest {
                    true => _mm512_loadu_si512(right.add(line)),
                    false => _mm512_setzero_si512(),
                });
                add(line, left, b);
            }
        }
        let used: [u16; P] = from_fn(|panel| match tile.cols.saturating_sub(panel * WIDTH) {
            WIDTH.. => u16::MAX,
            cols => (1 << cols) - 1,
        });
        for (row, sums) in sums.into_iter().enumerate().take(tile.rows - first) {
            let out = tile.out.add((first + row) * tile.out_row);
            for (panel, sum) in sums.into_iter().enumerate() {
                let (used, out) = (used[panel], out.wrapping_add(WIDTH * panel));
                let sum = match tile.add {
                    true => _mm512_add_ps(_mm512_maskz_loadu_ps(used, out), sum),
                    false => sum,
                };
                _mm512_mask_storeu_ps(out, used, sum);
            }
        }
    }
}
