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
    pub(super) fn lay_out(&self, name: &str, d: usize, layout: &mut Layout) {
        let width = self.kind.width(d);
        layout.at(name, |layout| {
            layout.add("gain", [width], Start::Constant(1.0));
            if self.kind.has_bias() {
                layout.add("bias", [width], Start::Constant(0.0));
            }
        });
    }
}
