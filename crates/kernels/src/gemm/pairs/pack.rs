//! Rounds the operands and puts them into blocks.

use std::arch::x86_64::{
    __m512bh, __m512i, _mm512_cvtne2ps_pbh, _mm512_loadu_si512, _mm512_maskz_loadu_ps,
    _mm512_permutexvar_epi16, _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_store_si512,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};
use std::mem::transmute;

use rayon::prelude::*;

use super::{Block, DEPTH, View, WIDTH};
use crate::parallel::is_large;

/// Panels that one task packs, so that it reads a few whole cache lines of a row when panels stand side by side in it.
const GROUP: usize = 4;

/// Which form the blocks have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Puts `x` `[count, k]`, an operand or the transpose of the right one, into panels of 16 rows, `[count / 16, k / 32]`
/// blocks, filled up with zeros. The CPU has AVX-512BW and AVX-512 BF16.
///
/// Rounding is that of [`super::super::bf16::round`], but denormal numbers become zero.
pub(super) fn pack(side: Side, x: View<'_>, count: usize, k: usize, blocks: &mut [Block]) {
    x.assert_holds("operand", count, k);
    let group_len = GROUP * k.div_ceil(DEPTH);
    let group = |(group, blocks): (usize, &mut [Block])| {
        let first = group * GROUP * WIDTH;
        pack_group(side, x.from(first, 0), count - first, k, blocks);
    };
    if is_large(count * k) {
        blocks.par_chunks_mut(group_len).enumerate().for_each(group);
    } else {
        blocks.chunks_mut(group_len).enumerate().for_each(group);
    }
}

/// [`pack`] for a few panels, along the contiguous direction of `x` if it has one.
fn pack_group(side: Side, x: View<'_>, count: usize, k: usize, blocks: &mut [Block]) {
    let steps = k.div_ceil(DEPTH);
    let pack = |panel: usize, step: usize, block: &mut Block| {
        let (row, depth) = (panel * WIDTH, step * DEPTH);
        let (rows, depths) = (WIDTH.min(count - row), DEPTH.min(k - depth));
        let x = x.from(row, depth);
        x.assert_holds("block", rows, depths);
        // SAFETY: the caller saw the features, and the view holds the rows and depths.
        unsafe { pack_block(side, x, rows, depths, block) }
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
/// The CPU has AVX-512BW and AVX-512 BF16; `x` holds the rows and depths, at most one block of them.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn pack_block(side: Side, x: View<'_>, rows: usize, depths: usize, block: &mut Block) {
    // SAFETY: the view holds what is read, as `gathered` does.
    let (form, mut lines) = unsafe {
        if x.col_stride == 1 {
            (Side::Left, lines_of_rows(x, rows, depths))
        } else if x.row_stride == 1 {
            (Side::Right, lines_of_pairs(x, rows, depths))
        } else {
            let gathered = gather(x, rows, depths);
            let x = View::rows(gathered.as_flattened(), DEPTH);
            (Side::Left, lines_of_rows(x, rows, depths))
        }
    };
    if side != form {
        lines = transpose(lines);
    }
    for (out, line) in block.0.iter_mut().zip(lines) {
        // SAFETY: a line of a block is 64 bytes and aligned to as many.
        unsafe { _mm512_store_si512(out.as_mut_ptr().cast(), line) }
    }
}

/// Copies what has gaps in both directions.
fn gather(x: View<'_>, rows: usize, depths: usize) -> [[f32; DEPTH]; WIDTH] {
    let mut gathered = [[0.0; DEPTH]; WIDTH];
    for (row, line) in gathered.iter_mut().enumerate().take(rows) {
        for (depth, y) in line.iter_mut().enumerate().take(depths) {
            *y = x.data[row * x.row_stride + depth * x.col_stride];
        }
    }
    gathered
}

/// Line i is row i, whose elements are contiguous.
///
/// # Safety
/// As [`pack_block`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn lines_of_rows(x: View<'_>, rows: usize, depths: usize) -> [__m512i; WIDTH] {
    let mut lines = [_mm512_setzero_si512(); WIDTH];
    let used = u32::MAX >> (DEPTH - depths);
    for (row, line) in lines.iter_mut().enumerate().take(rows) {
        let from = x.data.as_ptr().wrapping_add(row * x.row_stride);
        // SAFETY: the row holds `depths` numbers; masked lanes are not read.
        let (low, high) = unsafe {
            (
                _mm512_maskz_loadu_ps(used as u16, from),
                _mm512_maskz_loadu_ps((used >> 16) as u16, from.wrapping_add(16)),
            )
        };
        *line = as_integers(_mm512_cvtne2ps_pbh(high, low));
    }
    lines
}

