//! The recurrent decoder, with and without attention, for whole sequences.

use attentive_architecture::{self as architecture, InitialState};
use attentive_tape::{self as tape, Direction, Value};

use super::recurrent_attention::{Memory, RecurrentAttention};
use super::{Dropout, Linear, Pass, RecurrentLayer, Scope, Sequence};

#[cfg(test)]
mod tests;

/// A stack of recurrent layers with optional attention to the memory. Its output at a position is the readout
/// t = tanh(W \[s; c\]) of the top state s and, with attention, the context c; without a readout, t = s.
#[derive(Clone, Debug)]
pub struct RecurrentDecoder {
    /// The layers, from the bottom up.
    pub layers: Vec<RecurrentLayer>,
    /// Attention to the memory.
    pub attention: Option<RecurrentAttention>,
    /// `[d_model, d_hidden]`, or `[d_model, d_hidden + d_memory]` with attention: W of t.
    pub readout: Option<Linear>,
    start: InitialState,
    /// Act on the output of each layer, and on t.
    dropouts: Vec<Dropout>,
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
            readout: (stack.readout).then(|| Linear::new(true, scope.at("readout"))),
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
    fn initial(&self, batch: usize, finals: &[Value]) -> Vec<Value> {
        let state = |(number, layer): (usize, &RecurrentLayer)| match (self.start, finals) {
            (InitialState::Encoder, [.., top]) => finals.get(number).unwrap_or(top).clone(),
            _ => Value::zeros([batch, layer.state_width()]),
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
        finals: &[Value],
        pass: &Pass<'_>,
    ) -> Value {
        let initial = self.initial(tgt.batch(), finals);
        let memory = memory.and_then(|memory| self.memory_of(memory, pass));
        let Sequence { mut x, lengths } = tgt;
        let (memory, lengths) = (memory.as_ref(), &lengths);
        let mut context = None;
        let top = self.layers.len() - 1;
        for ((number, layer), initial) in self.layers.iter().enumerate().zip(initial) {
            let states = match (number, &self.attention, memory) {
                (0, Some(RecurrentAttention::Additive(attention)), Some(memory)) => {
                    let (states, found) = attention.run(layer, x, lengths, initial, memory, pass);
                    context = Some(found);
                    states
                }
                _ => layer.forward(x, lengths, Some(initial), pass),
            };
            x = layer.hidden_part(states);
            pass.observe(|| format!("decoder.layers.{number}"), &x);
            if number < top {
                x = tape::dropout_add(x, None, pass.dropout(self.dropouts[number]));
            }
        }
        if let (Some(RecurrentAttention::Multiplicative(attention)), Some(memory)) =
            (&self.attention, memory)
        {
            context = Some(attention.attend(x.clone(), lengths, memory, pass));
        }
        let read = match context {
            Some(context) => tape::join(vec![x, context]),
            None => x,
        };
        let out = match &self.readout {
            Some(readout) => tape::tanh(readout.forward(read, pass)),
            None => read,
        };
        tape::dropout_add(out, None, pass.dropout(self.dropouts[top]))
    }
}
