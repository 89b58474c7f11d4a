//! Norms.

use attentive_architecture::{self as architecture, NormKind};

use super::{Backend, Scope, Storage};

/// A norm over the features of each row.
#[derive(Clone, Debug)]
pub struct Norm<S: Storage> {
    /// `[d_model]`, or `[1]` for the scalar variant.
    pub gain: S::Vector,
    /// As `gain`; absent for the root mean square norm.
    pub bias: Option<S::Vector>,
    pub(crate) kind: NormKind,
    pub(crate) epsilon: f64,
}

impl<S: Storage> Norm<S> {
    /// Makes the norm at `scope`.
    pub fn new(norm: &architecture::Norm, scope: Scope<'_, S>) -> Self {
        Self {
            gain: scope.vector("gain"),
            bias: norm.kind.has_bias().then(|| scope.vector("bias")),
            kind: norm.kind,
            epsilon: norm.epsilon,
        }
    }

    /// Maps rows `[rows, d_model]` to rows of the same shape.
    pub fn forward<B: Backend<Storage = S>>(&self, x: &B::Value, backend: &mut B) -> B::Value {
        backend.norm(x, self)
    }
}
