//! Linear maps with packed weights.

use std::borrow::Cow;

use attentive_kernels::gemm::Activation;
use attentive_kernels::packed::{PackedAffine, linear_packed_add, linear_packed_joined};

use super::packed::Packed;
use super::profile::{self, ProfileSection};

/// y = x·Wᵀ + b.
pub(super) type PackedLinear = crate::nn::Linear<Packed>;

impl PackedLinear {
    /// Columns of the input.
    pub(super) fn d_in(&self) -> usize {
        self.weight.d_in()
    }

    /// Columns of the result.
    pub(super) fn d_out(&self) -> usize {
        self.weight.d_out()
    }

    /// Maps `rows` rows of `x` to `out`.
    pub(super) fn apply(&self, rows: usize, x: &[f32], out: &mut [f32]) {
        Self::side_by_side(&[self], rows, x, Activation::Identity, out);
    }

    /// Adds the result, without a bias, to `out`.
    pub(super) fn add(&self, rows: usize, x: &[f32], out: &mut [f32]) {
        profile::time(ProfileSection::Linear, || {
            linear_packed_add(rows, x, self.weight.view(), out);
        });
    }

    /// The results of several maps side by side, `[rows, Σ d_out]`, followed by `activation`.
    pub(super) fn side_by_side(
        maps: &[&Self],
        rows: usize,
        x: &[f32],
        activation: Activation,
        out: &mut [f32],
    ) {
        let x = Self::probed(maps, x);
        let maps: Vec<PackedAffine<'_>> = maps.iter().map(|map| map.affine()).collect();
        profile::time(ProfileSection::Linear, || {
            linear_packed_joined(rows, &x, &maps, activation, out);
        });
    }

    /// The input `x` of `maps`, measured for each of them, or rounded.
    pub(super) fn probed<'x>(maps: &[&Self], x: &'x [f32]) -> Cow<'x, [f32]> {
        let probes = maps.iter().filter_map(|map| map.weight.probe());
        probes.fold(Cow::Borrowed(x), |_, probe| probe.applied(x))
    }

    fn affine(&self) -> PackedAffine<'_> {
        PackedAffine { weight: self.weight.view(), bias: self.bias.as_ref().map(|bias| bias.as_slice()) }
    }
}
