//! Weight matrices as decoding reads them.

use attentive_kernels::packed::{PackedWeight, PackedWeightBuf, WeightType};

use super::Precision;

/// A weight matrix `[d_out, d_in]`, packed for products.
#[derive(Debug)]
pub struct Matrix(PackedWeightBuf);

impl Matrix {
    /// Packs `values`, `[d_out, d_in]` row after row.
    pub fn new(precision: Precision, values: &[f32], d_out: usize, d_in: usize) -> Self {
        let weight_type = match precision {
            Precision::F32 => WeightType::F32,
            Precision::Bf16 => WeightType::Bf16,
            Precision::Int8 => WeightType::Int8,
        };
        Self(PackedWeightBuf::pack(weight_type, values, d_out, d_in))
    }

    /// The weight as kernels read it.
    pub(super) fn view(&self) -> PackedWeight<'_> {
        self.0.view()
    }

    /// d_out
    pub fn d_out(&self) -> usize {
        self.view().n()
    }

    /// d_in
    pub fn d_in(&self) -> usize {
        self.view().k()
    }

    /// The number type.
    pub fn precision(&self) -> Precision {
        match self.view() {
            PackedWeight::F32(_) => Precision::F32,
            PackedWeight::Bf16(_) => Precision::Bf16,
            PackedWeight::Int8(_) => Precision::Int8,
        }
    }

    /// Copies row `row` to `out`.
    pub(super) fn row(&self, row: usize, out: &mut [f32]) {
        self.view().row(row, out);
    }
}
