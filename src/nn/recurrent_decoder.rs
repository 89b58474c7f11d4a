//! The recurrent decoder, with and without attention, for whole sequences and token by token.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::tanh;

use super::recurrent_attention::{Memory, RecurrentAttention};
use super::sources::Sources;
use super::{Dropout, Linear, Pass, Ragged, RecurrentLayer, Scope, Sequence};
use crate::architecture::{self, InitialState};
use crate::ops::{self, Direction, Lengths};

#[cfg(test)]
mod tests;

/// A stack of recurrent layers with optional attention to the memory. Its output at a position is the readout
/// t = tanh(W \[s; c\]) of the top state s and, with attention, the context c.
#[derive(Module, Debug)]
pub struct RecurrentDecoder {
    /// The layers, from the bottom up.
    pub layers: Vec<RecurrentLayer>,
    /// Attention to the memory.
    pub attention: Option<RecurrentAttention>,
    /// `[d_model, d_hidden]`, or `[d_model, d_hidden + d_memory]` with attention: W of t.
    pub readout: Linear,
    #[module(skip)]
    start: InitialState,
    /// Act on the output of each layer, and on t.
    #[module(skip)]
    dropouts: Vec<Dropout>,
}

/// The decoding state of a recurrent decoder.
#[derive(Clone, Debug)]
pub struct RecurrentState {
    /// The state of each layer, `[rows, states · d_hidden]`; empty without rows.
    layers: Vec<Tensor<2>>,
    /// [`Memory::keys`], one row per source.
    keys: Ragged,
    /// [`Memory::values`], one row per source.
    values: Ragged,
    sources: Sources,
    /// The memory of each row, cached while the sources of the rows do not change.
    of_rows: Option<Memory>,
}

impl RecurrentDecoder {
    /// The stack at `scope`.
    pub fn new(stack: &architecture::RecurrentDecoder, scope: Scope<'_>) -> Self {
        let layers = scope.at("layers");
        let layer = |number| {
            let forward = Direction::Forward;
            RecurrentLayer::new(stack.cell, forward, stack.d_hidden, layers.at(number))
        };
        Self {
            layers: (0..stack.n_layers).map(layer).collect(),
            attention: RecurrentAttention::new(stack, scope.at("attention")),
            readout: Linear::new(true, scope.at("readout")),
            start: stack.start,
            dropouts: (0..stack.n_layers)
                .map(|_| scope.dropout(stack.dropout))
                .collect(),
        }
    }

    fn memory_of(&self, memory: &Sequence, pass: &Pass<'_>) -> Option<Memory> {
        Some(self.attention.as_ref()?.memory(memory, pass))
    }

    /// The initial state of each layer for `batch` sequences, given the encoder's `finals`.
    fn before(&self, batch: usize, finals: &[Tensor<2>]) -> Vec<Tensor<2>> {
        let state = |(number, layer): (usize, &RecurrentLayer)| match (self.start, finals) {
            (InitialState::Encoder, [.., top]) => finals.get(number).unwrap_or(top).clone(),
            _ => {
                let device = self.readout.weight.val().device();
                Tensor::zeros([batch, layer.state_width()], &device)
            }
        };
        self.layers.iter().enumerate().map(state).collect()
    }

    /// The readout t of all positions of whole sequences, `[batch · len, d_model]`. `finals` are the final states of a
    /// recurrent encoder.
    ///
    /// # Shapes
    /// - `tgt.x`: `[batch · len, d_model]`
    pub fn forward(
        &self,
        tgt: Sequence,
        memory: Option<&Sequence>,
        finals: &[Tensor<2>],
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let mut before = self.before(tgt.batch(), finals);
        let memory = memory.and_then(|memory| self.memory_of(memory, pass));
        self.run(tgt.x, &tgt.lengths, &mut before, memory.as_ref(), pass)
    }

    /// A state without rows.
    pub fn start(&self) -> RecurrentState {
        RecurrentState {
            layers: Vec::new(),
            keys: Ragged::new(),
            values: Ragged::new(),
            sources: Sources::default(),
            of_rows: None,
        }
    }

