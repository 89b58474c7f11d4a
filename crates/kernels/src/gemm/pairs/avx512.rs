//! The AVX-512 microkernel: 8 rows by two vectors of columns, or up to two rows by eight.
//!
//! `vdpbf16ps` adds two products to each lane. A sum starts from zero and covers `STEPS` blocks before it is
//! added to the output. Subnormal numbers are treated as zero.

use std::arch::x86_64::{
    __m512bh, __m512i, _mm512_add_ps, _mm512_dpbf16_ps, _mm512_loadu_si512, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_setzero_ps, _mm512_setzero_si512,
};
use std::array::from_fn;
use std::mem::transmute;

use super::WIDTH;
use super::kernel::PairTile;
use crate::prefetch::Prefetcher;

/// Rows of a register tile.
const ROWS: usize = 8;
/// Panels of a wide tile: enough independent sums of a row that none waits for another.
pub(super) const WIDE: usize = 8;
/// The most rows of a wide tile.
pub(super) const WIDE_ROWS: usize = 2;

/// # Safety
/// The CPU has AVX-512F and AVX-512 BF16. Each panel of `tile` has as many lines as it says; the output is
/// writable for its rows and columns.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn multiply(tile: &PairTile<2, 2>) {
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

/// [`multiply`] for at most [`WIDE_ROWS`] rows, and panels in the caches: eight panels from RAM are slower
/// than two prefetched ones.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn multiply_wide(tile: &PairTile<1, WIDE>) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        match tile.rows {
            1 => multiply_panels::<1, WIDE, 1, false>(tile, 0),
            2 => multiply_panels::<2, WIDE, 1, false>(tile, 0),
            rows => unreachable!("{rows} rows of a wide tile"),
        }
    }
}

/// [`multiply`] for at most `N` rows from `first` on.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn multiply_rows<const N: usize>(tile: &PairTile<2, 2>, first: usize) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        if first == 0 && tile.next.is_some() {
            multiply_panels::<N, 2, 2, true>(tile, first)
        } else {
            multiply_panels::<N, 2, 2, false>(tile, first)
        }
    }
}

/// [`multiply`] for at most `N` rows from `first` on and `P` panels. The next panels are prefetched if
/// `PREFETCH`.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn multiply_panels<const N: usize, const P: usize, const L: usize, const PREFETCH: bool>(
    tile: &PairTile<L, P>,
    first: usize,
) {
    let mut ahead = Prefetcher::new(tile.next.unwrap_or(tile.right));
    let pair = |x: __m512i| -> __m512bh {
        // SAFETY: both types are 512 bits.
        unsafe { transmute(x) }
    };
    let mut sums = [[_mm512_setzero_ps(); P]; N];
    let mut right = tile.right.map(|line| line.cast::<__m512i>());
    let mut left = tile.left[first / WIDTH].cast::<i32>();
    // SAFETY: all addresses lie within the panels and the output that the caller guarantees; masked lanes are
    // not accessed.
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
                if PREFETCH {
                    ahead.prefetch();
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
                let b = right.map(|right| {
                    if line < rest { _mm512_loadu_si512(right.add(line)) } else { _mm512_setzero_si512() }
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
                // There may be no memory: an access without lanes is then slow.
                if used == 0 {
                    break;
                }
                let sum = if tile.add { _mm512_add_ps(_mm512_maskz_loadu_ps(used, out), sum) } else { sum };
                _mm512_mask_storeu_ps(out, used, sum);
            }
        }
    }
}
