//! Overflow-checked sizes, and checks of slices.

/// The number of elements of a matrix `[rows, cols]`.
///
/// # Panics
/// If it exceeds the address space.
pub(crate) fn area(rows: usize, cols: usize) -> usize {
    rows.checked_mul(cols)
        .unwrap_or_else(|| panic!("a matrix [{rows}, {cols}] is larger than the address space"))
}

/// Checks that `x` holds a vector or a matrix of this shape.
///
/// # Panics
/// If it does not; the message contains `name`.
#[track_caller]
pub(crate) fn assert_shape<T, const N: usize>(name: &str, x: &[T], shape: [usize; N]) {
    let expected = shape.into_iter().fold(1, area);
    assert_eq!(x.len(), expected, "`{name}` is {shape:?}");
}

/// [`assert_shape`] if there is an `x`.
#[track_caller]
pub(crate) fn assert_shape_if_any<const N: usize>(name: &str, x: Option<&[f32]>, shape: [usize; N]) {
    if let Some(x) = x {
        assert_shape(name, x, shape);
    }
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
            panic!(
                "a matrix [{rows}, {cols}] with strides {row_stride} and {col_stride} is larger than the \
                    address space"
            )
        })
}
