//! The AVX-512 microkernel: 8 rows by two vectors of columns.
//!
//! `vdpbf16ps` adds two products to each lane. A sum starts from zero and covers `STEPS` blocks before it is added to
//! the output. Subnormal numbers are treated as zero.

use std::arch::x86_64::{
    __m512bh, __m512i, _mm512_add_ps, _mm512_dpbf16_ps, _mm512_load_si512, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_setzero_ps,
};
use std::mem::transmute;

use super::{Tile, WIDTH};

/// Rows of a register tile.
const ROWS: usize = 8;

/// # Safety
/// The CPU has AVX-512F and AVX-512 BF16. Each panel of `tile` has `steps` blocks; the output is writable for its rows
/// and columns.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn multiply(tile: &Tile) {
    for first in (0..tile.rows).step_by(ROWS) {
        // SAFETY: the caller upholds the contract.
        unsafe { multiply_rows(tile, first) }
    }
}

/// [`multiply`] for at most `ROWS` rows from `first` on.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn multiply_rows(tile: &Tile, first: usize) {
    let pair = |x: __m512i| -> __m512bh {
        // SAFETY: both types are 512 bits.
        unsafe { transmute(x) }
    };
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    let [mut right0, mut right1] = tile.right.map(|block| block.cast::<__m512i>());
    let mut left = tile.left[first / WIDTH].cast::<i32>();
    // SAFETY: all addresses lie within the blocks and the output that the caller guarantees; masked lanes are not
    // accessed.
    unsafe {
        left = left.add(first % WIDTH * WIDTH);
        for _ in 0..tile.steps {
            for line in 0..WIDTH {
                let b0 = pair(_mm512_load_si512(right0.add(line)));
                let b1 = pair(_mm512_load_si512(right1.add(line)));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let a = pair(_mm512_set1_epi32(*left.add(row * WIDTH + line)));
                    sums[0] = _mm512_dpbf16_ps(sums[0], a, b0);
                    sums[1] = _mm512_dpbf16_ps(sums[1], a, b1);
                }
            }
            left = left.wrapping_add(WIDTH * WIDTH);
            (right0, right1) = (right0.add(WIDTH), right1.add(WIDTH));
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
