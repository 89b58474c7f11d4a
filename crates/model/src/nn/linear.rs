//! Linear maps.

use super::{Backend, Scope, Storage};

/// y = x·Wᵀ + b.
#[derive(Clone, Debug)]
pub struct Linear<S: Storage> {
    /// `[d_out, d_in]`
    pub weight: S::Matrix,
    /// `[d_out]`
    pub bias: Option<S::Vector>,
}

impl<S: Storage> Linear<S> {
    /// Makes the map at `scope`.
    pub fn new(bias: bool, scope: Scope<'_, S>) -> Self {
        Self { weight: scope.matrix("weight"), bias: bias.then(|| scope.vector("bias")) }
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
