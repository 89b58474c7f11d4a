//! Packed weights in floating-point numbers.

use std::marker::PhantomData;
use std::{any, fmt};

use super::PackedError;
use super::layout::{check_len, pack, unpack_row};
use super::lines::{self, Number, PanelLine};
use crate::area::assert_shape;
use crate::gemm::bf16;

/// The numbers of a packed weight.
pub trait PackedElement: Number + Send + Sync {
    /// Rounds all elements of `x` into `out`.
    fn round_into(x: &[f32], out: &mut [Self]);

    /// The same number as an `f32`.
    fn widen(self) -> f32;
}

impl PackedElement for f32 {
    fn round_into(x: &[f32], out: &mut [Self]) {
        out.copy_from_slice(x);
    }

    fn widen(self) -> f32 {
        self
    }
}

/// The upper half of an `f32`: a bfloat16.
impl PackedElement for u16 {
    fn round_into(x: &[f32], out: &mut [Self]) {
        bf16::narrow_into(x, out);
    }

    fn widen(self) -> f32 {
        bf16::widen(self)
    }
}

/// A packed weight `[n, k]` in `f32`.
pub type PackedF32<'a> = PackedFloat<'a, f32>;
/// A packed weight `[n, k]` in bfloat16, the upper halves of `f32`.
pub type PackedBf16<'a> = PackedFloat<'a, u16>;
/// A packed weight in `f32` that owns its values.
pub type PackedF32Buf = PackedFloatBuf<f32>;
/// A packed weight in bfloat16 that owns its values.
pub type PackedBf16Buf = PackedFloatBuf<u16>;

/// A packed weight `[n, k]` in floating-point numbers.
#[derive(Clone, Copy, Debug)]
pub struct PackedFloat<'a, T> {
    n: usize,
    k: usize,
    values: &'a [T],
}

impl<'a, T: PackedElement> PackedFloat<'a, T> {
    /// The weight `[n, k]` whose packed values are `values`.
    pub fn new(n: usize, k: usize, values: &'a [T]) -> Result<Self, PackedError> {
        check_len::<T>(n, k, values.len())?;
        Ok(Self { n, k, values })
    }

    /// The weight `[n, k]` whose packed values are stored in `bytes`.
    pub fn from_bytes(n: usize, k: usize, bytes: &'a [u8]) -> Result<Self, PackedError> {
        let values = lines::from_bytes(bytes).ok_or(PackedError::Alignment { what: "values" })?;
        Self::new(n, k, values)
    }

    /// Output columns.
    pub fn n(self) -> usize {
        self.n
    }

    /// Input columns.
    pub fn k(self) -> usize {
        self.k
    }

    /// The packed values.
    pub fn values(self) -> &'a [T] {
        self.values
    }

    /// The packed values as bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        lines::bytes(self.values)
    }

    /// Row `n` of the weight.
    ///
    /// # Panics
    /// If `n` is not a row, or `out` does not have k elements.
    pub fn row(self, n: usize, out: &mut [f32]) {
        unpack_row(self.values, [self.n, self.k], n, out, T::widen);
    }
}

/// A packed weight in floating-point numbers that owns its values.
#[derive(Clone)]
pub struct PackedFloatBuf<T> {
    n: usize,
    k: usize,
    lines: Vec<PanelLine>,
    numbers: PhantomData<T>,
}

impl<T: PackedElement> PackedFloatBuf<T> {
    /// Rounds the row-major `weight` `[n, k]` to the nearest numbers, ties to even, and packs it.
    ///
    /// # Panics
    /// If `weight` does not have n · k elements.
    pub fn pack(weight: &[f32], n: usize, k: usize) -> Self {
        assert_shape("weight", weight, [n, k]);
        let lines = pack(n, k, |row, out: &mut [T]| {
            T::round_into(&weight[row * k..][..k], out);
        });
        let numbers = PhantomData;
        Self { n, k, lines, numbers }
    }

    /// The weight.
    pub fn view(&self) -> PackedFloat<'_, T> {
        PackedFloat { n: self.n, k: self.k, values: lines::numbers(&self.lines) }
    }
}

impl<T> fmt::Debug for PackedFloatBuf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, k, .. } = self;
        write!(f, "PackedFloatBuf<{}> [{n}, {k}]", any::type_name::<T>())
    }
}
