//! Normalization.

use super::layout::Layout;
use super::{NormKind, Start};

/// A norm over the features of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    /// Kind of norm.
    pub kind: NormKind,
    /// ε, which keeps the divisor away from 0.
    pub epsilon: f64,
}

impl Norm {
    /// True if the norm has a bias besides its gain.
    pub fn has_bias(&self) -> bool {
        self.kind != NormKind::Rms
    }

    pub(super) fn lay_out(&self, name: &str, d: usize, layout: &mut Layout) {
        let width = match self.kind {
            NormKind::Layer | NormKind::Rms => d,
            NormKind::Scalar => 1,
        };
        layout.at(name, |layout| {
            layout.add("gain", [width], Start::Constant(1.0));
            if self.has_bias() {
                layout.add("bias", [width], Start::Constant(0.0));
            }
        });
    }
}
