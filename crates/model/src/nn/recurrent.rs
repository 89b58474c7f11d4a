//! Recurrent layers and encoders.

use attentive_architecture::{self as architecture, CellKind};
use attentive_tape::{self as tape, Cell, Direction, Lengths, Recurrence, Value};

use super::{Dropout, Linear, Pass, Scope};

/// One direction of one recurrent layer.
#[derive(Clone, Debug)]
pub struct RecurrentLayer {
    /// `[d, d_in]`: the forget gate of an SSRU, whose candidate is `input`.
    pub forget: Option<Linear>,
    /// `[gates · d, d_in]`: maps the input to the gates, for all positions in one matrix product.
    pub input: Linear,
    /// `[gates · d, d]`: maps the previous state to the gates; absent in an SSRU.
    pub hidden: Option<Linear>,
    cell: Cell,
    direction: Direction,
    d: usize,
}

impl RecurrentLayer {
    /// The layer at `scope`, of `d` features.
    pub fn new(kind: CellKind, direction: Direction, d: usize, scope: Scope<'_>) -> Self {
        let cell = match kind {
            CellKind::Rnn => Cell::Rnn,
            CellKind::Lstm => Cell::Lstm,
            CellKind::CoupledLstm => Cell::CoupledLstm,
            CellKind::Gru => Cell::Gru,
            CellKind::Ssru => Cell::Ssru,
        };
        let has_hidden = cell != Cell::Ssru;
        Self {
            forget: (!has_hidden).then(|| Linear::new(true, scope.at("forget"))),
            input: Linear::new(has_hidden, scope.at("input")),
            hidden: has_hidden.then(|| Linear::new(true, scope.at("hidden"))),
            cell,
            direction,
            d,
        }
    }

    /// The states of all positions: h, followed by c for cells that have one; zeros at padding.
    ///
    /// # Shapes
    /// - `x`: `[batch · len, d_in]`
    /// - `initial`: `[batch, states · d]`, zeros if absent
    /// - result: `[batch · len, states · d]`
    pub fn forward(
        &self,
        x: Value,
        lengths: &Lengths,
        initial: Option<Value>,
        pass: &Pass<'_>,
    ) -> Value {
        let projected = self.project(x, pass);
        let (cell, direction) = (self.cell, self.direction);
        tape::recurrent(
            cell,
            direction,
            lengths,
            projected,
            self.recurrence(initial, pass),
            pass.precision(),
        )
    }

    /// The gates' projection of the input, `[rows, gates · d]`.
    pub(super) fn project(&self, x: Value, pass: &Pass<'_>) -> Value {
        match &self.forget {
            Some(forget) => Linear::forward_all([forget, &self.input], x, pass),
            None => self.input.forward(x, pass),
        }
    }

    /// Width of a state, including c.
    pub fn state_width(&self) -> usize {
        self.cell.states() * self.d
    }

    /// The final states in the result of [`RecurrentLayer::forward`]: those of the last position, or of the first for a
    /// backward layer; `[batch, states · d]`.
    pub fn last(&self, states: &Value, lengths: &Lengths) -> Value {
        tape::select_rows(
            states.clone(),
            &match self.direction {
                Direction::Forward => lengths.last_rows(),
                Direction::Backward => lengths.first_rows(),
            },
        )
    }

    /// The part h of states, `[rows, d]`.
    pub fn hidden_part(&self, states: Value) -> Value {
        let [_, width] = states.shape();
        match self.cell.states() {
            1 => states,
            n => tape::columns(states, 0..width / n),
        }
    }

    /// The recurrence of the states.
    pub(super) fn recurrence(&self, initial: Option<Value>, pass: &Pass<'_>) -> Recurrence {
        Recurrence {
            hidden: self.hidden.as_ref().map(|map| map.as_map(pass)),
            initial,
        }
    }

    pub(super) fn cell(&self) -> Cell {
        self.cell
    }
}

/// A stack of forward or bidirectional recurrent layers.
#[derive(Clone, Debug)]
pub struct RecurrentEncoder {
    /// The layers, from the bottom up.
    pub layers: Vec<RecurrentEncoderLayer>,
}

/// The output of [`RecurrentEncoder`].
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The top layer's h, `[batch · len, d_hidden]`.
    pub memory: Value,
    /// The final state of each layer, `[batch, states · d_hidden]`.
    pub finals: Vec<Value>,
}

impl RecurrentEncoder {
    /// The stack at `scope`.
    pub fn new(stack: &architecture::RecurrentEncoder, scope: Scope<'_>) -> Self {
        let layers = scope.at("layers");
        let layer = |number| RecurrentEncoderLayer::new(stack, number, layers.at(number));
        Self {
            layers: (0..stack.n_layers).map(layer).collect(),
        }
    }

    /// Encodes `x`, `[batch · len, d_in]`. Dropout acts between layers.
    pub fn forward(&self, x: Value, lengths: &Lengths, pass: &Pass<'_>) -> Encoded {
        let mut memory = x;
        let mut finals = Vec::with_capacity(self.layers.len());
        for (number, layer) in self.layers.iter().enumerate() {
            let (output, last) = layer.forward(memory, lengths, pass);
            pass.observe(|| format!("encoder.layers.{number}"), &output);
            memory = output;
            finals.push(last);
        }
        Encoded { memory, finals }
    }
}

/// A forward layer or, with a second direction, a bidirectional one.
#[derive(Clone, Debug)]
pub struct RecurrentEncoderLayer {
    /// Reads from left to right.
    pub forward: RecurrentLayer,
    /// Reads from right to left (Schuster and Paliwal 1997).
    pub backward: Option<RecurrentLayer>,
    /// Acts on the output of the layer below.
    dropout: Option<Dropout>,
}

impl RecurrentEncoderLayer {
    fn new(stack: &architecture::RecurrentEncoder, number: usize, scope: Scope<'_>) -> Self {
        let d = stack.d_hidden / if stack.bidirectional { 2 } else { 1 };
        let layer = |direction, name| RecurrentLayer::new(stack.cell, direction, d, scope.at(name));
        Self {
            forward: layer(Direction::Forward, "forward"),
            backward: (stack.bidirectional).then(|| layer(Direction::Backward, "backward")),
            dropout: (number > 0).then(|| scope.dropout(stack.dropout)),
        }
    }

    /// h of every position, and the final states.
    fn forward(&self, x: Value, lengths: &Lengths, pass: &Pass<'_>) -> (Value, Value) {
        let dropout = self.dropout.and_then(|dropout| pass.dropout(dropout));
        let x = tape::dropout_add(x, None, dropout);
        let run = |layer: &RecurrentLayer| {
            let states = layer.forward(x.clone(), lengths, None, pass);
            let last = layer.last(&states, lengths);
            (layer.hidden_part(states), last)
        };
        let (h, last) = run(&self.forward);
        let Some(backward) = &self.backward else {
            return (h, last);
        };
        let (other_h, other_last) = run(backward);
        // h of both directions, then c of both: together one state of twice the width.
        let [_, width] = last.shape();
        let parts = backward.cell.states();
        let d = width / parts;
        let part = |x: &Value, n| tape::columns(x.clone(), n * d..(n + 1) * d);
        let states = (0..parts).flat_map(|n| [part(&last, n), part(&other_last, n)]);
        (tape::join(vec![h, other_h]), tape::join(states.collect()))
    }
}
