//! Rounds operands and packs them into blocks.

use attentive_base::platform::HAS_THREADS;
use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::avx512_block::pack_block;
#[cfg(not(target_arch = "x86_64"))]
use super::block::pack_block;
use super::{DEPTH, PairBlock, STEPS, View, WIDTH};

/// Panels packed by one task, so that it reads whole cache lines when a row spans several panels.
const GROUP: usize = 4;

/// The block layout of an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::gemm) enum OperandSide {
    Left,
    Right,
}

/// Packs `x` `[count, k]`, the left operand or the transpose of the right one, into zero-padded panels of 16
/// rows. The CPU must have an instruction set for pairs. Uses several threads if `parallel`.
///
/// Rounds like [`super::super::bf16::round`], but AVX-512 flushes subnormal numbers to zero.
pub(super) fn pack(
    side: OperandSide,
    x: View<'_>,
    count: usize,
    k: usize,
    blocks: &mut [PairBlock],
    parallel: bool,
) {
    x.assert_holds("operand", count, k);
    let panels = count.div_ceil(WIDTH);
    for_chunks(parallel, blocks, panels * STEPS, |number, blocks| {
        let start = number * STEPS * DEPTH;
        let depth = (k - start).min(STEPS * DEPTH);
        for_chunks(parallel, blocks, GROUP * depth.div_ceil(DEPTH), |group, blocks| {
            let first = group * GROUP * WIDTH;
            pack_group(side, x.from(first, start), count - first, depth, blocks);
        });
    });
}

/// Calls `work(number, chunk)` for chunks of `len` blocks.
fn for_chunks(
    parallel: bool,
    blocks: &mut [PairBlock],
    len: usize,
    work: impl Fn(usize, &mut [PairBlock]) + Sync + Send,
) {
    let work = |(number, chunk): (usize, &mut [PairBlock])| work(number, chunk);
    if HAS_THREADS && parallel {
        blocks.par_chunks_mut(len).enumerate().for_each(work);
    } else {
        blocks.chunks_mut(len).enumerate().for_each(work);
    }
}

/// [`pack`] on the calling thread for at most `STEPS` blocks of depth: the first panels of `count` rows,
/// processed along the contiguous direction of `x` if it has one.
pub(super) fn pack_group(side: OperandSide, x: View<'_>, count: usize, k: usize, blocks: &mut [PairBlock]) {
    let steps = k.div_ceil(DEPTH);
    let pack = |panel: usize, step: usize, block: &mut PairBlock| {
        let (row, depth) = (panel * WIDTH, step * DEPTH);
        let (rows, depths) = (WIDTH.min(count - row), DEPTH.min(k - depth));
        let x = x.from(row, depth);
        x.assert_holds("block", rows, depths);
        // SAFETY: the caller has checked the CPU features, and the view holds the rows and depths.
        unsafe {
            if (rows, depths) == (WIDTH, DEPTH) {
                pack_block::<true>(side, x, rows, depths, block);
            } else {
                pack_block::<false>(side, x, rows, depths, block);
            }
        }
    };
    if x.col_stride == 1 {
        for (i, block) in blocks.iter_mut().enumerate() {
            pack(i / steps, i % steps, block);
        }
    } else {
        for step in 0..steps {
            for (panel, blocks) in blocks.chunks_exact_mut(steps).enumerate() {
                pack(panel, step, &mut blocks[step]);
            }
        }
    }
}

/// Copies at most one block of a matrix; what is missing is zero.
pub(super) fn gather(x: View<'_>, rows: usize, depths: usize) -> [[f32; DEPTH]; WIDTH] {
    let mut gathered = [[0.0; DEPTH]; WIDTH];
    for (row, line) in gathered.iter_mut().enumerate().take(rows) {
        for (depth, y) in line.iter_mut().enumerate().take(depths) {
            *y = x.data[row * x.row_stride + depth * x.col_stride];
        }
    }
    gathered
}
