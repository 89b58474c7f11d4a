//! The Transformer's decoder stack (*Attention Is All You Need*, section 3.1).

use attentive_architecture::{SelfMixing, TransformerSpec};
use attentive_tape::{Causality, Direction};

use super::{
    Attention, AttentionSite, Decode, FeedForward, Norm, RecurrentLayer, Residual, Scope, Storage, relative,
};

/// A stack of decoder layers.
#[derive(Clone, Debug)]
pub struct TransformerDecoder<S: Storage> {
    /// Relative positions.
    pub relative: S::Relative,
    /// The layers, from the bottom up.
    pub layers: Vec<DecoderLayer<S>>,
    /// The final norm.
    pub norm: Option<Norm<S>>,
}

/// Causal self-attention or a recurrent cell, optional cross-attention, and a feed-forward network, each in a
/// residual connection.
#[derive(Clone, Debug)]
pub struct DecoderLayer<S: Storage> {
    /// Mixes each position with earlier ones.
    pub mixer: Mixer<S>,
    /// The residual connection around the mixer.
    pub mixer_residual: Residual<S>,
    /// Attention to the whole memory.
    pub cross: Option<Cross<S>>,
    /// Applied to each position separately.
    pub feed_forward: FeedForward<S>,
    /// The residual connection around the feed-forward network.
    pub feed_forward_residual: Residual<S>,
}

/// Mixes the positions of a decoder layer.
#[derive(Clone, Debug)]
pub enum Mixer<S: Storage> {
    /// Causal self-attention.
    Attention(Attention<S>),
    /// A recurrent cell.
    Recurrent(RecurrentLayer<S>),
}

/// Cross-attention in its residual connection.
#[derive(Clone, Debug)]
pub struct Cross<S: Storage> {
    /// Attention to the memory.
    pub attention: Attention<S>,
    /// The residual connection around it.
    pub residual: Residual<S>,
}

impl<S: Storage> TransformerDecoder<S> {
    /// Makes the stack at `scope`, for sequences of up to `max_len` positions.
    pub fn new(stack: &TransformerSpec, max_len: usize, scope: Scope<'_, S>) -> Self {
        let layers = scope.at("layers");
        let relative = match &stack.mixing {
            SelfMixing::Attention(attention) => relative(attention, Causality::Causal, max_len, &scope),
            SelfMixing::Recurrent(_) => S::Relative::default(),
        };
        Self {
            relative,
            layers: (0..stack.n_layers)
                .map(|number| DecoderLayer::new(stack, number, layers.at(number)))
                .collect(),
            norm: (stack.final_norm).then(|| Norm::new(&stack.norm, stack.d_model, &scope.at("norm"))),
        }
    }

    /// Maps embedded positions, each of which sees itself, earlier ones and the memory; rows
    /// `[rows, d_model]` keep their shape.
    ///
    /// # Panics
    /// If it has cross-attention and `backend` has no memory.
    pub fn forward<B: Decode<Storage = S>>(&self, mut x: B::Value, backend: &mut B) -> B::Value {
        backend.enter(&self.relative);
        for (number, layer) in self.layers.iter().enumerate() {
            x = layer.forward(x, number, &self.relative, backend);
            x = backend.observe(|| format!("decoder.layers.{number}"), x);
        }
        if let Some(norm) = &self.norm {
            x = norm.forward(&x, backend);
            x = backend.observe(|| "decoder.norm".into(), x);
        }
        x
    }
}

impl<S: Storage> DecoderLayer<S> {
    fn new(stack: &TransformerSpec, number: usize, scope: Scope<'_, S>) -> Self {
        let residual = |name| Residual::new(stack, scope.at(name));
        Self {
            mixer: Mixer::new(stack, number, scope.at("self_attention")),
            mixer_residual: residual("self_attention_residual"),
            cross: stack.cross.as_ref().map(|cross| {
                let place = scope.at("cross_attention");
                let site = AttentionSite::Cross;
                Cross {
                    attention: Attention::new(&cross.attention, stack, site, number, place),
                    residual: residual("cross_attention_residual"),
                }
            }),
            feed_forward: FeedForward::new(stack, scope.at("feed_forward")),
            feed_forward_residual: residual("feed_forward_residual"),
        }
    }

    fn forward<B: Decode<Storage = S>>(
        &self,
        x: B::Value,
        number: usize,
        relative: &S::Relative,
        backend: &mut B,
    ) -> B::Value {
        let x = self
            .mixer_residual
            .forward(x, backend, |x, backend| self.mixer.forward(x, number, relative, backend));
        let x = match &self.cross {
            Some(cross) => {
                cross.residual.forward(x, backend, |x, backend| cross.attention.attend_memory(x, backend))
            }
            None => x,
        };
        self.feed_forward_residual.forward(x, backend, |x, backend| self.feed_forward.forward(x, backend))
    }
}

impl<S: Storage> Mixer<S> {
    fn new(stack: &TransformerSpec, number: usize, scope: Scope<'_, S>) -> Self {
        match &stack.mixing {
            SelfMixing::Attention(attention) => {
                let site = AttentionSite::DecoderSelf;
                Self::Attention(Attention::new(attention, stack, site, number, scope))
            }
            SelfMixing::Recurrent(cell) => {
                let (direction, d) = (Direction::Forward, stack.d_model);
                Self::Recurrent(RecurrentLayer::new(*cell, direction, [d, d], &scope))
            }
        }
    }

    fn forward<B: Decode<Storage = S>>(
        &self,
        x: &B::Value,
        number: usize,
        relative: &S::Relative,
        backend: &mut B,
    ) -> B::Value {
        match self {
            Self::Attention(attention) => attention.attend_earlier(x, relative, backend),
            Self::Recurrent(layer) => backend.advance(x, layer, number),
        }
    }
}
