//! Recurrent encoders.

use attentive_architecture as architecture;

use super::attention::Span;
use super::buffers::Buffers;
use super::recurrent::{Hidden, RecurrentLayer};
use super::weights::Scope;

/// See [`crate::nn::RecurrentEncoder`].
#[derive(Debug)]
pub(super) struct RecurrentEncoder {
    layers: Vec<Layer>,
    d_hidden: usize,
}

#[derive(Debug)]
struct Layer {
    forward: RecurrentLayer,
    backward: Option<RecurrentLayer>,
}

impl RecurrentEncoder {
    pub(super) fn new(stack: &architecture::RecurrentEncoder, mut scope: Scope<'_>) -> Self {
        let d = stack.d_hidden / if stack.bidirectional { 2 } else { 1 };
        let mut layers = scope.at("layers");
        let layer = |number| {
            let mut scope = layers.at(number);
            Layer {
                forward: RecurrentLayer::new(stack.cell, d, scope.at("forward")),
                backward: (stack.bidirectional)
                    .then(|| RecurrentLayer::new(stack.cell, d, scope.at("backward"))),
            }
        };
        Self {
            layers: (0..stack.n_layers).map(layer).collect(),
            d_hidden: stack.d_hidden,
        }
    }

    /// Width of the memory.
    pub(super) fn d_out(&self) -> usize {
        self.d_hidden
    }

    /// Reads the sequences `spans` of `x`. Returns h of every position of the top layer in `memory`, and for each layer
    /// the final states `[sequences, states · d_hidden]`.
    pub(super) fn apply(
        &self,
        x: &[f32],
        spans: &[Span],
        memory: &mut [f32],
        buffers: &Buffers,
    ) -> Vec<Vec<f32>> {
        let mut below = buffers.take(memory.len());
        let mut finals = Vec::with_capacity(self.layers.len());
        for (number, layer) in self.layers.iter().enumerate() {
            below.copy_from_slice(memory);
            let x = if number == 0 { x } else { &below };
            finals.push(layer.read(x, spans, memory, self.d_hidden, buffers));
        }
        finals
    }
}

impl Layer {
    fn read(
        &self,
        x: &[f32],
        spans: &[Span],
        out: &mut [f32],
        width: usize,
        buffers: &Buffers,
    ) -> Vec<f32> {
        let mut run = |layer: &RecurrentLayer, backward, column| {
            let mut states = vec![0.0; spans.len() * layer.state_width()];
            let hidden = Hidden {
                values: &mut *out,
                width,
                column,
            };
            layer.read(x, spans, backward, &mut states, hidden, buffers);
            states
        };
        let forward = run(&self.forward, false, 0);
        let Some(layer) = &self.backward else {
            return forward;
        };
        let backward = run(layer, true, layer.d);
        // h of both directions, then c of both: together one state of twice the width.
        let d = layer.d;
        let both = forward.chunks_exact(d).zip(backward.chunks_exact(d));
        both.flat_map(|(forward, backward)| [forward, backward].concat())
            .collect()
    }
}
