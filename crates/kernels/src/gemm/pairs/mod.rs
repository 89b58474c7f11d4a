//! Bfloat16 products with instructions that multiply and add pairs of numbers.
//!
//! AMX multiplies so fast that packing an element costs as much as about a hundred products. Therefore no
//! element is packed twice: an operand whose parts are shared by several tasks is packed completely before
//! they start, and other operands are packed part by part by the task that uses them, which then finds them
//! in its L2 cache. Depths, rows and columns are zero-padded to whole blocks, so a row of a small product
//! goes through the same instructions as that row of a large one.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_block;
#[cfg(not(target_arch = "x86_64"))]
mod block;
mod kernel;
#[cfg(target_arch = "aarch64")]
mod neon;
mod operand;
mod pack;

use super::isa::PairIsa;
use super::task::{Grain, for_each_rectangle, wanted_tasks};
use super::{Epilogue, Product, View};
use crate::area::area;
use crate::packed::PackedBf16;
use crate::parallel::is_large;
use crate::scratch::with_scratch;
use crate::tile::TileMut;
use kernel::PairKernel;
use operand::{Operand, OperandPart};
pub(super) use pack::OperandSide;

/// Depth of a block.
const DEPTH: usize = 32;
/// Rows of the left operand, or columns of the right one, in a block.
const WIDTH: usize = 16;
/// Rows and columns of a register tile: two blocks by two.
const TILE: usize = 2 * WIDTH;
/// Blocks along the depth that are processed before the next register tile. Two panels of the right operand
/// then take 2 · 16 KiB and stay in the L1 cache while the left operand streams by.
const STEPS: usize = 16;
/// The largest task. For each depth of `STEPS` blocks its operands take 256 KiB and 512 KiB, and its output
/// 512 KiB: together they fit into an L2 cache of 2 MiB.
const TASK_ROWS: usize = 256;
const TASK_COLS: usize = 512;
/// Minimum number of multiply-adds per task.
const TASK_WORK: usize = 1 << 22;

/// 16 lines of 32 elements, the size of one tile register of AMX.
///
/// In the left operand, line i holds row i at 32 depths; on ARM, lines 2i and 2i + 1 hold rows 2i and 2i + 1,
/// four depths of each in turn. In the right operand, line i holds depths 2i and 2i + 1 of 16 columns, one
/// column after the other. Viewed as a matrix of pairs, one is the transpose of the other, but for that order
/// on ARM.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct PairBlock([[u16; DEPTH]; WIDTH]);

