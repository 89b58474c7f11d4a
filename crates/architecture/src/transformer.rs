//! Transformer stacks.

use super::{AttentionSpec, CellKind, DropoutPosition, FeedForwardSpec, NormPosition, NormSpec};

/// A stack of Transformer layers (*Attention Is All You Need*, section 3.1).
#[derive(Clone, Debug, PartialEq)]
pub struct TransformerSpec {
    pub n_layers: usize,
    /// Width of a position's vector.
    pub d_model: usize,
    /// The sublayer that mixes the positions of a sequence.
    pub mixing: SelfMixing,
    /// Attention to the memory, in decoders.
    pub cross: Option<CrossAttentionSpec>,
    /// The sublayer that is applied to each position separately.
    pub feed_forward: FeedForwardSpec,
    /// The norm of every sublayer.
    pub norm: NormSpec,
    /// Position of the norm around a sublayer.
    pub norm_position: NormPosition,
    /// Dropout around each sublayer.
    pub dropout: f64,
    /// Position of that dropout.
    pub dropout_position: DropoutPosition,
    /// True if a norm follows the last layer.
    pub final_norm: bool,
}

/// Mixing of the positions of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum SelfMixing {
    /// Self-attention.
    Attention(AttentionSpec),
    /// A recurrent cell in place of causal self-attention, such as the SSRU of Kim et al. (2019).
    Recurrent(CellKind),
}

/// Attention to the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossAttentionSpec {
    /// Heads and scores.
    pub attention: AttentionSpec,
    /// Width of the memory.
    pub d_memory: usize,
}

impl TransformerSpec {
    /// Returns the number of sublayers of the whole stack.
    pub fn n_sublayers(&self) -> usize {
        (2 + usize::from(self.cross.is_some())) * self.n_layers
    }
}
