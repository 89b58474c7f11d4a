//! The kernels of ARM.

use std::arch::aarch64::{
    int8x8_t, uint32x4_t, vdup_n_s32, vdupq_n_s32, vdupq_n_u32, vget_high_s8, vget_low_s8, vld1q_s8,
    vld1q_u32, vmlal_s8, vmull_s8, vpadalq_s16, vpaddq_s32, vreinterpret_s8_s32, vst1q_s32, vst1q_u32,
};
use std::array::from_fn;

use super::tile::{Tile, TileSums};
use crate::gemm::mmla::{self, HALF, MmlaOperands, SmallProduct};
use crate::neon::{sdot, smmla};
use crate::packed::PANEL;
use crate::scratch::with_scratch;

/// Vectors of four columns in a panel.
const QUARTERS: usize = PANEL / 4;

/// Calls the kernel compiled for the given numbers of panels and rows.
macro_rules! with_shape {
    ($panels:ident, $rows:ident, $kernel:ident($tile:ident, $sums:ident): $($p:literal x $($r:literal)*,)*) => {
        match ($panels, $rows) {
            $($(($p, $r) => $kernel::<$r, $p>($tile, $sums),)*)*
            _ => unreachable!("{} rows of {} panels", $rows, $panels),
        }
    };
}

/// Writes the sums of a panel with instructions that every CPU of this architecture has.
///
/// Two products of bytes, none of which is larger than 127 · 128, are added in 16 bits.
pub(super) fn product(panels: usize, rows: usize, tile: &Tile<'_>, sums: &mut TileSums) {
    with_shape!(panels, rows, widening(tile, sums): 1 x 1 2 3 4,);
}

fn widening<const ROWS: usize, const PANELS: usize>(tile: &Tile<'_>, out: &mut TileSums) {
    const { assert!(PANELS == 1) };
    /// Vectors of four columns whose sums fit into the registers.
    const VECTORS: usize = 2;
    let (rows, [panel]) = (tile.rows(ROWS), tile.panels::<1>());
    for first in (0..QUARTERS).step_by(VECTORS) {
        let (mut left, mut right) = (rows, panel.wrapping_add(16 * first));
        // SAFETY: `rows` and `panels` have checked the operands, the rows are padded with zeros to an even
        // number of words, and `out` holds a tile.
        unsafe {
            let mut sums = [[[vdupq_n_s32(0); 2]; VECTORS]; ROWS];
            let mut add = |left: *const i8, first: *const i8, second: *const i8| {
                let words: [[int8x8_t; 2]; ROWS] = from_fn(|row| {
                    from_fn(|word| {
                        let word = left.wrapping_add(row * tile.stride + 4 * word).cast::<i32>();
                        vreinterpret_s8_s32(vdup_n_s32(word.read_unaligned()))
                    })
                });
                for vector in 0..VECTORS {
                    let b = [first, second].map(|line| vld1q_s8(line.wrapping_add(16 * vector)));
                    for half in 0..2 {
                        let b =
                            if half == 0 { b.map(|b| vget_low_s8(b)) } else { b.map(|b| vget_high_s8(b)) };
                        for (sums, a) in sums.iter_mut().zip(words) {
                            let sum = &mut sums[vector][half];
                            *sum = vpadalq_s16(*sum, vmlal_s8(vmull_s8(b[0], a[0]), b[1], a[1]));
                        }
                    }
                }
            };
            for _ in 0..tile.groups() / 2 {
                add(left, right, right.wrapping_add(4 * PANEL));
                left = left.wrapping_add(8);
                right = right.wrapping_add(2 * 4 * PANEL);
            }
            if tile.groups() % 2 == 1 {
                const ZERO: [i8; 16 * VECTORS] = [0; 16 * VECTORS];
                add(left, right, ZERO.as_ptr());
            }
            for (row, sums) in sums.into_iter().enumerate() {
                for (vector, [low, high]) in sums.into_iter().enumerate() {
                    let out = out.address().add(row * PANEL + 4 * (first + vector));
                    vst1q_s32(out, vpaddq_s32(low, high));
                }
            }
        }
    }
}

/// Writes the sums of a tile with `sdot`.
///
/// # Safety
/// The CPU has it.
#[target_feature(enable = "dotprod")]
pub(super) unsafe fn product_dotprod(panels: usize, rows: usize, tile: &Tile<'_>, sums: &mut TileSums) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        with_shape!(panels, rows, dotprod(tile, sums): 4 x 1, 2 x 2, 1 x 1 2 3 4 5 6,);
    }
}