/// An operand of a product.
#[derive(Clone, Copy)]
pub(super) enum PairsOperand<'a> {
    /// Packed for this product.
    Plain(View<'a>),
    /// Packed before, by [`with_packed`].
    Packed(&'a [PairBlock]),
}

/// Computes `out`, on several threads if that is faster.
pub(super) fn product(
    isa: PairIsa,
    product: &Product<'_, PairsOperand<'_>, PairsOperand<'_>>,
    out: &mut TileMut<'_>,
) {
    if product.write_empty(out) {
        return;
    }
    let Product { k, a, b, .. } = *product;
    let (m, n) = (out.rows(), out.cols());
    let grain = Grain {
        rows: TASK_ROWS,
        cols: TASK_COLS,
        min_rows: 2 * TILE,
        min_cols: 2 * TILE,
        tile_rows: TILE,
        tile_cols: TILE,
        slices: true,
    };
    let wanted = wanted_tasks(area(m, n).saturating_mul(k), TASK_WORK);
    let (rows, cols) = grain.rectangle(m, n, wanted);
    let left = match a {
        PairsOperand::Plain(a) => Operand::new(OperandSide::Left, a, m, k, n > cols),
        PairsOperand::Packed(blocks) => Operand::packed(OperandSide::Left, blocks, m, k),
    };
    let right = match b {
        PairsOperand::Plain(b) => Operand::new(OperandSide::Right, b.t(), n, k, m > rows),
        PairsOperand::Packed(blocks) => Operand::packed(OperandSide::Right, blocks, n, k),
    };
    with_blocks(left.shared_len() + right.shared_len(), |blocks| {
        let (left_blocks, right_blocks) = blocks.split_at_mut(left.shared_len());
        if wanted > 1 {
            rayon::join(|| left.pack_shared(left_blocks), || right.pack_shared(right_blocks));
        } else {
            left.pack_shared(left_blocks);
            right.pack_shared(right_blocks);
        }
        let (left_blocks, right_blocks) = (&*left_blocks, &*right_blocks);
        for_each_rectangle((rows, cols), wanted > 1, out, |row, col, part| {
            let left = left.part(left_blocks, row, part.rows());
            let right = right.part(right_blocks, col, part.cols());
            let epilogue = product.epilogue.from(col);
            rectangle(isa, &product.with(left, right).then(epilogue), part);
        });
    });
}

/// Calls `work` with `len` scratch blocks of unspecified contents.
fn with_blocks<R>(len: usize, work: impl FnOnce(&mut [PairBlock]) -> R) -> R {
    let (size, align) = (size_of::<PairBlock>() / 4, align_of::<PairBlock>() / 4);
    with_scratch(len * size + align, |scratch| {
        // SAFETY: every bit pattern is a valid block.
        let (_, blocks, _) = unsafe { scratch.align_to_mut::<PairBlock>() };
        work(&mut blocks[..len])
    })
}

/// The number of blocks of a packed operand `[count, k]`.
pub(crate) fn n_blocks(count: usize, k: usize) -> usize {
    count.div_ceil(WIDTH) * k.div_ceil(DEPTH)
}

/// The numbers, which are aligned to 64 bytes, as blocks.
pub(crate) fn blocks_of(numbers: &mut [u16]) -> &mut [PairBlock] {
    // SAFETY: every bit pattern is a valid block.
    let (before, blocks, _) = unsafe { numbers.align_to_mut() };
    assert!(before.is_empty(), "blocks must be aligned");
    blocks
}

/// Rounds and packs `x` `[rows, k]`, the left operand of products with packed weights; on several threads if
/// `parallel`.
pub(crate) fn prepare(rows: usize, k: usize, x: &[f32], blocks: &mut [PairBlock], parallel: bool) {
    if rows > 0 && k > 0 {
        pack::pack(OperandSide::Left, View::rows(x, k), rows, k, blocks, parallel);
    }
}

/// Calls `work` with `x` `[count, k]`, the left operand of several products or the transpose of the right
/// one, rounded and packed.
pub(super) fn with_packed<R>(
    side: OperandSide,
    x: View<'_>,
    [count, k]: [usize; 2],
    work: impl FnOnce(&[PairBlock]) -> R,
) -> R {
    with_blocks(n_blocks(count, k), |blocks| {
        if count > 0 && k > 0 {
            pack::pack(side, x, count, k, blocks, is_large(area(count, k)));
        }
        work(blocks)
    })
}

/// `out` from rows `row..` of a left operand with `rows` rows, which [`prepare`] has packed, and columns
/// `col..` of `weight`, on the calling thread. `row` and `col` are multiples of 16.
pub(crate) fn product_packed(
    isa: PairIsa,
    (left, rows, row): (&[PairBlock], usize, usize),
    (weight, col): (PackedBf16<'_>, usize),
    out: &mut TileMut<'_>,
    epilogue: Epilogue<'_>,
) {
    let left = OperandPart::packed(left, rows.div_ceil(WIDTH), row / WIDTH);
    let right = OperandPart::stored(weight, col, out.cols());
    let product = Product::new(weight.k(), left, right).then(epilogue);
    if !product.write_empty(out) {
        rectangle(isa, &product, out);
    }
}

/// Computes one task's part of the output.
fn rectangle(isa: PairIsa, product: &Product<'_, OperandPart<'_>, OperandPart<'_>>, out: &mut TileMut<'_>) {
    let Product { k, a: left, b: right, .. } = product;
    with_blocks(left.own_len() + right.own_len(), |room| {
        let (left_room, right_room) = room.split_at_mut(left.own_len());
        let kernel = PairKernel::new(isa);
        for start in (0..*k).step_by(STEPS * DEPTH) {
            let depth = (k - start).min(STEPS * DEPTH);
            let left = left.panels(start, depth, left_room);
            let right = right.panels(start, depth, right_room);
            kernel.product(&left, &right, out, product.adds(start));
        }
    });
    product.epilogue.finish(out, 0..out.rows());
}

#[cfg(test)]
mod tests;
