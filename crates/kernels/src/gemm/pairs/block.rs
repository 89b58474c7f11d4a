//! Packing of a block without AVX-512.

use super::pack::{OperandSide, gather};
use super::{DEPTH, PairBlock, View, WIDTH};
use crate::transpose::transpose_words;

/// A block as words of two numbers.
type Words = [[u32; WIDTH]; WIDTH];

/// Packs the first `rows` rows and `depths` columns of `x`.
///
/// # Safety
/// The CPU has an instruction set for pairs; `x` holds `rows` rows and `depths` columns, at most one block,
/// and exactly one if `WHOLE`.
pub(super) unsafe fn pack_block<const WHOLE: bool>(
    side: OperandSide,
    x: View<'_>,
    rows: usize,
    depths: usize,
    block: &mut PairBlock,
) {
    let (mut form, mut words) = (OperandSide::Left, [[0; WIDTH]; WIDTH]);
    if WHOLE && x.col_stride == 1 {
        for (row, words) in words.iter_mut().enumerate() {
            let row = x.data[row * x.row_stride..].first_chunk().expect("a row of a block");
            *words = words_of(row);
        }
    } else if WHOLE && x.row_stride == 1 {
        form = OperandSide::Right;
        for (pair, words) in words.iter_mut().enumerate() {
            let mut row = [0.0; DEPTH];
            let column = |number: usize| &x.data[(2 * pair + number) * x.col_stride..][..WIDTH];
            for (both, (&even, &odd)) in
                row.as_chunks_mut::<2>().0.iter_mut().zip(column(0).iter().zip(column(1)))
            {
                *both = [even, odd];
            }
            *words = words_of(&row);
        }
    } else {
        for (words, row) in words.iter_mut().zip(&gather(x, rows, depths)) {
            *words = words_of(row);
        }
    }
    if side != form {
        words = transpose_words(&words);
    }
    if side == OperandSide::Left {
        words = in_pairs_of_rows(&words);
    }
    for (line, words) in block.0.iter_mut().zip(&words) {
        for (pair, word) in line.as_chunks_mut::<2>().0.iter_mut().zip(words) {
            *pair = [*word as u16, (word >> 16) as u16];
        }
    }
}

/// Two words of a row, two of the next one, and so on.
fn in_pairs_of_rows(rows: &Words) -> Words {
    let mut out = [[0; WIDTH]; WIDTH];
    for (out, rows) in out.as_chunks_mut::<2>().0.iter_mut().zip(rows.as_chunks::<2>().0) {
        let twos = rows[0].as_chunks::<2>().0.iter().zip(rows[1].as_chunks::<2>().0);
        for (out, (first, second)) in out.as_flattened_mut().as_chunks_mut::<4>().0.iter_mut().zip(twos) {
            *out = [first[0], first[1], second[0], second[1]];
        }
    }
    out
}

/// Rounded numbers.
#[cfg(target_arch = "aarch64")]
fn words_of(row: &[f32; DEPTH]) -> [u32; WIDTH] {
    use std::arch::aarch64::{vld1q_f32, vst1q_u32};

    let mut words = [0; WIDTH];
    for (words, eight) in words.as_chunks_mut::<4>().0.iter_mut().zip(row.as_chunks::<8>().0) {
        // SAFETY: the CPU has the instructions, since only it selects this kind of products; the addresses
        // hold eight numbers and four words.
        unsafe {
            let rounded = crate::neon::bfcvt(vld1q_f32(eight.as_ptr()), vld1q_f32(eight.as_ptr().add(4)));
            vst1q_u32(words.as_mut_ptr(), rounded);
        }
    }
    words
}

/// Rounded numbers.
#[cfg(not(target_arch = "aarch64"))]
fn words_of(row: &[f32; DEPTH]) -> [u32; WIDTH] {
    use crate::gemm::bf16::narrow;

    std::array::from_fn(|word| u32::from(narrow(row[2 * word])) | u32::from(narrow(row[2 * word + 1])) << 16)
}
