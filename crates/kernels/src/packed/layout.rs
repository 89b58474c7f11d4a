//! The layout of packed matrices.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::PackedError;
use super::lines::{Number, PANEL, PanelLine, of_words};
use crate::area::{area, assert_shape};
use crate::parallel::is_large;
use crate::platform::prefer_large_pages;

/// Numbers of the type `T`, which has 1, 2 or 4 bytes, in a word.
pub(super) const fn per_word<T>() -> usize {
    4 / size_of::<T>()
}

/// Checks the number of elements of a packed matrix.
pub(super) fn check_len<T>(n: usize, k: usize, found: usize) -> Result<(), PackedError> {
    let columns = n.checked_next_multiple_of(PANEL);
    let depths = k.checked_next_multiple_of(per_word::<T>());
    let expected = columns.zip(depths).and_then(|(n, k)| n.checked_mul(k));
    if expected == Some(found) {
        Ok(())
    } else {
        Err(PackedError::Length { what: "values", expected, found })
    }
}

/// Packs a matrix `[n, k]`: `convert(row, out)` gives the numbers of a row, followed by zeros.
pub(super) fn pack<T: Number>(
    n: usize,
    k: usize,
    convert: impl Fn(usize, &mut [T]) + Sync,
) -> Vec<PanelLine> {
    let words = k.div_ceil(per_word::<T>());
    let n_lines = area(n.div_ceil(PANEL), words);
    let mut lines = Vec::with_capacity(n_lines);
    let room = &mut lines.spare_capacity_mut()[..n_lines];
    prefer_large_pages(room);
    // Each thread is the first to write to the pages of its panels.
    let panel = |(panel, room): (usize, &mut [MaybeUninit<PanelLine>])| {
        for line in &mut *room {
            line.write(PanelLine::ZERO);
        }
        // SAFETY: all lines have just been written.
        let lines = unsafe { room.assume_init_mut() };
        let mut column = vec![0; words];
        for (col, row) in (panel * PANEL..n).take(PANEL).enumerate() {
            convert(row, &mut of_words(&mut column)[..k]);
            for (line, &word) in lines.iter_mut().zip(&column) {
                line.0[col] = word;
            }
        }
    };
    if words > 0 {
        if is_large(area(n, k)) {
            room.par_chunks_mut(words).enumerate().for_each(panel)
        } else {
            room.chunks_mut(words).enumerate().for_each(panel)
        }
    }
    // SAFETY: the panels are all lines, and each has been written; without words, there are no lines.
    unsafe { lines.set_len(n_lines) };
    lines
}

/// Writes row `row` of a packed matrix `[n, k]` to `out`, number by number.
///
/// # Panics
/// If there is no such row, or `out` does not have k elements.
pub(super) fn unpack_row<T: Number>(
    values: &[T],
    [n, k]: [usize; 2],
    row: usize,
    out: &mut [f32],
    widen: impl Fn(T) -> f32,
) {
    assert!(row < n, "row {row} of {n}");
    assert_shape("out", out, [k]);
    let per_word = per_word::<T>();
    let panel = k.next_multiple_of(per_word) * PANEL;
    let lines = values[row / PANEL * panel..][..panel].chunks_exact(PANEL * per_word);
    for (out, line) in out.chunks_mut(per_word).zip(lines) {
        for (out, &x) in out.iter_mut().zip(&line[row % PANEL * per_word..]) {
            *out = widen(x);
        }
    }
}
