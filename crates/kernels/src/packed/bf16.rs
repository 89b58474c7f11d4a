//! Packed weights in bfloat16.

use std::fmt;

use super::PackedError;
use super::layout::{check_len, pack, row};
use super::lines::{self, Line};
use crate::area::area;
use crate::gemm::bf16;

/// A packed weight `[n, k]` in bfloat16.
#[derive(Clone, Copy, Debug)]
pub struct PackedBf16<'a> {
    n: usize,
    k: usize,
    values: &'a [u16],
}

impl<'a> PackedBf16<'a> {
    /// The weight `[n, k]` whose packed values, the upper halves of `f32`, are `values`.
    pub fn new(n: usize, k: usize, values: &'a [u16]) -> Result<Self, PackedError> {
        check_len::<u16>(n, k, values.len())?;
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

    /// The packed values, the upper halves of `f32`.
    pub fn values(self) -> &'a [u16] {
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
        assert!(n < self.n, "row {n} of {}", self.n);
        assert_eq!(out.len(), self.k, "`out` is [{}]", self.k);
        for (out, word) in out.chunks_mut(2).zip(row(self.values, self.k, n)) {
            for (out, &x) in out.iter_mut().zip(word) {
                *out = bf16::widen(x);
            }
        }
    }
}

/// A packed weight in bfloat16 that owns its values.
#[derive(Clone)]
pub struct PackedBf16Buf {
    n: usize,
    k: usize,
    lines: Vec<Line>,
}

impl PackedBf16Buf {
    /// Rounds the row-major `weight` `[n, k]` to the nearest bfloat16 numbers, ties to even, and packs it.
    ///
    /// # Panics
    /// If `weight` does not have n · k elements.
    pub fn pack(weight: &[f32], n: usize, k: usize) -> Self {
        assert_eq!(weight.len(), area(n, k), "`weight` is [{n}, {k}]");
        let lines = pack(n, k, |row, out: &mut [u16]| {
            bf16::narrow_into(&weight[row * k..][..k], out);
        });
        Self { n, k, lines }
    }

    /// The weight.
    pub fn view(&self) -> PackedBf16<'_> {
        PackedBf16 {
            n: self.n,
            k: self.k,
            values: lines::numbers(&self.lines),
        }
    }
}

impl fmt::Debug for PackedBf16Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, k, .. } = self;
        write!(f, "PackedBf16Buf [{n}, {k}]")
    }
}