/// Line i is the columns 2i and 2i + 1, whose elements are contiguous, in turn.
///
/// # Safety
/// As [`pack_block`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn lines_of_pairs(x: View<'_>, rows: usize, depths: usize) -> [__m512i; WIDTH] {
    const IN_TURN: [u16; DEPTH] = {
        let mut order = [0; DEPTH];
        let mut i = 0;
        while i < DEPTH {
            order[i] = (i / 2 + i % 2 * WIDTH) as u16;
            i += 1;
        }
        order
    };
    // SAFETY: the order is 64 bytes.
    let in_turn = unsafe { _mm512_loadu_si512(IN_TURN.as_ptr().cast()) };
    let mut lines = [_mm512_setzero_si512(); WIDTH];
    let used = u16::MAX >> (WIDTH - rows);
    for (pair, line) in lines.iter_mut().enumerate().take(depths.div_ceil(2)) {
        let from = x.data.as_ptr().wrapping_add(2 * pair * x.col_stride);
        let second = if 2 * pair + 1 < depths { used } else { 0 };
        // SAFETY: a column holds `rows` numbers; masked lanes are not read.
        let (even, odd) = unsafe {
            (
                _mm512_maskz_loadu_ps(used, from),
                _mm512_maskz_loadu_ps(second, from.wrapping_add(x.col_stride)),
            )
        };
        let both = as_integers(_mm512_cvtne2ps_pbh(odd, even));
        *line = _mm512_permutexvar_epi16(in_turn, both);
    }
    lines
}

fn as_integers(x: __m512bh) -> __m512i {
    // SAFETY: both are 512 bits.
    unsafe { transmute(x) }
}

/// The transpose of 16 lines of 16 pairs.
#[target_feature(enable = "avx512f")]
fn transpose(lines: [__m512i; WIDTH]) -> [__m512i; WIDTH] {
    let (mut twos, mut fours, mut out) = (lines, lines, lines);
    for i in (0..16).step_by(2) {
        twos[i] = _mm512_unpacklo_epi32(lines[i], lines[i + 1]);
        twos[i + 1] = _mm512_unpackhi_epi32(lines[i], lines[i + 1]);
    }
    for i in (0..16).step_by(4) {
        fours[i] = _mm512_unpacklo_epi64(twos[i], twos[i + 2]);
        fours[i + 1] = _mm512_unpackhi_epi64(twos[i], twos[i + 2]);
        fours[i + 2] = _mm512_unpacklo_epi64(twos[i + 1], twos[i + 3]);
        fours[i + 3] = _mm512_unpackhi_epi64(twos[i + 1], twos[i + 3]);
    }
    // Quarter q of `fours[4 * g + i]` is column 4q + i of the lines 4g to 4g + 3.
    for i in 0..4 {
        let even = _mm512_shuffle_i32x4::<0x88>(fours[i], fours[4 + i]);
        let odd = _mm512_shuffle_i32x4::<0xDD>(fours[i], fours[4 + i]);
        let even_below = _mm512_shuffle_i32x4::<0x88>(fours[8 + i], fours[12 + i]);
        let odd_below = _mm512_shuffle_i32x4::<0xDD>(fours[8 + i], fours[12 + i]);
        out[i] = _mm512_shuffle_i32x4::<0x88>(even, even_below);
        out[4 + i] = _mm512_shuffle_i32x4::<0x88>(odd, odd_below);
        out[8 + i] = _mm512_shuffle_i32x4::<0xDD>(even, even_below);
        out[12 + i] = _mm512_shuffle_i32x4::<0xDD>(odd, odd_below);
    }
    out
}
