//! Weight matrices as decoding reads them.

use attentive_kernels::gemm::Packed;

use super::Precision;

/// A weight matrix `[d_out, d_in]`, packed for products.
#[derive(Debug)]
pub struct Matrix {
    pub(super) packed: Packed,
    rows: Vec<f32>,
}

impl Matrix {
    /// Packs `values`, `[d_out, d_in]` row after row.
    pub fn new(values: &[f32], d_out: usize, d_in: usize) -> Self {
        Self {
            packed: Packed::transposed(values, d_out, d_in),
            rows: values.to_vec(),
        }
    }

    /// d_out
    pub fn d_out(&self) -> usize {
        self.packed.n()
    }

    /// d_in
    pub fn d_in(&self) -> usize {
        self.packed.k()
    }

    /// The number type of the products.
    pub(super) fn precision(&self) -> Precision {
        Precision::F32
    }

    /// Copies row `row` to `out`.
    pub(super) fn row(&self, row: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.rows[row * self.d_in()..][..self.d_in()]);
    }
}
