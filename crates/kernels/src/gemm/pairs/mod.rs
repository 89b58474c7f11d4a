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

/// A packed operand: for each `STEPS` blocks of depth, or what is left, all panels one after the other.
#[derive(Clone, Copy)]
struct Packed<'a> {
    blocks: &'a [Block],
    panels: usize,
}

impl Packed<'_> {
    /// Two panels at the `steps` blocks of depth from `start` on. Where there is no second one, the first one stands in:
    /// what is made of it is not wanted.
    fn two_panels(&self, start: usize, steps: usize, panel: usize) -> [*const Block; 2] {
        let panels = &self.blocks[start * self.panels..][..self.panels * steps];
        [panel, (panel + 1).min(self.panels - 1)].map(|panel| panels[panel * steps..].as_ptr())
    }
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
    let (left_panels, right_panels) = (m.div_ceil(WIDTH), n.div_ceil(WIDTH));
    let task_size = Grain {
        rows: TASK_ROWS,
        cols: TASK_COLS,
        min_rows: 2 * TILE,
        min_cols: 2 * TILE,
        tile_rows: TILE,
        tile_cols: TILE,
    };
    with_blocks((left_panels + right_panels) * steps, |blocks| {
        let (left, right) = blocks.split_at_mut(left_panels * steps);
        rayon::join(
            || pack::pack(Side::Left, a, m, k, left),
            || pack::pack(Side::Right, b.t(), n, k, right),
        );
        let left = Packed {
            blocks: left,
            panels: left_panels,
        };
        let right = Packed {
            blocks: right,
            panels: right_panels,
        };
        let wanted = wanted_tasks(m * n * k, TASK_WORK);
        let task = task_size.rectangle(m, n, wanted);
        for_each_rectangle(
            task,
            wanted > 1,
            out,
            epilogue,
            |row, col, part, epilogue| {
                let first = (row / WIDTH, col / WIDTH);
                rectangle(isa, steps, left, right, first, part, accumulate);
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

/// One task's part of the output, without the epilogue: from the `first` panels on.
fn rectangle(
    isa: PairIsa,
    all_steps: usize,
    left: Packed<'_>,
    right: Packed<'_>,
    first: (usize, usize),
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
) {
    let (m, n) = (out.rows(), out.cols());
    let unit = (isa == PairIsa::Amx).then(|| {
        // SAFETY: the CPU and the system have AMX.
        unsafe { amx::Configured::new() }
    });
    for start in (0..all_steps).step_by(STEPS) {
        let steps = STEPS.min(all_steps - start);
        for col in (0..n).step_by(TILE) {
            let right = right.two_panels(start, steps, first.1 + col / WIDTH);
            for row in (0..m).step_by(TILE) {
                let tile = Tile {
                    left: left.two_panels(start, steps, first.0 + row / WIDTH),
                    right,
                    steps,
                    out: out.address(row, col),
                    out_row: out.row_stride(),
                    rows: TILE.min(m - row),
                    cols: TILE.min(n - col),
                    add: start > 0 || accumulate == Accumulate::Add,
                };
                // SAFETY: each panel has `steps` blocks, the wanted part lies in `out`, and the caller chose `isa` for
                // this CPU.
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

#[cfg(test)]
mod tests;
