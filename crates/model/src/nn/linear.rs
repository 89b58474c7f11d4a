//! Linear maps.

use super::{Backend, ParameterInit, Scope, Storage};

/// y = x·Wᵀ + b.
#[derive(Clone, Debug)]
pub struct Linear<S: Storage> {
    /// `[d_out, d_in]`
    pub weight: S::Matrix,
    /// `[d_out]`
    pub bias: Option<S::Vector>,
}

impl<S: Storage> Linear<S> {
    /// Makes a map from `d_in` to `d_out` features at `scope`.
    pub fn new(d_in: usize, d_out: usize, bias: bool, scope: &Scope<'_, S>) -> Self {
        Self::starting(ParameterInit::Weight, d_in, d_out, bias, scope)
    }

    /// Makes a map whose output enters a residual connection, one of `n_sublayers` in its stack.
    pub fn residual(n_sublayers: usize, d_in: usize, d_out: usize, bias: bool, scope: &Scope<'_, S>) -> Self {
        Self::starting(ParameterInit::ResidualWeight { n_sublayers }, d_in, d_out, bias, scope)
    }

    fn starting(start: ParameterInit, d_in: usize, d_out: usize, bias: bool, scope: &Scope<'_, S>) -> Self {
        Self {
            weight: scope.matrix("weight", [d_out, d_in], start),
            bias: bias.then(|| scope.vector("bias", [d_out], ParameterInit::Bias { d_in })),
        }
    }

    /// Maps rows.
    ///
    /// # Shapes
    /// - `x`: `[rows, d_in]`
    /// - result: `[rows, d_out]`
    pub fn forward<B: Backend<Storage = S>>(&self, x: &B::Value, backend: &mut B) -> B::Value {
        backend.linear(x, &[self])
    }
}
