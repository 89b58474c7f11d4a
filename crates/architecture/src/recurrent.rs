//! Recurrent stacks.

use super::layout::Layout;
use super::{AttentionKind, CellKind, Start};

/// A stack of forward or bidirectional recurrent layers.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurrentEncoder {
    pub n_layers: usize,
    /// Width of the first layer's input.
    pub d_in: usize,
    /// Width of a layer's output, both directions together.
    pub d_hidden: usize,
    pub cell: CellKind,
    /// True if layers read in both directions (Schuster and Paliwal 1997), each giving half of the output.
    pub bidirectional: bool,
    /// Dropout between layers.
    pub dropout: f64,
}

/// A stack of recurrent layers with a readout t = tanh(W \[s; c\]) of the top state s and, with attention,
/// the context c. Without a readout, t = s.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurrentDecoder {
    pub n_layers: usize,
    /// Width of the first layer's input and of the readout.
    pub d_model: usize,
    /// Width of a layer's output.
    pub d_hidden: usize,
    pub cell: CellKind,
    /// Attention to the memory.
    pub attention: AttentionKind,
    /// Width of the memory; 0 without an encoder.
    pub d_memory: usize,
    /// True if there is a readout; without it, there is no attention, and `d_model` is `d_hidden`.
    pub readout: bool,
    /// The state before the first position.
    pub start: InitialState,
    /// Dropout between layers and on the readout.
    pub dropout: f64,
}

/// A recurrent decoder's state before the first position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialState {
    /// Zeros.
    Zeros,
    /// The final state of the encoder's layer of the same number, or of its top layer if there is none.
    Encoder,
}

/// Parameters of one direction of a layer from `d_in` to `d` features.
pub(super) fn lay_out_cell(cell: CellKind, d_in: usize, d: usize, layout: &mut Layout) {
    let (gates, open) = (cell.gates() * d, cell.forget_gate());
    match cell {
        // The candidate has no bias, and no map reads the previous state (Kim et al. 2019).
        CellKind::Ssru => {
            layout.at("forget", |layout| {
                layout.add("weight", [d, d_in], Start::Weight);
                layout.add("bias", [d], Start::GateBias { d, open });
            });
            layout.linear("input", d_in, d, false);
        }
        _ => {
            layout.at("input", |layout| {
                layout.add("weight", [gates, d_in], Start::Weight);
                layout.add("bias", [gates], Start::GateBias { d, open });
            });
            layout.linear("hidden", d, gates, true);
        }
    }
}

impl RecurrentEncoder {
    pub(super) fn lay_out(&self, layout: &mut Layout) {
        let directions: &[&str] = if self.bidirectional { &["forward", "backward"] } else { &["forward"] };
        let d = self.d_hidden / directions.len();
        layout.at("layers", |layout| {
            for number in 0..self.n_layers {
                let d_in = if number == 0 { self.d_in } else { self.d_hidden };
                layout.at(number, |layout| {
                    for direction in directions {
                        layout.at(direction, |layout| lay_out_cell(self.cell, d_in, d, layout));
                    }
                });
            }
        });
    }
}

impl RecurrentDecoder {
    pub(super) fn lay_out(&self, layout: &mut Layout) {
        let Self { d_model, d_hidden: d, d_memory, .. } = *self;
        layout.at("layers", |layout| {
            for number in 0..self.n_layers {
                let d_in = if number == 0 { d_model } else { d };
                layout.at(number, |layout| lay_out_cell(self.cell, d_in, d, layout));
            }
        });
        let gates = self.cell.gates() * d;
        layout.at("attention", |layout| match self.attention {
            AttentionKind::None | AttentionKind::Dot => {}
            AttentionKind::General => layout.linear("query", d, d_memory, false),
            AttentionKind::Additive => {
                layout.linear("query", d, d, false);
                layout.linear("key", d_memory, d, false);
                layout.add("score", [d], Start::Vector);
                layout.linear("context", d_memory, gates, false);
            }
        });
        if self.readout {
            layout.linear("readout", self.d_read(), d_model, true);
        }
    }

    /// Returns the width of the readout's input.
    pub fn d_read(&self) -> usize {
        match self.attention {
            AttentionKind::None => self.d_hidden,
            _ => self.d_hidden + self.d_memory,
        }
    }
}
