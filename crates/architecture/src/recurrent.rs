//! Recurrent stacks.

use super::{AttentionKind, CellKind, InputFeeding};

/// A stack of forward or bidirectional recurrent layers.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurrentEncoderSpec {
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
/// the context c. Without a readout, t = \[s; c\].
#[derive(Clone, Debug, PartialEq)]
pub struct RecurrentDecoderSpec {
    pub n_layers: usize,
    /// Width of the tokens' embeddings and of the readout.
    pub d_model: usize,
    /// Width of a layer's output.
    pub d_hidden: usize,
    pub cell: CellKind,
    /// Attention to the memory.
    pub attention: AttentionKind,
    /// Width of the memory; 0 without an encoder.
    pub d_memory: usize,
    /// True if there is a readout.
    pub readout: bool,
    /// What the first layer reads besides embeddings.
    pub input_feeding: InputFeeding,
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

impl RecurrentDecoderSpec {
    /// Returns the width of the stack's output t.
    pub fn d_out(&self) -> usize {
        if self.readout { self.d_model } else { self.d_read() }
    }

    /// Returns the width of what input feeding adds to the first layer's input.
    pub fn d_fed(&self) -> usize {
        match self.input_feeding {
            InputFeeding::None => 0,
            InputFeeding::Context => self.d_memory,
            InputFeeding::Output => self.d_out(),
        }
    }

    /// Returns the width of \[s; c\].
    pub fn d_read(&self) -> usize {
        match self.attention {
            AttentionKind::None => self.d_hidden,
            _ => self.d_hidden + self.d_memory,
        }
    }
}
