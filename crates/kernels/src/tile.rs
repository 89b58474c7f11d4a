//! A rectangle of a row-major matrix that one thread may write while others write elsewhere in the same
//! matrix.

use std::marker::PhantomData;

use crate::area::reach;
use crate::prefetch::prefetch;

/// A mutable view of a rectangle.
pub(crate) struct TileMut<'a> {
    data: *mut f32,
    row_stride: usize,
    rows: usize,
    cols: usize,
    borrow: PhantomData<&'a mut [f32]>,
}

// SAFETY: a tile represents a mutable borrow of `f32`s, which may move between threads.
unsafe impl Send for TileMut<'_> {}
// SAFETY: shared references give access to the elements only through the `unsafe` method `part`.
unsafe impl Sync for TileMut<'_> {}

impl<'a> TileMut<'a> {
    /// A matrix `[rows, cols]` with stride `row_stride` in `data`.
    pub(crate) fn new(data: &'a mut [f32], rows: usize, cols: usize, row_stride: usize) -> Self {
        let needed = reach(rows, cols, row_stride, 1);
        assert!(needed <= data.len(), "a matrix needs {needed} elements, but its slice has {}", data.len());
        assert!(cols <= row_stride || rows <= 1, "rows of {cols} overlap at a stride of {row_stride}");
        Self { data: data.as_mut_ptr(), row_stride, rows, cols, borrow: PhantomData }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    /// Distance between the starts of consecutive rows.
    pub(crate) fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Asks the processor to load all elements, which will be written.
    pub(crate) fn prefetch(&self) {
        self.prefetch_part([0, 0], [self.rows, self.cols]);
    }

    /// Asks the processor to load the part of the rectangle `[rows, cols]` at (`row`, `col`) that lies in the
    /// tile, which will be written.
    pub(crate) fn prefetch_part(&self, [row, col]: [usize; 2], [rows, cols]: [usize; 2]) {
        if row < self.rows && col < self.cols {
            let start = self.data.wrapping_add(row * self.row_stride + col);
            let there = [rows.min(self.rows - row), cols.min(self.cols - col)];
            prefetch(start, self.row_stride, there);
        }
    }

    /// The rectangle `[rows, cols]` that starts at (`row`, `col`).
    ///
    /// # Safety
    /// Nothing else may access these elements while the part is in use.
    pub(crate) unsafe fn part(&self, row: usize, col: usize, rows: usize, cols: usize) -> TileMut<'_> {
        assert!(
            row.checked_add(rows).is_some_and(|end| end <= self.rows),
            "rows {row} + {rows} of {}",
            self.rows
        );
        assert!(
            col.checked_add(cols).is_some_and(|end| end <= self.cols),
            "columns {col} + {cols} of {}",
            self.cols
        );
        // An empty part may start after the end of the matrix.
        let offset = if rows == 0 || cols == 0 { 0 } else { row * self.row_stride + col };
        // SAFETY: the offset lies inside the matrix by the assertions above.
        let data = unsafe { self.data.add(offset) };
        TileMut { data, row_stride: self.row_stride, rows, cols, borrow: PhantomData }
    }

    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f32] {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        // SAFETY: the row lies inside the matrix, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(row * self.row_stride), self.cols) }
    }

    /// The address of the element (`row`, `col`).
    pub(crate) fn address(&mut self, row: usize, col: usize) -> *mut f32 {
        assert!(row < self.rows && col < self.cols, "({row}, {col}) of ({}, {})", self.rows, self.cols);
        // SAFETY: the element lies inside the matrix.
        unsafe { self.data.add(row * self.row_stride + col) }
    }
}
