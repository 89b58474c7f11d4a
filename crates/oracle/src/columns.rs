//! Columns of matrices.

/// `count` columns of a matrix with `width` columns, from `first` on.
pub(super) fn copied(x: &[f64], width: usize, first: usize, count: usize) -> Vec<f64> {
    let rows = x.chunks_exact(width.max(1));
    rows.flat_map(|row| &row[first..first + count]).copied().collect()
}

/// Writes `part`, a matrix with `count` columns, into the columns of `x` from `first` on, which has `width`
/// columns.
pub(super) fn written(x: &mut [f64], width: usize, first: usize, part: &[f64], count: usize) {
    let rows = x.chunks_exact_mut(width.max(1));
    for (row, part) in rows.zip(part.chunks_exact(count.max(1))) {
        row[first..first + count].copy_from_slice(part);
    }
}
