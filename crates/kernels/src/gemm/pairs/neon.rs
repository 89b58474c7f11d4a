//! The microkernels of ARM: 8 rows by half a panel with `bfmmla`, and a row by two panels with `bfdot`.
//!
//! Both add two products at a time to a sum, with the same bits. A sum starts from zero and covers `STEPS`
//! blocks before it is added to the output. Subnormal numbers are treated as zero.

use std::arch::aarch64::{
    uint32x4_t, vaddq_f32, vdupq_n_u32, vld1q_f32, vld1q_u32, vreinterpretq_f32_u32, vst1q_f32,
};
use std::array::from_fn;

use super::WIDTH;
use super::kernel::PairTile;
use crate::gemm::mmla::{self, HALF, MmlaOperands, SmallProduct};
use crate::neon::{bfdot, bfmmla};
use crate::prefetch::Prefetcher;

/// Words of a block.
const BLOCK: usize = WIDTH * WIDTH;

/// # Safety
/// The CPU has `bfmmla`. Each panel of `tile` has as many lines as it says; the output is writable for its
/// rows and columns.
#[target_feature(enable = "bf16")]
pub(super) unsafe fn multiply(tile: &PairTile<2, 2>) {
    for first in (0..tile.rows).step_by(8) {
        for panel in 0..tile.cols.div_ceil(WIDTH) {
            // SAFETY: the caller upholds the contract.
            unsafe {
                match (tile.rows - first).div_ceil(2) {
                    1 => rows::<1, 2>(tile, first, panel),
                    2 => rows::<2, 2>(tile, first, panel),
                    3 => rows::<3, 1>(tile, first, panel),
                    _ => rows::<4, 1>(tile, first, panel),
                }
            }
        }
    }
}

/// [`multiply`] for `PAIRS` pairs of rows from `first` on and one panel.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "bf16")]
unsafe fn rows<const PAIRS: usize, const HALVES: usize>(tile: &PairTile<2, 2>, first: usize, panel: usize) {
    /// `bfmmla`
    struct Pairs;

    impl SmallProduct for Pairs {
        #[inline(always)]
        unsafe fn add(sums: uint32x4_t, left: uint32x4_t, right: uint32x4_t) -> uint32x4_t {
            // SAFETY: the caller upholds the contract.
            unsafe { bfmmla(sums, left, right) }
        }
    }

    let operands = MmlaOperands {
        left: tile.left[first / WIDTH].cast::<u32>().wrapping_add(first % WIDTH * WIDTH),
        left_pair: 2 * WIDTH,
        left_step: BLOCK,
        right: tile.right[panel].cast(),
        lines: tile.lines,
        next: tile.next.filter(|_| first == 0).map(|next| next[panel].cast()),
    };
    for half in (0..2).step_by(HALVES) {
        let part = MmlaOperands { right: operands.right.wrapping_add(HALF * half), ..operands };
        // SAFETY: the caller guarantees the operands and the output.
        unsafe {
            let sums = match (half, part.next) {
                (0, Some(_)) => mmla::sums::<Pairs, PAIRS, HALVES, true>(&part),
                _ => mmla::sums::<Pairs, PAIRS, HALVES, false>(&part),
            };
            for (pair, sums) in sums.into_iter().enumerate() {
                for (number, sums) in sums.into_iter().flatten().enumerate() {
                    let row = first + 2 * pair + number % 4 / 2;
                    let col = WIDTH * panel + HALF * (half + number / 4) + 4 * (number % 2);
                    store(tile, row, col, sums);
                }
            }
        }
    }
}

/// [`multiply`] for one row.
///
/// # Safety
/// See [`multiply`].
#[target_feature(enable = "bf16")]
pub(super) unsafe fn multiply_row(tile: &PairTile<1, 2>) {
    let mut left = tile.left[0].cast::<f32>();
    let mut right = tile.right.map(|panel| panel.cast::<u32>());
    let mut ahead = Prefetcher::new(tile.next.unwrap_or(tile.right));
    // SAFETY: all addresses lie within the panels that the caller guarantees; missing lines are not read.
    unsafe {
        let zero = vdupq_n_u32(0);
        let mut sums = [[zero; 4]; 2];
        let mut add = |a: f32, line: [[uint32x4_t; 4]; 2]| {
            for (sums, words) in sums.as_flattened_mut().iter_mut().zip(line.as_flattened()) {
                *sums = bfdot(*sums, a, *words);
            }
        };
        let line = |right: [*const u32; 2], number: usize| -> [[uint32x4_t; 4]; 2] {
            right.map(|panel| from_fn(|quarter| vld1q_u32(panel.wrapping_add(WIDTH * number + 4 * quarter))))
        };
        // Word i of the first row of two.
        let word = |left: *const f32, i: usize| *left.wrapping_add(i / 2 * 4 + i % 2);
        for _ in 0..tile.lines / WIDTH {
            for number in 0..WIDTH {
                if tile.next.is_some() {
                    ahead.prefetch();
                }
                add(word(left, number), line(right, number));
            }
            left = left.wrapping_add(BLOCK);
            right = right.map(|panel| panel.wrapping_add(BLOCK));
        }
        let rest = tile.lines % WIDTH;
        if rest > 0 {
            for number in 0..WIDTH {
                let line = if number < rest { line(right, number) } else { [[zero; 4]; 2] };
                add(word(left, number), line);
            }
        }
        for (number, sums) in sums.into_iter().flatten().enumerate() {
            store(tile, 0, 4 * number, sums);
        }
    }
}

/// Stores the sums of four columns of a row, as far as the tile has them.
///
/// # Safety
/// The output is writable for the rows and columns of the tile.
#[inline(always)]
unsafe fn store<const LEFT: usize, const RIGHT: usize>(
    tile: &PairTile<LEFT, RIGHT>,
    row: usize,
    col: usize,
    sums: uint32x4_t,
) {
    let cols = tile.cols.saturating_sub(col);
    if row >= tile.rows || cols == 0 {
        return;
    }
    // SAFETY: the caller guarantees this part of the output.
    unsafe {
        let out = tile.out.add(row * tile.out_row + col);
        let sums = vreinterpretq_f32_u32(sums);
        if cols >= 4 {
            vst1q_f32(out, if tile.add { vaddq_f32(vld1q_f32(out), sums) } else { sums });
            return;
        }
        let mut values = [0.0; 4];
        vst1q_f32(values.as_mut_ptr(), sums);
        for (col, value) in values.into_iter().enumerate().take(cols) {
            let out = out.add(col);
            *out = if tile.add { *out + value } else { value };
        }
    }
}
