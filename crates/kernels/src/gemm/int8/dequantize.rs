//! Dequantization: from integer sums to results.

use super::tile::MAX_TILE_COLS;
use crate::gemm::Activation;
use crate::tile::TileMut;

/// −0, which changes no number that it is added to.
pub(super) static NO_BIAS: [f32; MAX_TILE_COLS] = [-0.0; MAX_TILE_COLS];

/// What turns the sums of a tile into results: scales, bias and activation.
#[derive(Clone, Copy)]
pub(super) struct Dequantization<'a> {
    /// The first row and column in the output.
    pub(super) row: usize,
    pub(super) col: usize,
    pub(super) row_scales: &'a [f32],
    pub(super) col_scales: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) activation: Activation,
}

impl Dequantization<'_> {
    /// Results below this are 0.
    #[inline(always)]
    pub(super) fn floor(&self) -> f32 {
        match self.activation {
            Activation::Identity => f32::NEG_INFINITY,
            Activation::Relu => 0.0,
        }
    }
}

vectorized! {
    /// Writes the results of a tile, whose sums have the distance `stride` between rows.
    pub(super) fn write(sums: &[i32], stride: usize, dequantization: Dequantization<'_>, out: &mut TileMut<'_>) {
        let floor = dequantization.floor();
        let Dequantization { row, col, row_scales, col_scales, bias, .. } = dequantization;
        for (number, (&row_scale, sums)) in row_scales.iter().zip(sums.chunks_exact(stride)).enumerate() {
            let out = &mut out.row_mut(row + number)[col..][..col_scales.len()];
            let factors = sums.iter().zip(col_scales).zip(bias);
            for (out, ((&sum, &col_scale), &bias)) in out.iter_mut().zip(factors) {
                let y = sum as f32 * (row_scale * col_scale) + bias;
                *out = if y < floor { 0.0 } else { y };
            }
        }
    }
}
