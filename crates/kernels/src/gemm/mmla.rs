//! Products with the instructions of ARM that multiply small matrices: `smmla` and `bfmmla`.
//!
//! Both see words of 32 bits, four bytes or two bfloat16 numbers, and add the product of two rows and two
//! columns of two words each to 2 × 2 sums. The left operand is stored in the order that they read: two words
//! of a row, two of the next one, and so on. The right operand is a panel, whose lines have one word of each
//! of 16 columns; two lines are brought into order in registers.

use std::arch::aarch64::{
    uint32x4_t, vdupq_n_u32, vld1q_u32, vreinterpretq_u32_u64, vreinterpretq_u64_u32, vzip1q_u32, vzip1q_u64,
    vzip2q_u32, vzip2q_u64,
};
use std::array::from_fn;

use crate::prefetch::Prefetcher;

/// Lines of a panel that are multiplied together; missing ones are zero.
pub(super) const LINES: usize = 16;
/// Words of a line.
const LINE: usize = 16;
/// Columns of a half of a panel.
pub(super) const HALF: usize = 8;

/// Operands in registers, and sums of 2 rows by 2 columns.
type Words = uint32x4_t;

/// Adds the product of two rows and two columns to their sums.
pub(super) trait SmallProduct {
    /// # Safety
    /// The CPU has the instruction.
    unsafe fn add(sums: Words, left: Words, right: Words) -> Words;
}

/// The operands of a tile.
#[derive(Clone, Copy)]
pub(super) struct MmlaOperands {
    /// The words of the first two rows.
    pub(super) left: *const u32,
    /// The distance to the words of the next two rows.
    pub(super) left_pair: usize,
    /// The distance to the words of the next [`LINES`] lines.
    pub(super) left_step: usize,
    /// A panel, or half of one.
    pub(super) right: *const u32,
    /// Lines of the panel, to which the left operand has as many words of a row, padded with zeros to a
    /// multiple of [`LINES`].
    pub(super) lines: usize,
    /// The panel to prefetch, see [`Prefetcher`].
    pub(super) next: Option<*const u32>,
}

/// A line of halves of a panel, in vectors of four columns.
type Line<const HALVES: usize> = [[Words; 2]; HALVES];

/// The sums of `PAIRS` pairs of rows and `HALVES` halves of a panel: four vectors for each half of a pair,
/// two of the first row and two of the second.
///
/// # Safety
/// The CPU has the instruction, and the operands are readable.
#[inline(always)]
pub(super) unsafe fn sums<P: SmallProduct, const PAIRS: usize, const HALVES: usize, const PREFETCH: bool>(
    operands: &MmlaOperands,
) -> [[[Words; 4]; HALVES]; PAIRS] {
    let MmlaOperands { mut left, left_pair, left_step, mut right, lines, next } = *operands;
    let mut ahead = Prefetcher::new([next.unwrap_or(right)]);
    // SAFETY: all addresses lie within the operands; missing lines are not read.
    unsafe {
        let zero = vdupq_n_u32(0);
        let mut sums = [[[zero; 4]; HALVES]; PAIRS];
        for _ in 0..lines / LINES {
            for two in 0..LINES / 2 {
                if PREFETCH {
                    ahead.prefetch();
                    ahead.prefetch();
                }
                let both = [line::<HALVES>(right), line(right.wrapping_add(LINE))];
                add_lines::<P, PAIRS, HALVES>(&mut sums, left.wrapping_add(4 * two), left_pair, both);
                right = right.wrapping_add(2 * LINE);
            }
            left = left.wrapping_add(left_step);
        }
        let rest = lines % LINES;
        if rest > 0 {
            for two in 0..LINES / 2 {
                let mut both = [[[zero; 2]; HALVES]; 2];
                for (number, words) in both.iter_mut().enumerate() {
                    if 2 * two + number < rest {
                        *words = line(right.wrapping_add(LINE * number));
                    }
                }
                add_lines::<P, PAIRS, HALVES>(&mut sums, left.wrapping_add(4 * two), left_pair, both);
                right = right.wrapping_add(2 * LINE);
            }
        }
        sums.map(|sums| sums.map(in_rows))
    }
}

// Functions, not closures: those that are not inlined lack the instructions.

/// The line at `right`.
///
/// # Safety
/// The halves are readable.
#[inline(always)]
unsafe fn line<const HALVES: usize>(right: *const u32) -> Line<HALVES> {
    // SAFETY: guaranteed by the caller.
    from_fn(|half| from_fn(|quarter| unsafe { vld1q_u32(right.wrapping_add(HALF * half + 4 * quarter)) }))
}

/// Adds the product of two words of each row and two lines.
///
/// # Safety
/// The CPU has the instruction, and `left` is readable for four words of each pair of rows.
#[inline(always)]
unsafe fn add_lines<P: SmallProduct, const PAIRS: usize, const HALVES: usize>(
    sums: &mut [[[Words; 4]; HALVES]; PAIRS],
    left: *const u32,
    left_pair: usize,
    [first, second]: [Line<HALVES>; 2],
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut columns = [[vdupq_n_u32(0); 4]; HALVES];
        for half in 0..HALVES {
            let ([a, b], [c, d]) = (first[half], second[half]);
            columns[half] = [vzip1q_u32(a, c), vzip2q_u32(a, c), vzip1q_u32(b, d), vzip2q_u32(b, d)];
        }
        for (pair, sums) in sums.iter_mut().enumerate() {
            let rows = vld1q_u32(left.wrapping_add(pair * left_pair));
            for (sums, columns) in sums.iter_mut().zip(columns) {
                for (sum, columns) in sums.iter_mut().zip(columns) {
                    *sum = P::add(*sum, rows, columns);
                }
            }
        }
    }
}

/// Sums of 2 × 2 as vectors of four columns, two of the first row and two of the second.
#[inline(always)]
fn in_rows(sums: [Words; 4]) -> [Words; 4] {
    // SAFETY: every CPU of this architecture has Neon.
    unsafe {
        let [a, b, c, d] = sums.map(|sums| vreinterpretq_u64_u32(sums));
        [vzip1q_u64(a, b), vzip1q_u64(c, d), vzip2q_u64(a, b), vzip2q_u64(c, d)]
            .map(|row| vreinterpretq_u32_u64(row))
    }
}
