//! Rounding to bfloat16, whose eight significant bits and full range of exponents suffice for the operands of training.

use super::View;
use crate::parallel::for_row_chunks;

/// The nearest bfloat16, ties to even, as an `f32`. NaN stays NaN.
#[inline(always)]
pub(crate) fn round(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) & 0xFFFF_0000;
    f32::from_bits(if x.is_nan() {
        bits | 0x0040_0000
    } else {
        rounded
    })
}

vectorised! {
    fn round_row(row: &[f32], out: &mut [f32]) {
        for (out, &x) in out.iter_mut().zip(row) {
            *out = round(x);
        }
    }
}

/// The first `rows` × `cols` elements of `view`, rounded into `room` in the same layout but without gaps.
///
/// # Panics
/// If neither rows nor columns are contiguous, or `room` has another size.
pub(super) fn rounded<'r>(
    view: View<'_>,
    rows: usize,
    cols: usize,
    room: &'r mut [f32],
) -> View<'r> {
    if view.col_stride != 1 {
        assert_eq!(view.row_stride, 1, "rows or columns are contiguous");
        return rounded(view.t(), cols, rows, room).t();
    }
    assert_eq!(room.len(), rows * cols, "room for [{rows}, {cols}]");
    for_row_chunks(room, cols, |first, room| {
        for (row, out) in room.chunks_exact_mut(cols.max(1)).enumerate() {
            round_row(&view.data[(first + row) * view.row_stride..][..cols], out);
        }
    });
    View::rows(room, cols)
}
