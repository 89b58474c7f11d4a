//! Memory of a GPU, and matrices in it.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DeviceRepr};

/// Numbers in the memory of a GPU. Dropped, its memory is free for what is queued later.
#[derive(Debug)]
pub struct Buffer<T> {
    /// At least one number, since the driver allocates no empty memory.
    pub(crate) slice: CudaSlice<T>,
    pub(crate) len: usize,
}

impl<T: DeviceRepr> Buffer<T> {
    /// How many numbers it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part of it that is a matrix.
    ///
    /// # Panics
    ///
    /// If the matrix reaches beyond the buffer.
    pub fn matrix(&self, shape: Shape) -> Matrix<'_, T> {
        shape.check(self.len());
        Matrix {
            buffer: self,
            shape,
        }
    }
}

/// Where a matrix lies in a buffer. The numbers of a row are neighbors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The place of its first number.
    pub start: usize,
    /// How many rows it has.
    pub rows: usize,
    /// How many numbers a row has.
    pub columns: usize,
    /// From the beginning of a row to that of the next.
    pub stride: usize,
}

impl Shape {
    /// A matrix at the beginning of a buffer, without gaps between rows.
    pub fn dense(rows: usize, columns: usize) -> Self {
        Self {
            start: 0,
            rows,
            columns,
            stride: columns,
        }
    }

    pub(crate) fn check(&self, len: usize) {
        assert!(
            self.stride >= self.columns,
            "the rows of a matrix do not overlap: {self:?}"
        );
        let end = match self.rows {
            0 => 0,
            rows => self.start + (rows - 1) * self.stride + self.columns,
        };
        assert!(end <= len, "{self:?} reaches beyond a buffer of {len}");
    }
}

/// A matrix in a buffer, to read.
#[derive(Debug)]
pub struct Matrix<'a, T> {
    buffer: &'a Buffer<T>,
    pub(crate) shape: Shape,
}

impl<T> Clone for Matrix<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Matrix<'_, T> {}

impl<T> Matrix<'_, T> {
    pub(crate) fn address(&self, stream: &Arc<CudaStream>) -> CUdeviceptr {
        address(&self.buffer.slice, self.shape, stream)
    }
}

/// The address of the first number of a matrix. The stream is the only one, so nothing has to be waited for.
///
/// # Panics
/// If the matrix belongs to another [`crate::Cuda`].
pub(crate) fn address<T>(
    slice: &CudaSlice<T>,
    shape: Shape,
    stream: &Arc<CudaStream>,
) -> CUdeviceptr {
    assert!(
        Arc::ptr_eq(slice.stream(), stream),
        "a buffer of another `Cuda`"
    );
    let (address, _) = slice.device_ptr(stream);
    address + (shape.start * size_of::<T>()) as CUdeviceptr
}
