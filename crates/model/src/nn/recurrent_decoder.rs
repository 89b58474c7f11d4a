//! The recurrent decoder, with and without attention.

use attentive_architecture::{self as architecture, InitialState, InputFeeding};
use attentive_kernels::recurrent::Direction;

use super::{Decode, Dropout, Linear, RecurrentAttention, RecurrentLayer, Scope, Storage};

/// A stack of recurrent layers with optional attention to the memory. Its output at a position is the readout
/// t = tanh(W \[s; c\]) of the top state s and, with attention, the context c; without a readout,
/// t = \[s; c\].
#[derive(Clone, Debug)]
pub struct RecurrentDecoder<S: Storage> {
    /// The layers, from the bottom up.
    pub layers: Vec<RecurrentLayer<S>>,
    /// Attention to the memory.
    pub attention: Option<RecurrentAttention<S>>,
    /// `[d_model, d_hidden]`, or `[d_model, d_hidden + d_memory]` with attention: W of t.
    pub readout: Option<Linear<S>>,
    start: InitialState,
    input_feeding: InputFeeding,
    /// The width of what is fed.
    d_fed: usize,
    /// Act on the output of each layer, and on t.
    dropouts: Vec<Dropout>,
}

impl<S: Storage> RecurrentDecoder<S> {
    /// Makes the stack at `scope`.
    pub fn new(stack: &architecture::RecurrentDecoderSpec, scope: Scope<'_, S>) -> Self {
        let layers = scope.at("layers");
        let layer = |number| {
            let d_in = if number == 0 { stack.d_model + stack.d_fed() } else { stack.d_hidden };
            let widths = [d_in, stack.d_hidden];
            RecurrentLayer::new(stack.cell, Direction::Forward, widths, &layers.at(number))
        };
        let readout = || Linear::new(stack.d_read(), stack.d_model, true, &scope.at("readout"));
        Self {
            layers: (0..stack.n_layers).map(layer).collect(),
            attention: RecurrentAttention::new(stack, scope.at("attention")),
            readout: stack.readout.then(readout),
            start: stack.start,
            input_feeding: stack.input_feeding,
            d_fed: stack.d_fed(),
            dropouts: (0..stack.n_layers).map(|_| scope.dropout(stack.dropout)).collect(),
        }
    }

    /// Returns for each layer the final state of the encoder's layer from which it starts; `None` if it
    /// starts from zeros.
    pub(crate) fn starts<'f, T>(&self, finals: &'f [T]) -> Vec<Option<&'f T>> {
        let start = |number| match (self.start, finals) {
            (InitialState::Encoder, [.., top]) => Some(finals.get(number).unwrap_or(top)),
            _ => None,
        };
        (0..self.layers.len()).map(start).collect()
    }

    /// Returns true if a position reads the output of the one before, so that positions are computed one
    /// after the other.
    pub fn feeds_input(&self) -> bool {
        self.input_feeding != InputFeeding::None
    }

    /// Returns the widths of what is kept from one position to the next: the state of each layer, and what
    /// is fed.
    pub(crate) fn state_widths(&self) -> Vec<usize> {
        let fed = self.feeds_input().then_some(self.d_fed);
        self.layers.iter().map(RecurrentLayer::state_width).chain(fed).collect()
    }

    /// Returns the output t of every position, `[rows, d_out]`.
    ///
    /// # Shapes
    /// - `x`: `[rows, d_model]`; with input feeding, one position of each sequence
    ///
    /// # Panics
    /// If it has attention and `backend` has no memory.
    pub fn forward<B: Decode<Storage = S>>(&self, mut x: B::Value, backend: &mut B) -> B::Value {
        let mut context = None;
        let behind_layers = self.layers.len();
        if self.feeds_input() {
            let fed = backend.fed(behind_layers);
            x = backend.join(vec![x, fed]);
        }
        let top = self.layers.len() - 1;
        for (number, layer) in self.layers.iter().enumerate() {
            x = match &self.attention {
                Some(RecurrentAttention::Additive(attention)) if number == 0 => {
                    let [hidden, found] = backend.advance_attentive(&x, layer, attention);
                    context = Some(found);
                    hidden
                }
                _ => backend.advance(&x, layer, number),
            };
            x = backend.observe(|| format!("decoder.layers.{number}"), x);
            if number < top {
                x = backend.dropout(x, self.dropouts[number]);
            }
        }
        match &self.attention {
            Some(RecurrentAttention::Multiplicative(attention)) => {
                context = Some(backend.attend_states(&x, attention));
            }
            Some(RecurrentAttention::Concat(scores)) => {
                context = Some(backend.attend_states_additively(&x, scores));
            }
            Some(RecurrentAttention::Additive(_)) | None => {}
        }
        if let (InputFeeding::Context, Some(context)) = (self.input_feeding, &context) {
            backend.feed(context, behind_layers);
        }
        let read = match context {
            Some(context) => backend.join(vec![x, context]),
            None => x,
        };
        let out = match &self.readout {
            Some(readout) => {
                let out = readout.forward(&read, backend);
                backend.tanh(out)
            }
            None => read,
        };
        let out = backend.dropout(out, self.dropouts[top]);
        if self.input_feeding == InputFeeding::Output {
            backend.feed(&out, behind_layers);
        }
        out
    }
}

#[cfg(test)]
mod tests;