    /// Adds `count` rows, one for each sequence of `memory` if there is one.
    pub fn admit(
        &self,
        count: usize,
        memory: Option<&Sequence>,
        finals: &[Tensor<2>],
        state: &mut RecurrentState,
        pass: &Pass<'_>,
    ) {
        let new = self.before(count, finals);
        state.layers = match std::mem::take(&mut state.layers) {
            old if old.is_empty() => new,
            old => {
                let both = old.into_iter().zip(new);
                both.map(|(old, new)| Tensor::cat(vec![old, new], 0))
                    .collect()
            }
        };
        if let Some(memory) = memory.and_then(|memory| self.memory_of(memory, pass)) {
            let lengths = &memory.lengths;
            state.keys.extend(Ragged::padded(memory.keys, lengths));
            if let Some(values) = memory.values {
                state.values.extend(Ragged::padded(values, lengths));
            }
        }
        state.sources.admit(count);
        state.of_rows = None;
    }

    /// The readout t of the next positions of every row, `[rows · len, d_model]`.
    pub fn extend(
        &self,
        x: Tensor<2>,
        real: &Lengths,
        state: &mut RecurrentState,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        if self.attention.is_some() && state.of_rows.is_none() {
            state.of_rows = Some(state.memory_of_rows());
        }
        let RecurrentState {
            layers, of_rows, ..
        } = state;
        self.run(x, real, layers, of_rows.as_ref(), pass)
    }

    /// The readout t of all positions after the state `before`, which is replaced by the final state.
    fn run(
        &self,
        x: Tensor<2>,
        lengths: &Lengths,
        before: &mut [Tensor<2>],
        memory: Option<&Memory>,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let mut x = x;
        let mut context = None;
        let top = self.layers.len() - 1;
        for (number, layer) in self.layers.iter().enumerate() {
            let initial = before[number].clone();
            let states = match (number, &self.attention, memory) {
                (0, Some(RecurrentAttention::Additive(attention)), Some(memory)) => {
                    let (states, found) = attention.run(layer, x, lengths, initial, memory, pass);
                    context = Some(found);
                    states
                }
                _ => layer.forward(x, lengths, Some(initial), pass),
            };
            before[number] = layer.last(&states, lengths);
            x = layer.hidden_part(states);
            pass.observe(|| format!("decoder.layers.{number}"), &x);
            if number < top {
                x = ops::dropout_add(x, None, pass.dropout(self.dropouts[number]));
            }
        }
        if let (Some(RecurrentAttention::Multiplicative(attention)), Some(memory)) =
            (&self.attention, memory)
        {
            context = Some(attention.attend(x.clone(), lengths, memory, pass));
        }
        let read = match context {
            Some(context) => Tensor::cat(vec![x, context], 1),
            None => x,
        };
        let out = tanh(self.readout.forward(read, pass));
        ops::dropout_add(out, None, pass.dropout(self.dropouts[top]))
    }
}

impl RecurrentState {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.sources.rows()
    }

    /// Replaces row `i` by the previous row `rows[i]`; rows that are not named are dropped.
    pub fn select(&mut self, rows: &[usize]) {
        if rows.iter().copied().eq(0..self.rows()) {
            return;
        }
        if rows.is_empty() {
            self.layers.clear();
        }
        for layer in &mut self.layers {
            *layer = ops::select_rows(layer.clone(), rows);
        }
        let before = self.sources.slots().to_vec();
        let kept = self.sources.select(rows);
        if let Some(kept) = &kept {
            self.keys.select(kept);
            self.values.select(kept);
        }
        if kept.is_some() || self.sources.slots() != before {
            self.of_rows = None;
        }
    }

    /// The memory of each row.
    fn memory_of_rows(&mut self) -> Memory {
        let slots = self.sources.slots().to_vec();
        let of_rows = |memory: &mut Ragged| {
            let mut memory = memory.clone();
            memory.select(&slots);
            memory.view()
        };
        let (keys, lengths) = of_rows(&mut self.keys);
        let has_values = self.values.rows() > 0;
        Memory {
            keys,
            values: has_values.then(|| of_rows(&mut self.values).0),
            lengths,
        }
    }
}
