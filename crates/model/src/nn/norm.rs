//! Norms.

use attentive_architecture::{self as architecture, NormKind};

use super::{Backend, ParameterInit, Scope, Storage};

/// A norm over the features of each row.
#[derive(Clone, Debug)]
pub struct Norm<S: Storage> {
    /// `[d_model]`, or `[1]` for the scalar variant.
    pub gain: S::Vector,
    /// As `gain`, if the kind has one.
    pub bias: Option<S::Vector>,
    pub(crate) kind: NormKind,
    pub(crate) epsilon: f64,
}

impl<S: Storage> Norm<S> {
    /// Makes the norm of rows of `d` features at `scope`.
    pub fn new(norm: &architecture::NormSpec, d: usize, scope: &Scope<'_, S>) -> Self {
        let width = norm.kind.width(d);
        let vector = |name, value| scope.vector(name, [width], ParameterInit::Constant(value));
        Self {
            gain: vector("gain", 1.0),
            bias: norm.kind.has_bias().then(|| vector("bias", 0.0)),
            kind: norm.kind,
            epsilon: norm.epsilon,
        }
    }

    /// Maps rows `[rows, d_model]` to rows of the same shape.
    pub fn forward<B: Backend<Storage = S>>(&self, x: &B::Value, backend: &mut B) -> B::Value {
        backend.norm(x, self)
    }
}
