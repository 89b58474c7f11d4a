//! Products of bfloat16 by instructions that multiply and add pairs of them.
//!
//! Both operands are rounded and packed once, whole, before the tasks start. The matrix unit multiplies so fast that an
//! element which each task packed for itself would cost as much as its products, and the packed operands have half the
//! bytes of the originals. Depths, rows and columns are filled up with zeros to whole blocks, so a row of a small product
//! goes through the same instructions as that row of a large one.

mod amx;
mod avx512;
mod pack;

use super::isa::PairIsa;
use super::task::{Grain, for_each_rectangle, wanted_tasks};
use super::{Accumulate, Epilogue, View, finish};
use crate::scratch::with_scratch;
use crate::tile::TileMut;
use pack::Side;

/// Depths in a block.
const DEPTH: usize = 32;
/// Rows of the left operand, or columns of the right one, in a block.
const WIDTH: usize = 16;
/// Rows and columns of a register tile: two blocks by two.
const TILE: usize = 2 * WIDTH;
/// Blocks along the depth that are summed up before the next register tile. Two panels of the right operand take
/// 2 · 16 KiB then and stay in the first-level cache while the left operand streams by.
const STEPS: usize = 16;
/// The largest task. Of each depth of `STEPS` blocks its operands take 256 KiB and 512 KiB, its output takes 512 KiB:
/// together they stay in a second-level cache of 2 MiB.
const TASK_ROWS: usize = 256;
const TASK_COLS: usize = 512;
/// Multiply-adds that are worth a task of their own.
const TASK_WORK: usize = 1 << 22;

/// 16 lines of 32 numbers, which is one tile register.
///
/// In the left operand, line i holds row i at 32 depths. In the right operand, line i holds the depths 2i and 2i + 1 of
/// 16 columns, one column after the other. As pairs, one is the transpose of the other.
#[repr(C, align(64))]
struct Block([[u16; DEPTH]; WIDTH]);

/// Two panels of each operand, from some depth on, and where their product goes.
struct Tile {
    left: [*const Block; 2],
    right: [*const Block; 2],
    /// Blocks in each.
    steps: usize,
    out: *mut f32,
    out_row: usize,
    /// The part of the product that is wanted, at most `TILE`.
    rows: usize,
    cols: usize,
    add: bool,
}

/// The packed operands: panels of `steps` blocks each.
#[derive(Clone, Copy)]
struct Packed<'a> {
    left: &'a [Block],
    right: &'a [Block],
    steps: usize,
}

/// `out` `[m, n]` from `a` `[m, k]` and `b` `[k, n]`, none of them empty, on several threads where that pays.
pub(super) fn product(
    isa: PairIsa,
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    let steps = k.div_ceil(DEPTH);
    let left_len = m.div_ceil(WIDTH) * steps;
    with_blocks(left_len + n.div_ceil(WIDTH) * steps, |blocks| {
        let (left, right) = blocks.split_at_mut(left_len);
        pack::pack(Side::Left, a, m, k, left);
        pack::pack(Side::Right, b.t(), n, k, right);
        let (left, right) = (&*left, &*right);
        let wanted = wanted_tasks(m * n * k, TASK_WORK);
        let grain = Grain {
            rows: TASK_ROWS,
            cols: TASK_COLS,
            min_rows: 2 * TILE,
            min_cols: 2 * TILE,
            tile_rows: TILE,
            tile_cols: TILE,
        };
        let task = grain.rectangle(m, n, wanted);
        for_each_rectangle(
            task,
            wanted > 1,
            out,
            epilogue,
            |row, col, part, epilogue| {
                let packed = Packed {
                    left: &left[row / WIDTH * steps..],
                    right: &right[col / WIDTH * steps..],
                    steps,
                };
                rectangle(isa, packed, part, accumulate);
                finish(part, 0..part.rows(), epilogue);
            },
        );
    });
}

/// Lends `work` as many blocks that hold anything.
fn with_blocks<R>(len: usize, work: impl FnOnce(&mut [Block]) -> R) -> R {
    let (size, align) = (size_of::<Block>() / 4, align_of::<Block>() / 4);
    with_scratch(len * size + align, |scratch| {
        // SAFETY: a block may hold any bits.
        let (_, blocks, _) = unsafe { scratch.align_to_mut::<Block>() };
        work(&mut blocks[..len])
    })
}

/// One task's part of the output, without the epilogue.
fn rectangle(isa: PairIsa, packed: Packed<'_>, out: &mut TileMut<'_>, accumulate: Accumulate) {
    let (m, n, steps) = (out.rows(), out.cols(), packed.steps);
    let unit = (isa == PairIsa::Amx).then(|| {
        // SAFETY: the CPU and the system have AMX.
        unsafe { amx::Configured::new() }
    });
    for start in (0..steps).step_by(STEPS) {
        // The second panel of a tile may be missing: then the first one is multiplied again, for nothing.
        let two = |blocks: &[Block], panel: usize, panels: usize| {
            [panel, (panel + 1).min(panels - 1)]
                .map(|p| &raw const blocks[p * steps..][..steps][start])
        };
        for col in (0..n).step_by(TILE) {
            let right = two(packed.right, col / WIDTH, n.div_ceil(WIDTH));
            for row in (0..m).step_by(TILE) {
                let tile = Tile {
                    left: two(packed.left, row / WIDTH, m.div_ceil(WIDTH)),
                    right,
                    steps: STEPS.min(steps - start),
                    out: out.address(row, col),
                    out_row: out.row_stride(),
                    rows: TILE.min(m - row),
                    cols: TILE.min(n - col),
                    add: start > 0 || accumulate == Accumulate::Add,
                };
                // SAFETY: each panel was found to have `steps` blocks from `start` on, the wanted part lies in `out`,
                // and the caller chose `isa` for this CPU.
                unsafe {
                    match &unit {
                        Some(unit) => unit.multiply(&tile),
                        None => avx512::multiply(&tile),
                    }
                }
            }
        }
    }
}
