//! Linear maps.

use std::sync::Arc;

use attentive_kernels::gemm::Activation;
use attentive_kernels::packed::{PackedAffine, linear_packed_add, linear_packed_joined};

use super::matrix::Matrix;
use super::profile::{self, Part};

/// y = x·Wᵀ + b.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) weight: Arc<Matrix>,
    pub(super) bias: Option<Vec<f32>>,
}

impl Linear {
    /// Columns of the result.
    pub(super) fn d_out(&self) -> usize {
        self.weight.d_out()
    }

    /// Maps `rows` rows of `x` to `out`.
    pub(super) fn apply(&self, rows: usize, x: &[f32], out: &mut [f32]) {
        self.apply_with(rows, x, Activation::Identity, out);
    }

    /// As [`Linear::apply`], followed by `activation`.
    pub(super) fn apply_with(
        &self,
        rows: usize,
        x: &[f32],
        activation: Activation,
        out: &mut [f32],
    ) {
        let maps = [self.affine()];
        profile::time(Part::Linear, || {
            linear_packed_joined(rows, x, &maps, activation, out);
        });
    }

    /// Adds the result, without a bias, to `out`.
    pub(super) fn add(&self, rows: usize, x: &[f32], out: &mut [f32]) {
        profile::time(Part::Linear, || {
            linear_packed_add(rows, x, self.weight.view(), out);
        });
    }

    /// The results of several maps side by side, `[rows, Σ d_out]`.
    pub(super) fn side_by_side<const N: usize>(
        maps: [&Self; N],
        rows: usize,
        x: &[f32],
        out: &mut [f32],
    ) {
        let maps = maps.map(Self::affine);
        profile::time(Part::Linear, || {
            linear_packed_joined(rows, x, &maps, Activation::Identity, out);
        });
    }

    fn affine(&self) -> PackedAffine<'_> {
        PackedAffine {
            weight: self.weight.view(),
            bias: self.bias.as_deref(),
        }
    }
}
