//! Packing of a block with AVX-512.

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_cvtne2ps_pbh, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_maskz_loadu_ps, _mm512_permutexvar_epi16, _mm512_setzero_ps, _mm512_setzero_si512,
    _mm512_store_si512,
};
use std::mem::transmute;

use super::pack::{OperandSide, gather};
use super::{DEPTH, PairBlock, View, WIDTH};
use crate::transpose::transpose_lines;

/// Packs the first `rows` rows and `depths` columns of `x`.
///
/// # Safety
/// The CPU has AVX-512BW and AVX-512 BF16; `x` holds `rows` rows and `depths` columns, at most one block, and
/// exactly one if `WHOLE`.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn pack_block<const WHOLE: bool>(
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
