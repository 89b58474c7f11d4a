//! Read-only views of the operands.

use crate::area::reach;
use crate::prefetch::prefetch;

/// A strided matrix: element (i, j) is `data[i * row_stride + j * col_stride]`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The elements.
    pub data: &'a [f32],
    /// Distance between consecutive rows.
    pub row_stride: usize,
    /// Distance between consecutive columns.
    pub col_stride: usize,
}

impl<'a> View<'a> {
    /// A row-major matrix with `cols` columns.
    pub fn rows(data: &'a [f32], cols: usize) -> Self {
        Self { data, row_stride: cols, col_stride: 1 }
    }

    /// The transpose of a row-major matrix with `cols` columns.
    pub fn transposed(data: &'a [f32], cols: usize) -> Self {
        Self { data, row_stride: 1, col_stride: cols }
    }

    /// The submatrix that starts at (`row`, `col`).
    pub(crate) fn from(self, row: usize, col: usize) -> Self {
        let start = row * self.row_stride + col * self.col_stride;
        Self { data: self.data.get(start..).unwrap_or_default(), ..self }
    }

    /// The first `cols` elements of a row, which must be contiguous.
    pub(crate) fn row(self, row: usize, cols: usize) -> &'a [f32] {
        debug_assert_eq!(self.col_stride, 1, "the row must be contiguous");
        &self.data[row * self.row_stride..][..cols]
    }

    /// Asks the processor to load the first `rows` rows and `cols` columns, which must be contiguous in a
    /// row.
    pub(crate) fn prefetch(self, rows: usize, cols: usize) {
        debug_assert_eq!(self.col_stride, 1, "the rows must be contiguous");
        prefetch(self.data.as_ptr(), self.row_stride, [rows, cols]);
    }

    /// The transpose.
    pub(crate) fn t(self) -> Self {
        Self { data: self.data, row_stride: self.col_stride, col_stride: self.row_stride }
    }

    pub(crate) fn assert_holds(self, name: &str, rows: usize, cols: usize) {
        let needed = reach(rows, cols, self.row_stride, self.col_stride);
        assert!(needed <= self.data.len(), "`{name}` needs {needed} elements but has {}", self.data.len());
    }
}
