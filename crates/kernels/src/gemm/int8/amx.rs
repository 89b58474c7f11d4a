//! The AMX kernel: `tdpbssd` adds 64 products to each of 16 × 16 sums.

use super::tile::{Tile, TileSums};
use super::{DEPTH, ROWS};
use crate::gemm::amx::{AmxOperands, AmxSession, LINE, LINES, OutputTiles, TILE};

/// Zero-padded copies of the last, incomplete tiles of panels.
#[repr(C, align(64))]
struct Tails<const P: usize>([[i8; TILE]; P]);

/// Writes the sums: 16 rows by four panels or 32 rows by two.
pub(super) fn product(unit: &AmxSession, panels: usize, rows: usize, tile: &Tile<'_>, sums: &mut TileSums) {
    // SAFETY: the tile has at least one row; rows are stored in multiples of `ROWS`, which the caller of the
    // kernels has checked; `sums` holds all sums of a shape.
    unsafe {
        match panels {
            4 => {
                let left = [tile.rows(ROWS)];
                with_tails(tile, sums, left, |operands, out| unit.wide(operands, out));
            }
            2 => {
                let second = if rows > ROWS { ROWS } else { 0 };
                let left = tile.rows(second + ROWS);
                let left = [left, left.wrapping_add(second * tile.stride)];
                with_tails(tile, sums, left, |operands, out| unit.square(operands, out));
            }
            _ => unreachable!("{panels} panels"),
        }
    }
}

/// Calls `multiply` for all complete tiles along the depth, and for the incomplete one.
fn with_tails<const L: usize, const R: usize>(
    tile: &Tile<'_>,
    sums: &mut TileSums,
    left: [*const i8; L],
    multiply: impl Fn(&AmxOperands<L, R>, &OutputTiles),
) {
    let mut out = OutputTiles { address: sums.address().cast(), row: R * LINE, add: false };
    let (steps, rest) = (tile.groups() / LINES, tile.groups() % LINES);
    let panels = tile.panels::<R>();
    let mut operands = AmxOperands {
        left: left.map(<*const i8>::cast),
        left_line: tile.stride,
        left_step: DEPTH,
        right: panels.map(<*const i8>::cast),
        steps,
    };
    if steps > 0 {
        multiply(&operands, &out);
        out.add = true;
    }
    if rest > 0 {
        let mut tails = Tails([[0; TILE]; R]);
        let last = tile.right.len() / tile.panel - 1;
        for (number, tail) in tails.0.iter_mut().enumerate() {
            let panel = &tile.right[number.min(last) * tile.panel..][..tile.panel];
            tail[..rest * LINE].copy_from_slice(&panel[steps * TILE..]);
        }
        operands.left = operands.left.map(|left| left.wrapping_add(steps * DEPTH));
        operands.right = tails.0.each_ref().map(|tail| tail.as_ptr().cast());
        operands.steps = 1;
        multiply(&operands, &out);
    }
}
