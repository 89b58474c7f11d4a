//! Recurrent encoders.

use attentive_architecture as architecture;
use attentive_kernels::recurrent::Direction;

use super::{Dropout, Encode, RecurrentLayer, RecurrentStates, Scope, Storage};

/// A stack of forward or bidirectional recurrent layers.
#[derive(Clone, Debug)]
pub struct RecurrentEncoder<S: Storage> {
    /// The layers, from the bottom up.
    pub layers: Vec<RecurrentEncoderLayer<S>>,
}

/// A forward layer or, with a second direction, a bidirectional one.
#[derive(Clone, Debug)]
pub struct RecurrentEncoderLayer<S: Storage> {
    /// Reads from left to right.
    pub forward: RecurrentLayer<S>,
    /// Reads from right to left (Schuster and Paliwal 1997).
    pub backward: Option<RecurrentLayer<S>>,
    /// Acts on the output of the layer below.
    dropout: Option<Dropout>,
}

/// The output of [`RecurrentEncoder`].
#[derive(Clone, Debug)]
pub struct Encoded<V> {
    /// The top layer's h, `[rows, d_hidden]`.
    pub memory: V,
    /// The final state of each layer, `[sequences, states · d_hidden]`.
    pub finals: Vec<V>,
}

impl<S: Storage> RecurrentEncoder<S> {
    /// Makes the stack at `scope`.
    pub fn new(stack: &architecture::RecurrentEncoderSpec, scope: Scope<'_, S>) -> Self {
        let layers = scope.at("layers");
        let layer = |number| RecurrentEncoderLayer::new(stack, number, layers.at(number));
        Self { layers: (0..stack.n_layers).map(layer).collect() }
    }

    /// Encodes `x`, `[rows, d_in]`. Dropout acts between layers.
    pub fn forward<B: Encode<Storage = S>>(&self, x: B::Value, backend: &mut B) -> Encoded<B::Value> {
        let mut memory = x;
        let mut finals = Vec::with_capacity(self.layers.len());
        for (number, layer) in self.layers.iter().enumerate() {
            let RecurrentStates { hidden, last } = layer.forward(memory, backend);
            memory = backend.observe(|| format!("encoder.layers.{number}"), hidden);
            finals.push(last);
        }
        Encoded { memory, finals }
    }
}

impl<S: Storage> RecurrentEncoderLayer<S> {
    fn new(stack: &architecture::RecurrentEncoderSpec, number: usize, scope: Scope<'_, S>) -> Self {
        let d = stack.d_hidden / if stack.bidirectional { 2 } else { 1 };
        let d_in = if number == 0 { stack.d_in } else { stack.d_hidden };
        let layer = |direction, name| RecurrentLayer::new(stack.cell, direction, [d_in, d], &scope.at(name));
        Self {
            forward: layer(Direction::Forward, "forward"),
            backward: (stack.bidirectional).then(|| layer(Direction::Backward, "backward")),
            dropout: (number > 0).then(|| scope.dropout(stack.dropout)),
        }
    }

    fn forward<B: Encode<Storage = S>>(&self, x: B::Value, backend: &mut B) -> RecurrentStates<B::Value> {
        let x = match self.dropout {
            Some(dropout) => backend.dropout(x, dropout),
            None => x,
        };
        match &self.backward {
            Some(backward) => backend.read_both(&x, [&self.forward, backward]),
            None => backend.read(&x, &self.forward),
        }
    }
}
