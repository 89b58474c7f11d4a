//! Normalization.

use super::NormKind;

/// A norm over the features of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormSpec {
    /// Kind of norm.
    pub kind: NormKind,
    /// ε, which keeps the divisor away from 0.
    pub epsilon: f64,
}
