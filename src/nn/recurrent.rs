//! Recurrent layers, and stacks of them that read a whole sequence.

use burn::module::Module;
use burn::tensor::{Int, Tensor, TensorData};

use super::{Dropout, Initializer, Linear, Pass};
use crate::config::{CellKind, ModelConfig};
use crate::ops::{self, Cell, Direction, Lengths, Recurrence};

/// One direction of one recurrent layer.
#[derive(Module, Debug)]
pub struct RecurrentLayer {
    /// `[gates · d, d_in]`: the input's share of the gates, for all positions in one product.
    pub input: Linear,
    /// `[gates · d, d]`: the state's share.
    pub hidden: Linear,
    #[module(skip)]
    cell: Cell,
    #[module(skip)]
    direction: Direction,
}

impl RecurrentLayer {
    /// A layer of `kind` from `d_in` to `d` features.
    pub fn new(
        kind: CellKind,
        direction: Direction,
        d_in: usize,
        d: usize,
        init: &mut Initializer,
    ) -> Self {
        let cell = match kind {
            CellKind::Rnn => Cell::Rnn,
            CellKind::Lstm => Cell::Lstm,
            CellKind::CoupledLstm => Cell::CoupledLstm,
            CellKind::Gru => Cell::Gru,
        };
        let gates = cell.gates() * d;
        let input = Linear {
            weight: init.weight(d_in, gates),
            bias: Some(init.recurrent_bias(d, cell.gates(), forget_gate(cell))),
        };
        Self {
            input,
            hidden: Linear::new(d, gates, true, init),
            cell,
            direction,
        }
    }

    /// The states of all positions, h and, where the cell has one, c behind it; zeros at padding.
    ///
    /// # Shapes
    /// - `x`: `[batch · len, d_in]`
    /// - `initial`: `[batch, states · d]`, zeros if absent
    /// - result: `[batch · len, states · d]`
    pub fn forward(
        &self,
        x: Tensor<2>,
        lengths: &Lengths,
        initial: Option<Tensor<2>>,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let projected = self.input.forward(x, pass);
        let recurrence = self.recurrence(initial);
        let (cell, direction) = (self.cell, self.direction);
        ops::recurrent(
            cell,
            direction,
            lengths,
            projected,
            recurrence,
            pass.precision(),
        )
    }

    /// The states alone that the next position reads, out of [`RecurrentLayer::forward`]'s result: those of the last
    /// position, or of the first for a layer that reads backward; `[batch, states · d]`.
    pub fn last(&self, states: &Tensor<2>, lengths: &Lengths) -> Tensor<2> {
        select(
            states.clone(),
            &match self.direction {
                Direction::Forward => lengths.last_rows(),
                Direction::Backward => lengths.first_rows(),
            },
        )
    }

    /// h, `[rows, d]`, out of states.
    pub fn hidden_part(&self, states: Tensor<2>) -> Tensor<2> {
        let [_, width] = states.dims();
        match self.cell.states() {
            1 => states,
            n => states.narrow(1, 0, width / n),
        }
    }

    /// What makes a state from the one before.
    pub(super) fn recurrence(&self, initial: Option<Tensor<2>>) -> Recurrence {
        Recurrence {
            hidden: Some(self.hidden.as_map()),
            initial,
        }
    }

    pub(super) fn cell(&self) -> Cell {
        self.cell
    }
}

/// The number of the gate that decides what is kept: it begins open, so that states last (Jozefowicz et al. 2015).
fn forget_gate(cell: Cell) -> Option<usize> {
    match cell {
        Cell::Lstm => Some(1),
        Cell::CoupledLstm => Some(0),
        Cell::Rnn | Cell::Gru | Cell::Ssru => None,
    }
}

/// The rows numbered `rows`.
pub(super) fn select(x: Tensor<2>, rows: &[usize]) -> Tensor<2> {
    let indices: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    let data = TensorData::new(indices, [rows.len()]);
    let indices = Tensor::<1, Int>::from_data(data, &x.device());
    x.select(0, indices)
}

/// A stack of recurrent layers that reads sequences from the left, or from both ends.
#[derive(Module, Debug)]
pub struct RecurrentEncoder {
    /// The layers, from the embeddings up.
    pub layers: Vec<RecurrentEncoderLayer>,
}

/// What [`RecurrentEncoder`] makes of sequences.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The top layer's h, `[batch · len, d_hidden]`.
    pub memory: Tensor<2>,
    /// Each layer's state behind the last position, `[batch, states · d_hidden]`.
    pub finals: Vec<Tensor<2>>,
}

impl RecurrentEncoder {
    /// `config.n_encoder_layers` layers, of which the first reads `d_in` features.
    pub fn new(config: &ModelConfig, d_in: usize, init: &mut Initializer) -> Self {
        let d_hidden = config.recurrent.d_hidden;
        let widths = std::iter::once(d_in).chain(std::iter::repeat(d_hidden));
        Self {
            layers: widths
                .take(config.n_encoder_layers)
                .enumerate()
                .map(|(number, d_in)| RecurrentEncoderLayer::new(config, number, d_in, init))
                .collect(),
        }
    }

    /// `x`: `[batch · len, d_in]`. Dropout acts between layers.
    pub fn forward(&self, x: Tensor<2>, lengths: &Lengths, pass: &Pass<'_>) -> Encoded {
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

/// A layer that reads from the left and, if it has a second direction, from the right.
#[derive(Module, Debug)]
pub struct RecurrentEncoderLayer {
    /// From the left.
    pub forward: RecurrentLayer,
    /// From the right (Schuster and Paliwal 1997).
    pub backward: Option<RecurrentLayer>,
    /// On what comes from the layer below.
    #[module(skip)]
    dropout: Option<Dropout>,
}

impl RecurrentEncoderLayer {
    fn new(config: &ModelConfig, number: usize, d_in: usize, init: &mut Initializer) -> Self {
        let recurrent = &config.recurrent;
        let directions = if recurrent.bidirectional { 2 } else { 1 };
        let d = recurrent.d_hidden / directions;
        let mut layer = |direction| RecurrentLayer::new(recurrent.cell, direction, d_in, d, init);
        Self {
            forward: layer(Direction::Forward),
            backward: recurrent.bidirectional.then(|| layer(Direction::Backward)),
            dropout: (number > 0).then(|| init.dropout(config.dropout)),
        }
    }

    /// h of every position, and the final states.
    fn forward(&self, x: Tensor<2>, lengths: &Lengths, pass: &Pass<'_>) -> (Tensor<2>, Tensor<2>) {
        let dropout = self.dropout.and_then(|dropout| pass.dropout(dropout));
        let x = ops::dropout_add(x, None, dropout);
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
        // h of both directions comes first, then c of both: so the two make one state of twice the width.
        let [_, width] = last.dims();
        let parts = backward.cell.states();
        let d = width / parts;
        let part = |x: &Tensor<2>, number| x.clone().narrow(1, number * d, d);
        let states = (0..parts).flat_map(|n| [part(&last, n), part(&other_last, n)]);
        (
            Tensor::cat(vec![h, other_h], 1),
            Tensor::cat(states.collect(), 1),
        )
    }
}
