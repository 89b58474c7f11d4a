//! Overflow-checked sizes.

/// The number of elements of a matrix `[rows, cols]`.
///
/// # Panics
/// If it exceeds the address space.
pub(crate) fn area(rows: usize, cols: usize) -> usize {
    rows.checked_mul(cols)
        .unwrap_or_else(|| panic!("a matrix [{rows}, {cols}] is larger than the address space"))
}

/// The number of elements spanned by a strided matrix `[rows, cols]`.
///
/// # Panics
/// See [`area`].
pub(crate) fn reach(rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> usize {
    if rows == 0 || cols == 0 {
        return 0;
    }
    area(rows - 1, row_stride)
        .checked_add(area(cols - 1, col_stride))
        .and_then(|last| last.checked_add(1))
        .unwrap_or_else(|| {
            panic!("a matrix [{rows}, {cols}] with strides {row_stride} and {col_stride} is larger than the address space")
        })
}