/// # Safety
/// See [`product_dotprod`].
#[target_feature(enable = "dotprod")]
unsafe fn dotprod<const ROWS: usize, const PANELS: usize>(tile: &Tile<'_>, out: &mut TileSums) {
    let (mut left, mut right) = (tile.rows(ROWS), tile.panels::<PANELS>());
    let (mut ahead, prefetches) = (tile.ahead::<PANELS>(), tile.next.is_some());
    let out = out.address().cast::<u32>();
    // SAFETY: `rows` and `panels` have checked the operands, and `out` holds a tile.
    unsafe {
        let mut sums = [[[vdupq_n_u32(0); QUARTERS]; PANELS]; ROWS];
        for _ in 0..tile.groups() {
            if prefetches {
                ahead.prefetch();
            }
            for panel in 0..PANELS {
                let b: [uint32x4_t; QUARTERS] =
                    from_fn(|quarter| vld1q_u32(right[panel].cast::<u32>().add(4 * quarter)));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let a = left.add(row * tile.stride).cast::<f32>().read_unaligned();
                    for (sums, b) in sums[panel].iter_mut().zip(b) {
                        *sums = sdot(*sums, a, b);
                    }
                }
            }
            left = left.wrapping_add(4);
            right = right.map(|right| right.wrapping_add(4 * PANEL));
        }
        for (number, sums) in sums.as_flattened().as_flattened().iter().enumerate() {
            vst1q_u32(out.add(4 * number), *sums);
        }
    }
}

/// Writes the sums of a panel with `smmla`. The rows of the left operand are [`interleave`]d.
///
/// # Safety
/// The CPU has it.
#[target_feature(enable = "i8mm")]
pub(super) unsafe fn product_i8mm(rows: usize, tile: &Tile<'_>, sums: &mut TileSums) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        match rows.div_ceil(2) {
            1 => i8mm::<1, 2>(tile, sums),
            2 => i8mm::<2, 2>(tile, sums),
            3 => i8mm::<3, 1>(tile, sums),
            4 => i8mm::<4, 1>(tile, sums),
            _ => unreachable!("{rows} rows of a tile"),
        }
    }
}

/// # Safety
/// See [`product_i8mm`].
#[target_feature(enable = "i8mm")]
unsafe fn i8mm<const PAIRS: usize, const HALVES: usize>(tile: &Tile<'_>, out: &mut TileSums) {
    /// `smmla`
    struct Bytes;

    impl SmallProduct for Bytes {
        #[inline(always)]
        unsafe fn add(sums: uint32x4_t, left: uint32x4_t, right: uint32x4_t) -> uint32x4_t {
            // SAFETY: the caller upholds the contract.
            unsafe { smmla(sums, left, right) }
        }
    }

    let [right] = tile.panels::<1>();
    let operands = MmlaOperands {
        left: tile.rows(2 * PAIRS).cast(),
        left_pair: 2 * tile.stride / 4,
        left_step: 2 * mmla::LINES,
        right: right.cast(),
        lines: tile.groups(),
        next: tile.next.map(<*const i8>::cast),
    };
    let out = out.address().cast::<u32>();
    for first in (0..2).step_by(HALVES) {
        let part = MmlaOperands { right: operands.right.wrapping_add(HALF * first), ..operands };
        // SAFETY: `rows` and `panels` have checked the operands, rows are stored in pairs, and `out` holds a
        // tile.
        unsafe {
            let sums = match (first, part.next) {
                (0, Some(_)) => mmla::sums::<Bytes, PAIRS, HALVES, true>(&part),
                _ => mmla::sums::<Bytes, PAIRS, HALVES, false>(&part),
            };
            for (pair, sums) in sums.into_iter().enumerate() {
                for (half, sums) in sums.into_iter().enumerate() {
                    for (number, sums) in sums.into_iter().enumerate() {
                        let row = 2 * pair + number / 2;
                        let col = HALF * (first + half) + 4 * (number % 2);
                        vst1q_u32(out.add(row * PANEL + col), sums);
                    }
                }
            }
        }
    }
}

/// Brings two rows of `stride` bytes, a multiple of 16, into the order of `smmla`: eight bytes of the first,
/// eight of the second, and so on.
pub(super) fn interleave(rows: &mut [i8], stride: usize) {
    with_scratch(rows.len() / 4, |scratch| {
        let copy = of_numbers(scratch);
        copy.copy_from_slice(rows);
        let (first, second) = copy.split_at(stride);
        let eights = first.as_chunks::<8>().0.iter().zip(second.as_chunks::<8>().0);
        for (out, (first, second)) in rows.as_chunks_mut::<16>().0.iter_mut().zip(eights) {
            out[..8].copy_from_slice(first);
            out[8..].copy_from_slice(second);
        }
    });
}

/// The bytes of numbers.
fn of_numbers(numbers: &mut [f32]) -> &mut [i8] {
    // SAFETY: numbers and bytes have no padding, and every bit pattern is one of either.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), 4 * numbers.len()) }
}
