//! Weight matrices as decoding reads them.

use std::ops::Range;
use std::sync::Arc;

use attentive_kernels::mapped::Mapped;
use attentive_kernels::packed::{
    PackedBf16, PackedError, PackedF32, PackedInt8, PackedWeight, PackedWeightBuf,
};

use super::Precision;
use super::input_probe::InputProbe;

/// A weight matrix `[d_out, d_in]`, packed for products.
#[derive(Debug)]
pub struct Matrix {
    values: MatrixValues,
    probe: Option<Arc<InputProbe>>,
}

#[derive(Debug)]
enum MatrixValues {
    Owned(PackedWeightBuf),
    File { file: Arc<Mapped>, shape: [usize; 2], ranges: PackedRanges },
}

impl From<MatrixValues> for Matrix {
    fn from(values: MatrixValues) -> Self {
        Self { values, probe: None }
    }
}

/// The byte ranges of a packed matrix in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackedRanges {
    /// See [`PackedF32`].
    F32(Range<usize>),
    /// See [`PackedBf16`].
    Bf16(Range<usize>),
    /// See [`PackedInt8`].
    Int8 {
        /// The integers.
        values: Range<usize>,
        /// A scale for each row.
        scales: Range<usize>,
        /// The sum of each row's integers.
        sums: Range<usize>,
    },
}

impl Matrix {
    /// Packs `values`, `[d_out, d_in]` row after row.
    pub fn new(precision: Precision, values: &[f32], d_out: usize, d_in: usize) -> Self {
        let packed = PackedWeightBuf::pack(precision, values, d_out, d_in);
        MatrixValues::Owned(packed).into()
    }

    /// The same matrix, whose products measure or round their inputs.
    pub fn probed(self, probe: Option<Arc<InputProbe>>) -> Self {
        Self { probe, ..self }
    }

    /// What measures or rounds the inputs of products.
    pub(super) fn probe(&self) -> Option<&InputProbe> {
        self.probe.as_deref()
    }

    /// The packed matrix `shape` at `ranges` of `file`.
    ///
    /// # Errors
    /// Ranges that do not fit the shape, or are not aligned.
    ///
    /// # Panics
    /// If the ranges are not in the file.
    pub fn mapped(file: Arc<Mapped>, shape: [usize; 2], ranges: PackedRanges) -> Result<Self, PackedError> {
        view(&file, shape, &ranges)?;
        Ok(MatrixValues::File { file, shape, ranges }.into())
    }

    /// The weight as kernels read it.
    pub fn view(&self) -> PackedWeight<'_> {
        match &self.values {
            MatrixValues::Owned(packed) => packed.view(),
            MatrixValues::File { file, shape, ranges } => {
                view(file, *shape, ranges).expect("checked when it was opened")
            }
        }
    }

    pub fn d_out(&self) -> usize {
        self.view().n()
    }

    pub fn d_in(&self) -> usize {
        self.view().k()
    }

    pub fn precision(&self) -> Precision {
        self.view().precision()
    }

    /// Copies row `row` to `out`.
    pub(super) fn row(&self, row: usize, out: &mut [f32]) {
        self.view().row(row, out);
    }

    /// All rows, one after the other.
    pub fn unpacked(&self) -> Vec<f32> {
        let (weight, d_in) = (self.view(), self.d_in());
        let mut values = vec![0.0; weight.n() * d_in];
        for (row, out) in values.chunks_exact_mut(d_in.max(1)).enumerate() {
            weight.row(row, out);
        }
        values
    }
}

fn view<'a>(
    file: &'a Mapped,
    [n, k]: [usize; 2],
    ranges: &PackedRanges,
) -> Result<PackedWeight<'a>, PackedError> {
    let bytes = |range: &Range<usize>| &file[range.clone()];
    Ok(match ranges {
        PackedRanges::F32(values) => PackedWeight::F32(PackedF32::from_bytes(n, k, bytes(values))?),
        PackedRanges::Bf16(values) => PackedWeight::Bf16(PackedBf16::from_bytes(n, k, bytes(values))?),
        PackedRanges::Int8 { values, scales, sums } => {
            let (values, scales, sums) = (bytes(values), bytes(scales), bytes(sums));
            PackedWeight::Int8(PackedInt8::from_bytes(n, k, values, scales, sums)?)
        }
    })
}
