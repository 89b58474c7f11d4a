//! The kernel for WebAssembly.

use std::arch::wasm32::{
    i16x8_extend_high_i8x16, i16x8_extend_low_i8x16, i32x4_add, i32x4_dot_i16x8, i32x4_shuffle, i32x4_splat,
    v128, v128_load, v128_load32_splat, v128_store,
};
use std::array::from_fn;

use super::tile::{Tile, TileSums};
use crate::packed::PANEL;

/// Vectors of four columns in a panel.
const QUARTERS: usize = PANEL / 4;

/// Writes the sums of a panel. Numbers are widened to 16 bits, of which an instruction multiplies eight pairs
/// and adds neighbors, so that a vector has two sums for each of two columns.
pub(super) fn product(rows: usize, tile: &Tile<'_>, sums: &mut TileSums) {
    match rows {
        1 => widening::<1, 4>(tile, sums),
        2 => widening::<2, 2>(tile, sums),
        3 => widening::<3, 1>(tile, sums),
        4 => widening::<4, 1>(tile, sums),
        _ => unreachable!("{rows} rows of a tile"),
    }
}

/// `VECTORS` are those of four columns whose sums fit into 16 registers.
fn widening<const ROWS: usize, const VECTORS: usize>(tile: &Tile<'_>, out: &mut TileSums) {
    let (rows, [panel]) = (tile.rows(ROWS), tile.panels::<1>());
    for first in (0..QUARTERS).step_by(VECTORS) {
        let (mut left, mut right) = (rows, panel.wrapping_add(16 * first));
        let mut sums: [[[v128; 2]; VECTORS]; ROWS] = [[[i32x4_splat(0); 2]; VECTORS]; ROWS];
        for _ in 0..tile.groups() {
            // SAFETY: `rows` and `panels` have checked the operands.
            let words: [v128; ROWS] = from_fn(|row| unsafe {
                i16x8_extend_low_i8x16(v128_load32_splat(left.wrapping_add(row * tile.stride).cast()))
            });
            for vector in 0..VECTORS {
                // SAFETY: see above.
                let four = unsafe { v128_load(right.wrapping_add(16 * vector).cast()) };
                let halves = [i16x8_extend_low_i8x16(four), i16x8_extend_high_i8x16(four)];
                for (sums, word) in sums.iter_mut().zip(words) {
                    for (sum, half) in sums[vector].iter_mut().zip(halves) {
                        *sum = i32x4_add(*sum, i32x4_dot_i16x8(half, word));
                    }
                }
            }
            left = left.wrapping_add(4);
            right = right.wrapping_add(4 * PANEL);
        }
        for (row, sums) in sums.into_iter().enumerate() {
            for (vector, [low, high]) in sums.into_iter().enumerate() {
                let even = i32x4_shuffle::<0, 2, 4, 6>(low, high);
                let odd = i32x4_shuffle::<1, 3, 5, 7>(low, high);
                let to = out.address().wrapping_add(row * PANEL + 4 * (first + vector));
                // SAFETY: `out` holds a tile.
                unsafe { v128_store(to.cast(), i32x4_add(even, odd)) }
            }
        }
    }
}
