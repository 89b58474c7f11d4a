//! The Transformer's encoder stack (*Attention Is All You Need*, section 3.1).

use attentive_architecture::{self as architecture, SelfMixing, TransformerSpec};
use attentive_tape::Causality;

use super::{Attention, AttentionSite, Encode, FeedForward, Norm, Residual, Scope, Storage, relative};

/// A stack of encoder layers.
#[derive(Clone, Debug)]
pub struct TransformerEncoder<S: Storage> {
    /// Relative positions.
    pub relative: S::Relative,
    /// The layers, from the bottom up.
    pub layers: Vec<EncoderLayer<S>>,
    /// The final norm.
    pub norm: Option<Norm<S>>,
}

/// Self-attention and a feed-forward network, each in a residual connection.
#[derive(Clone, Debug)]
pub struct EncoderLayer<S: Storage> {
    /// Attention to every real position.
    pub self_attention: Attention<S>,
    /// The residual connection around the self-attention.
    pub self_attention_residual: Residual<S>,
    /// Applied to each position separately.
    pub feed_forward: FeedForward<S>,
    /// The residual connection around the feed-forward network.
    pub feed_forward_residual: Residual<S>,
}

impl<S: Storage> TransformerEncoder<S> {
    /// Makes the stack at `scope`, for sequences of up to `max_len` positions.
    ///
    /// # Panics
    /// For a stack without self-attention.
    pub fn new(stack: &TransformerSpec, max_len: usize, scope: Scope<'_, S>) -> Self {
        let SelfMixing::Attention(attention) = &stack.mixing else {
            panic!("a Transformer encoder has self-attention");
        };
        let layers = scope.at("layers");
        let layer = |number| EncoderLayer::new(stack, attention, number, layers.at(number));
        Self {
            relative: relative(attention, Causality::Full, max_len, &scope),
            layers: (0..stack.n_layers).map(layer).collect(),
            norm: (stack.final_norm).then(|| Norm::new(&stack.norm, stack.d_model, &scope.at("norm"))),
        }
    }

    /// Maps embedded sequences to the memory; rows `[rows, d_model]` keep their shape.
    pub fn forward<B: Encode<Storage = S>>(&self, mut x: B::Value, backend: &mut B) -> B::Value {
        backend.enter(&self.relative);
        for (number, layer) in self.layers.iter().enumerate() {
            x = layer.forward(x, &self.relative, backend);
            x = backend.observe(|| format!("encoder.layers.{number}"), x);
        }
        if let Some(norm) = &self.norm {
            x = norm.forward(&x, backend);
            x = backend.observe(|| "encoder.norm".into(), x);
        }
        x
    }
}

impl<S: Storage> EncoderLayer<S> {
    fn new(
        stack: &TransformerSpec,
        attention: &architecture::AttentionSpec,
        number: usize,
        scope: Scope<'_, S>,
    ) -> Self {
        let own = scope.at("self_attention");
        let residual = |name| Residual::new(stack, scope.at(name));
        Self {
            self_attention: Attention::new(attention, stack, AttentionSite::EncoderSelf, number, own),
            self_attention_residual: residual("self_attention_residual"),
            feed_forward: FeedForward::new(stack, scope.at("feed_forward")),
            feed_forward_residual: residual("feed_forward_residual"),
        }
    }

    fn forward<B: Encode<Storage = S>>(
        &self,
        x: B::Value,
        relative: &S::Relative,
        backend: &mut B,
    ) -> B::Value {
        let x = self
            .self_attention_residual
            .forward(x, backend, |x, backend| self.self_attention.attend_whole(x, relative, backend));
        self.feed_forward_residual.forward(x, backend, |x, backend| self.feed_forward.forward(x, backend))
    }
}
