//! Memory for packed matrices: lines of 64 bytes, aligned to 64 bytes.

use crate::scratch::with_scratch;

/// A line of 16 words, one for each column of a panel.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct PanelLine(pub(super) [u32; PANEL]);

/// Columns of a panel.
pub(crate) const PANEL: usize = 16;

impl PanelLine {
    pub(super) const ZERO: Self = Self([0; PANEL]);
}

/// Types for which every bit pattern is a value, without padding.
///
/// # Safety
/// As described; and neither size nor alignment exceeds that of a `u32`.
pub unsafe trait Number: Copy {}

// SAFETY: a number.
unsafe impl Number for f32 {}
// SAFETY: a number.
unsafe impl Number for i32 {}
// SAFETY: a number.
unsafe impl Number for u16 {}
// SAFETY: a number.
unsafe impl Number for i8 {}
// SAFETY: a number.
unsafe impl Number for u8 {}

/// The lines as numbers.
pub(super) fn numbers<T: Number>(lines: &[PanelLine]) -> &[T] {
    // SAFETY: every bit pattern is a `T`, and lines are aligned to the size of each number.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), size_of_val(lines) / size_of::<T>()) }
}

/// The lines as numbers.
pub(super) fn numbers_mut<T: Number>(lines: &mut [PanelLine]) -> &mut [T] {
    let len = size_of_val(lines) / size_of::<T>();
    // SAFETY: every bit pattern is a `T`, lines are aligned to the size of each number, and every `T` is a
    // valid part of a line.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), len) }
}

/// The words as numbers.
pub(super) fn of_words<T: Number>(words: &mut [u32]) -> &mut [T] {
    let len = size_of_val(words) / size_of::<T>();
    // SAFETY: every bit pattern is a `T` of at most four bytes, and every `T` is a valid part of a word.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), len) }
}

/// The whole lines in `scratch`.
pub(super) fn lines_in(scratch: &mut [f32]) -> &mut [PanelLine] {
    // SAFETY: every bit pattern is a line.
    unsafe { scratch.align_to_mut() }.1
}

/// Calls `work` with a scratch buffer of `len` numbers, aligned to lines, of unspecified contents.
pub(crate) fn with_lines<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    with_scratch((len.div_ceil(PANEL) + 1) * PANEL, |scratch| {
        work(&mut numbers_mut(lines_in(scratch))[..len])
    })
}

/// The bytes of numbers.
pub(super) fn bytes<T: Number>(numbers: &[T]) -> &[u8] {
    // SAFETY: numbers have no padding.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// The numbers in `bytes`; `None` if they are not aligned or the last one is not complete.
pub(super) fn from_bytes<T: Number>(bytes: &[u8]) -> Option<&[T]> {
    let start = bytes.as_ptr().cast::<T>();
    let whole = start.is_aligned() && bytes.len().is_multiple_of(size_of::<T>());
    // SAFETY: every bit pattern is a `T`, and the address is aligned.
    whole.then(|| unsafe { std::slice::from_raw_parts(start, bytes.len() / size_of::<T>()) })
}
