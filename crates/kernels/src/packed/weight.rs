//! A packed weight of any precision.

use super::{PackedBf16, PackedBf16Buf, PackedF32, PackedF32Buf, PackedInt8, PackedInt8Buf, Precision};

/// A packed weight `[n, k]`.
#[derive(Clone, Copy, Debug)]
pub enum PackedWeight<'a> {
    F32(PackedF32<'a>),
    /// In bfloat16.
    Bf16(PackedBf16<'a>),
    /// In 8-bit integers.
    Int8(PackedInt8<'a>),
}

impl PackedWeight<'_> {
    /// Output columns.
    pub fn n(&self) -> usize {
        match self {
            Self::F32(weight) => weight.n(),
            Self::Bf16(weight) => weight.n(),
            Self::Int8(weight) => weight.n(),
        }
    }

    /// Input columns.
    pub fn k(&self) -> usize {
        match self {
            Self::F32(weight) => weight.k(),
            Self::Bf16(weight) => weight.k(),
            Self::Int8(weight) => weight.k(),
        }
    }

    pub fn precision(&self) -> Precision {
        match self {
            Self::F32(_) => Precision::F32,
            Self::Bf16(_) => Precision::Bf16,
            Self::Int8(_) => Precision::Int8,
        }
    }

    /// Row `n` of the weight.
    ///
    /// # Panics
    /// If `n` is not a row, or `out` does not have k elements.
    pub fn row(&self, n: usize, out: &mut [f32]) {
        match self {
            Self::F32(weight) => weight.row(n, out),
            Self::Bf16(weight) => weight.row(n, out),
            Self::Int8(weight) => weight.row(n, out),
        }
    }
}

/// A packed weight that owns its values.
#[derive(Clone, Debug)]
pub enum PackedWeightBuf {
    F32(PackedF32Buf),
    /// In bfloat16.
    Bf16(PackedBf16Buf),
    /// In 8-bit integers.
    Int8(PackedInt8Buf),
}

impl PackedWeightBuf {
    /// Packs the row-major `weight` `[n, k]`.
    ///
    /// # Panics
    /// If `weight` does not have n · k elements, or k exceeds [`super::MAX_INT8_K`] for [`Precision::Int8`].
    pub fn pack(precision: Precision, weight: &[f32], n: usize, k: usize) -> Self {
        match precision {
            Precision::F32 => Self::F32(PackedF32Buf::pack(weight, n, k)),
            Precision::Bf16 => Self::Bf16(PackedBf16Buf::pack(weight, n, k)),
            Precision::Int8 => Self::Int8(PackedInt8Buf::pack(weight, n, k)),
        }
    }

    /// The weight.
    pub fn view(&self) -> PackedWeight<'_> {
        match self {
            Self::F32(weight) => PackedWeight::F32(weight.view()),
            Self::Bf16(weight) => PackedWeight::Bf16(weight.view()),
            Self::Int8(weight) => PackedWeight::Int8(weight.view()),
        }
    }
}
