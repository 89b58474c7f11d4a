//! Rounds operands and packs them into blocks.

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_cvtne2ps_pbh, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_maskz_loadu_ps, _mm512_permutexvar_epi16, _mm512_setzero_ps, _mm512_setzero_si512,
    _mm512_store_si512,
};
use std::mem::transmute;

use rayon::prelude::*;

use super::{DEPTH, PairBlock, STEPS, View, WIDTH};
use crate::transpose::transpose_lines;

/// Panels packed by one task, so that it reads whole cache lines when a row spans several panels.
const GROUP: usize = 4;

/// The block layout of an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::gemm) enum OperandSide {
    Left,
    Right,
}

/// Packs `x` `[count, k]`, the left operand or the transpose of the right one, into zero-padded panels of 16
/// rows. The CPU must have AVX-512BW and AVX-512 BF16. Uses several threads if `parallel`.
///
/// Rounds like [`super::super::bf16::round`], but flushes subnormal numbers to zero.
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
    if parallel {
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

/// Packs the first `rows` rows and `depths` columns of `x`.
///
/// # Safety
/// The CPU has AVX-512BW and AVX-512 BF16; `x` holds `rows` rows and `depths` columns, at most one block, and
/// exactly one if `WHOLE`.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn pack_block<const WHOLE: bool>(
    side: OperandSide,
    x: View<'_>,
    rows: usize,
    depths: usize,
    block: &mut PairBlock,
) {
    // Loops over whole blocks have lengths that the compiler knows.
    let (rows, depths) = if WHOLE { (WIDTH, DEPTH) } else { (rows, depths) };
    // SAFETY: the view holds everything that is read, and so does `gathered`.
    let (form, mut lines) = unsafe {
        if x.col_stride == 1 {
            (OperandSide::Left, lines_of_rows::<WHOLE>(x, rows, depths))
        } else if x.row_stride == 1 {
            (OperandSide::Right, lines_of_pairs::<WHOLE>(x, rows, depths))
        } else {
            let gathered = gather(x, rows, depths);
            let x = View::rows(gathered.as_flattened(), DEPTH);
            (OperandSide::Left, lines_of_rows::<WHOLE>(x, rows, depths))
        }
    };
    if side != form {
        lines = transpose_lines(lines);
    }
    for (out, line) in block.0.iter_mut().zip(lines) {
        // SAFETY: a line of a block has 64 bytes and is 64-byte aligned.
        unsafe { _mm512_store_si512(out.as_mut_ptr().cast(), line) }
    }
}

/// Copies a matrix that is strided in both directions.
fn gather(x: View<'_>, rows: usize, depths: usize) -> [[f32; DEPTH]; WIDTH] {
    let mut gathered = [[0.0; DEPTH]; WIDTH];
    for (row, line) in gathered.iter_mut().enumerate().take(rows) {
        for (depth, y) in line.iter_mut().enumerate().take(depths) {
            *y = x.data[row * x.row_stride + depth * x.col_stride];
        }
    }
    gathered
}

/// Lines for contiguous rows: line i is row i.
///
/// # Safety
/// See [`pack_block`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
#[inline]
unsafe fn lines_of_rows<const WHOLE: bool>(x: View<'_>, rows: usize, depths: usize) -> [__m512i; WIDTH] {
    let mut lines = [_mm512_setzero_si512(); WIDTH];
    let used = u32::MAX >> (DEPTH - depths);
    for (row, line) in lines.iter_mut().enumerate().take(rows) {
        let from = x.data.as_ptr().wrapping_add(row * x.row_stride);
        // SAFETY: each row below `rows` holds `depths` elements.
        let (low, high) = unsafe {
            (load::<WHOLE>(from, used as u16), load::<WHOLE>(from.wrapping_add(16), (used >> 16) as u16))
        };
        *line = as_integers(_mm512_cvtne2ps_pbh(high, low));
    }
    lines
}

/// Loads 16 elements; unless `WHOLE`, those not marked in `used` become zero.
///
/// # Safety
/// The CPU has AVX-512F; the elements marked in `used` are readable, or all of them if `WHOLE`.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn load<const WHOLE: bool>(from: *const f32, used: u16) -> __m512 {
    // SAFETY: masked lanes are not read.
    unsafe {
        if WHOLE {
            _mm512_loadu_ps(from)
        } else if used == 0 {
            // There may be no memory: a load without lanes is then slow.
            _mm512_setzero_ps()
        } else {
            _mm512_maskz_loadu_ps(used, from)
        }
    }
}

/// Lines for contiguous columns: line i interleaves columns 2i and 2i + 1.
///
/// # Safety
/// See [`pack_block`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
#[inline]
unsafe fn lines_of_pairs<const WHOLE: bool>(x: View<'_>, rows: usize, depths: usize) -> [__m512i; WIDTH] {
    const IN_TURN: [u16; DEPTH] = {
        let mut order = [0; DEPTH];
        let mut i = 0;
        while i < DEPTH {
            order[i] = (i / 2 + i % 2 * WIDTH) as u16;
            i += 1;
        }
        order
    };
    // SAFETY: the index vector has 64 bytes.
    let in_turn = unsafe { _mm512_loadu_si512(IN_TURN.as_ptr().cast()) };
    let mut lines = [_mm512_setzero_si512(); WIDTH];
    let used = u16::MAX >> (WIDTH - rows);
    for (pair, line) in lines.iter_mut().enumerate().take(depths.div_ceil(2)) {
        let column = |depth: usize| {
            let from = x.data.as_ptr().wrapping_add(depth * x.col_stride);
            if depth < depths {
                // SAFETY: each column below `depths` holds `rows` elements.
                unsafe { load::<WHOLE>(from, used) }
            } else {
                _mm512_setzero_ps()
            }
        };
        let (even, odd) = (column(2 * pair), column(2 * pair + 1));
        let both = as_integers(_mm512_cvtne2ps_pbh(odd, even));
        *line = _mm512_permutexvar_epi16(in_turn, both);
    }
    lines
}

fn as_integers(x: __m512bh) -> __m512i {
    // SAFETY: both types are 512 bits.
    unsafe { transmute(x) }
}
