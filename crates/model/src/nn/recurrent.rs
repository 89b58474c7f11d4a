//! Recurrent layers.

use attentive_kernels::recurrent::{CellKind, Direction};

use super::{Backend, Linear, ParameterInit, Scope, Storage};

/// One direction of one recurrent layer.
#[derive(Clone, Debug)]
pub struct RecurrentLayer<S: Storage> {
    /// `[d, d_in]`: the forget gate of an SSRU, whose candidate is `input`.
    pub forget: Option<Linear<S>>,
    /// `[gates · d, d_in]`: maps the input to the gates, for all positions in one matrix product.
    pub input: Linear<S>,
    /// `[gates · d, d]`: maps the previous state to the gates; absent in an SSRU.
    pub hidden: Option<Linear<S>>,
    pub(crate) cell: CellKind,
    pub(crate) direction: Direction,
    pub(crate) d: usize,
}

impl<S: Storage> RecurrentLayer<S> {
    /// Makes the layer from `d_in` to `d` features at `scope`.
    pub fn new(cell: CellKind, direction: Direction, [d_in, d]: [usize; 2], scope: &Scope<'_, S>) -> Self {
        let gates = cell.gates() * d;
        let gated = |name, d_out: usize| {
            let scope = scope.at(name);
            let start = ParameterInit::GateBias { d, open: cell.forget_gate() };
            Linear {
                weight: scope.matrix("weight", [d_out, d_in], ParameterInit::Weight),
                bias: Some(scope.vector("bias", [d_out], start)),
            }
        };
        let (forget, input, hidden) = match cell {
            // The candidate has no bias, and no map reads the previous state (Kim et al. 2019).
            CellKind::Ssru => {
                (Some(gated("forget", d)), Linear::new(d_in, d, false, &scope.at("input")), None)
            }
            _ => (None, gated("input", gates), Some(Linear::new(d, gates, true, &scope.at("hidden")))),
        };
        Self { forget, input, hidden, cell, direction, d }
    }

    /// Returns the gates' projection of the input, `[rows, gates · d]`.
    pub(crate) fn project<B: Backend<Storage = S>>(&self, x: &B::Value, backend: &mut B) -> B::Value {
        match &self.forget {
            Some(forget) => backend.linear(x, &[forget, &self.input]),
            None => self.input.forward(x, backend),
        }
    }

    /// Returns the width of a state: h, then c if the cell has one.
    pub fn state_width(&self) -> usize {
        self.cell.states() * self.d
    }

    /// Returns the width of the projected input.
    pub(crate) fn gate_width(&self) -> usize {
        self.cell.gates() * self.d
    }
}
