//! Packed weights in 8-bit integers.

use std::fmt;
use std::sync::Mutex;

use super::PackedError;
use super::layout::{check_len, pack, unpack_row};
use super::lines::{self, PanelLine};
use crate::area::assert_shape;
use crate::gemm::int8::quantize;

/// The most columns of an input in 8-bit integers: no sum of so many products can overflow.
pub const MAX_INT8_K: usize = i32::MAX as usize / (128 * 128);

/// A packed weight `[n, k]` in 8-bit integers. Row i of the weight is `scales[i]` times its integers, which
/// lie in −127..=127.
#[derive(Clone, Copy, Debug)]
pub struct PackedInt8<'a> {
    n: usize,
    k: usize,
    values: &'a [i8],
    scales: &'a [f32],
    sums: &'a [i32],
}

impl<'a> PackedInt8<'a> {
    /// The weight `[n, k]` whose packed integers are `values`, with a scale and the sum of the integers for
    /// each row.
    pub fn new(
        n: usize,
        k: usize,
        values: &'a [i8],
        scales: &'a [f32],
        sums: &'a [i32],
    ) -> Result<Self, PackedError> {
        if k > MAX_INT8_K {
            let most = MAX_INT8_K;
            return Err(PackedError::Depth { k, most });
        }
        check_len::<i8>(n, k, values.len())?;
        for (what, found) in [("scales", scales.len()), ("sums", sums.len())] {
            if found != n {
                let expected = Some(n);
                return Err(PackedError::Length { what, expected, found });
            }
        }
        Ok(Self { n, k, values, scales, sums })
    }

    /// The weight `[n, k]` whose packed integers, scales and sums are stored in bytes.
    pub fn from_bytes(
        n: usize,
        k: usize,
        values: &'a [u8],
        scales: &'a [u8],
        sums: &'a [u8],
    ) -> Result<Self, PackedError> {
        let misaligned = |what| PackedError::Alignment { what };
        Self::new(
            n,
            k,
            lines::from_bytes(values).ok_or(misaligned("values"))?,
            lines::from_bytes(scales).ok_or(misaligned("scales"))?,
            lines::from_bytes(sums).ok_or(misaligned("sums"))?,
        )
    }

    /// Output columns.
    pub fn n(self) -> usize {
        self.n
    }

    /// Input columns.
    pub fn k(self) -> usize {
        self.k
    }

    /// The packed integers.
    pub fn values(self) -> &'a [i8] {
        self.values
    }

    /// The factor of the integers of each row, `[n]`.
    pub fn scales(self) -> &'a [f32] {
        self.scales
    }

    /// The sum of the integers of each row, `[n]`.
    pub fn sums(self) -> &'a [i32] {
        self.sums
    }

    /// The packed integers, the scales and the sums as bytes.
    pub fn as_bytes(self) -> [&'a [u8]; 3] {
        [lines::bytes(self.values), lines::bytes(self.scales), lines::bytes(self.sums)]
    }

    /// Row `n` of the weight: scale times integers.
    ///
    /// # Panics
    /// If `n` is not a row, or `out` does not have k elements.
    pub fn row(self, n: usize, out: &mut [f32]) {
        let scale = |q| f32::from(q) * self.scales[n];
        unpack_row(self.values, [self.n, self.k], n, out, scale);
    }
}

/// A packed weight in 8-bit integers that owns its values.
#[derive(Clone)]
pub struct PackedInt8Buf {
    n: usize,
    k: usize,
    lines: Vec<PanelLine>,
    scales: Vec<f32>,
    sums: Vec<i32>,
}

impl PackedInt8Buf {
    /// Quantizes the row-major `weight` `[n, k]`, symmetrically per row, and packs it. The scale of a row is
    /// its largest absolute value divided by 127, and its integers are rounded to nearest, ties to even. It
    /// is NaN for a row with a number that is not finite, and zero for a row of zeros (or of numbers below
    /// 1.5e-36).
    ///
    /// # Panics
    /// If `weight` does not have n · k elements, or k exceeds [`MAX_INT8_K`].
    pub fn pack(weight: &[f32], n: usize, k: usize) -> Self {
        assert_shape("weight", weight, [n, k]);
        assert!(k <= MAX_INT8_K, "{k} columns exceed {MAX_INT8_K}, the most for products of 8-bit integers");
        let factors = Mutex::new((vec![0.0; n], vec![0; n]));
        let lines = pack(n, k, |row, out: &mut [i8]| {
            let scale = quantize(&weight[row * k..][..k], out);
            let sum = out.iter().map(|&q| i32::from(q)).sum();
            let mut factors = factors.lock().unwrap_or_else(|error| error.into_inner());
            (factors.0[row], factors.1[row]) = (scale, sum);
        });
        let (scales, sums) = factors.into_inner().unwrap_or_else(|error| error.into_inner());
        Self { n, k, lines, scales, sums }
    }

    /// The weight.
    pub fn view(&self) -> PackedInt8<'_> {
        PackedInt8 {
            n: self.n,
            k: self.k,
            values: lines::numbers(&self.lines),
            scales: &self.scales,
            sums: &self.sums,
        }
    }
}

impl fmt::Debug for PackedInt8Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, k, .. } = self;
        write!(f, "PackedInt8Buf [{n}, {k}]")
    }
}
