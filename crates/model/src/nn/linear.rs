//! Linear maps.

use super::{Backend, Scope, Start, Storage};

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
        Self::starting(Start::Weight, d_in, d_out, bias, scope)
    }

    /// Makes a map whose output enters a residual connection, one of `n_sublayers` in its stack.
    pub fn residual(n_sublayers: usize, d_in: usize, d_out: usize, bias: bool, scope: &Scope<'_, S>) -> Self {
        Self::starting(Start::ResidualWeight { n_sublayers }, d_in, d_out, bias, scope)
    }

    fn starting(start: Start, d_in: usize, d_out: usize, bias: bool, scope: &Scope<'_, S>) -> Self {
        Self {
            weight: scope.matrix("weight", [d_out, d_in], start),
            bias: bias.then(|| scope.vector("bias", [d_out], Start::Bias { d_in })),
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
