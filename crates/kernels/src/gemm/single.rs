//! Products of `f32`: packed, blocked, and computed in register tiles.
//!
//! An output element is the sum over blocks of `KC` of the products' running sum in each block, from the first to the
//! last.

use super::isa::Isa;
use super::task::{Grain, for_each_rectangle, wanted_tasks};
use super::{Accumulate, Epilogue, View, finish, micro, pack};
use crate::scratch::with_scratch;
use crate::tile::TileMut;

/// Products that are summed up in registers before they are added to the output.
pub(super) const KC: usize = 256;
/// Rows of `a` that stay in the second-level cache; a multiple of every tile's rows.
const MC: usize = 144;
/// Largest rectangle of the output that is one task.
const TASK_ROWS: usize = 4 * MC;
const TASK_COLS: usize = 512;
/// Smallest one.
const MIN_TASK_ROWS: usize = 48;
const MIN_TASK_COLS: usize = 64;
/// Multiply-adds that are worth a task of their own.
const TASK_WORK: usize = 1 << 18;
/// Multiply-adds that take as long as packing one element of `b`.
const PACK_WORK: usize = 8;

/// `out` `[m, n]` from `a` `[m, k]` and `b` `[k, n]`, none of them empty, on several threads where that pays.
pub(super) fn product(
    isa: Isa,
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    let wanted = wanted_tasks((m + PACK_WORK) * n * k, TASK_WORK);
    if wanted <= 2 {
        return rectangle(isa, k, a, b, out, accumulate, epilogue);
    }
    let grain = Grain {
        rows: TASK_ROWS,
        cols: TASK_COLS,
        min_rows: MIN_TASK_ROWS,
        min_cols: MIN_TASK_COLS,
        tile_rows: isa.mr(),
        tile_cols: isa.nr(),
        slices: false,
    };
    let task = grain.rectangle(m, n, wanted);
    for_each_rectangle(task, true, out, epilogue, |row, col, part, epilogue| {
        let (a, b) = (a.from(row, 0), b.from(0, col));
        rectangle(isa, k, a, b, part, accumulate, epilogue);
    });
}

/// [`product`] on the calling thread.
pub(super) fn rectangle(
    isa: Isa,
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    // Columns are taken in turns so that the packed part of `b` stays bounded.
    let turn = (out.rows(), TASK_COLS);
    for_each_rectangle(turn, false, out, epilogue, |_, col, part, epilogue| {
        column_block(isa, k, a, b.from(0, col), part, accumulate, epilogue);
    });
}

/// [`rectangle`] for at most `TASK_COLS` columns, or more if memory is no matter.
pub(super) fn column_block(
    isa: Isa,
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    let block = k.min(KC);
    let b_len = n.next_multiple_of(isa.nr()) * block;
    let a_len = if a.col_stride == 1 { 0 } else { MC * block };
    with_scratch(b_len + a_len, |scratch| {
        let (packed_b, packed_a) = scratch.split_at_mut(b_len);
        for start in (0..k).step_by(KC) {
            let depth = KC.min(k - start);
            pack::pack_b(isa, b.from(start, 0), depth, n, packed_b);
            let add = start > 0 || accumulate == Accumulate::Add;
            for row in (0..m).step_by(MC) {
                let rows = MC.min(m - row);
                let a = a.from(row, start);
                let left = if a.col_stride == 1 {
                    micro::Left {
                        data: a.data,
                        panel: isa.mr() * a.row_stride,
                        row: a.row_stride,
                        col: 1,
                    }
                } else {
                    pack::pack_a(isa, a, rows, depth, packed_a);
                    micro::Left {
                        data: packed_a,
                        panel: isa.mr() * depth,
                        row: 1,
                        col: isa.mr(),
                    }
                };
                micro::block_product(isa, depth, left, packed_b, out, row..row + rows, add);
                if start + depth == k {
                    finish(out, row..row + rows, epilogue);
                }
            }
        }
    });
}
