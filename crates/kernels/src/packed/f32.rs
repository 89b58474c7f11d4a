//! Packed weights in `f32`.

use std::fmt;

use super::PackedError;
use super::layout::{check_len, pack, row};
use super::lines::{self, Line};
use crate::area::area;

/// A packed weight `[n, k]` in `f32`.
#[derive(Clone, Copy, Debug)]
pub struct PackedF32<'a> {
    n: usize,
    k: usize,
    values: &'a [f32],
}

impl<'a> PackedF32<'a> {
    /// The weight `[n, k]` whose packed values are `values`.
    pub fn new(n: usize, k: usize, values: &'a [f32]) -> Result<Self, PackedError> {
        check_len::<f32>(n, k, values.len())?;
        Ok(Self { n, k, values })
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
    pub fn values(self) -> &'a [f32] {
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
        for (out, word) in out.iter_mut().zip(row(self.values, self.k, n)) {
            *out = word[0];
        }
    }
}

/// A packed weight in `f32` that owns its values.
#[derive(Clone)]
pub struct PackedF32Buf {
    n: usize,
    k: usize,
    lines: Vec<Line>,
}

impl PackedF32Buf {
    /// Packs the row-major `weight` `[n, k]`.
    ///
    /// # Panics
    /// If `weight` does not have n · k elements.
    pub fn pack(weight: &[f32], n: usize, k: usize) -> Self {
        assert_eq!(weight.len(), area(n, k), "`weight` is [{n}, {k}]");
        let lines = pack(n, k, |row, out: &mut [f32]| {
            out.copy_from_slice(&weight[row * k..][..k]);
        });
        Self { n, k, lines }
    }

    /// The weight.
    pub fn view(&self) -> PackedF32<'_> {
        PackedF32 {
            n: self.n,
            k: self.k,
            values: lines::numbers(&self.lines),
        }
    }
}

impl fmt::Debug for PackedF32Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, k, .. } = self;
        write!(f, "PackedF32Buf [{n}, {k}]")
    }
}
