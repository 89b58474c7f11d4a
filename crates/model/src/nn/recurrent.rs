//! Recurrent layers.

use attentive_kernels::recurrent::{CellKind, Direction};

use super::{Backend, Linear, Scope, Storage};

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
    /// Makes the layer at `scope`, of `d` features.
    pub fn new(cell: CellKind, direction: Direction, d: usize, scope: Scope<'_, S>) -> Self {
        let has_hidden = cell != CellKind::Ssru;
        Self {
            forget: (!has_hidden).then(|| Linear::new(true, scope.at("forget"))),
            input: Linear::new(has_hidden, scope.at("input")),
            hidden: has_hidden.then(|| Linear::new(true, scope.at("hidden"))),
            cell,
            direction,
            d,
        }
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
