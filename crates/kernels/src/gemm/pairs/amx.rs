//! Products on the matrix unit: `tdpbf16ps` adds 32 products to each element of a tile, in an order fixed by
//! the hardware.

use super::kernel::PairTile;
use super::{DEPTH, WIDTH};
use crate::gemm::amx::{AmxOperands, LINE, LINES, OutputTiles, TILE};

/// Buffer for all sums of a tile of which only a part is wanted.
#[repr(C, align(64))]
struct SumsBuffer([f32; 4 * WIDTH * WIDTH]);

/// Zero-padded copies of the last, incomplete blocks of panels.
#[repr(C, align(64))]
struct Tails<const N: usize>([[u16; WIDTH * DEPTH]; N]);

/// Computes a tile of four blocks using `multiply_blocks`, which multiplies complete blocks.
///
/// # Safety
/// Each panel of `tile` has as many lines as it says; the output is writable for its rows and columns.
pub(super) unsafe fn multiply<const L: usize, const R: usize>(
    tile: &PairTile<L, R>,
    multiply_blocks: impl Fn(&AmxOperands<L, R>, &OutputTiles),
) {
    const { assert!(L * R == 4) };
    if tile.rows == L * WIDTH && tile.cols == R * WIDTH {
        let out =
            OutputTiles { address: tile.out.cast(), row: tile.out_row * size_of::<f32>(), add: tile.add };
        // SAFETY: the whole tile lies in the output.
        return unsafe { multiply_into(tile, out, multiply_blocks) };
    }
    let mut buffer = SumsBuffer([0.0; 4 * WIDTH * WIDTH]);
    // SAFETY: the output is writable for the tile's rows and columns.
    let row_of =
        |row: usize| unsafe { std::slice::from_raw_parts_mut(tile.out.add(row * tile.out_row), tile.cols) };
    if tile.add {
        for (row, sums) in buffer.0.chunks_mut(R * WIDTH).enumerate().take(tile.rows) {
            sums[..tile.cols].copy_from_slice(row_of(row));
        }
    }
    let out = OutputTiles { address: buffer.0.as_mut_ptr().cast(), row: R * LINE, add: tile.add };
    // SAFETY: `buffer` holds a whole tile.
    unsafe { multiply_into(tile, out, multiply_blocks) }
    for (row, sums) in buffer.0.chunks(R * WIDTH).enumerate().take(tile.rows) {
        row_of(row).copy_from_slice(&sums[..tile.cols]);
    }
}

/// # Safety
/// See [`multiply`], with a whole tile `out`.
unsafe fn multiply_into<const L: usize, const R: usize>(
    tile: &PairTile<L, R>,
    mut out: OutputTiles,
    multiply_blocks: impl Fn(&AmxOperands<L, R>, &OutputTiles),
) {
    let (steps, rest) = (tile.lines / LINES, tile.lines % LINES);
    let mut operands = AmxOperands {
        left: tile.left.map(<*const u16>::cast),
        left_line: LINE,
        left_step: TILE,
        right: tile.right.map(<*const u16>::cast::<u8>),
        steps,
    };
    if steps > 0 {
        multiply_blocks(&operands, &out);
        out.add = true;
    }
    if rest > 0 {
        let mut tails = Tails([[0; WIDTH * DEPTH]; R]);
        for (tail, panel) in tails.0.iter_mut().zip(tile.right) {
            // SAFETY: the panel has `rest` lines after its complete blocks.
            let lines = unsafe { std::slice::from_raw_parts(panel.add(steps * WIDTH * DEPTH), rest * DEPTH) };
            tail[..rest * DEPTH].copy_from_slice(lines);
        }
        operands.left = operands.left.map(|left| left.wrapping_add(steps * TILE));
        operands.right = tails.0.each_ref().map(|tail| tail.as_ptr().cast());
        operands.steps = 1;
        multiply_blocks(&operands, &out);
    }
}
