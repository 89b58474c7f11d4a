//! The Transformer's encoder stack (*Attention Is All You Need*, section 3.1).

use attentive_architecture::{Attention, SelfMixing, TransformerStack};
use attentive_tape::Causality;

use super::{
    AttentionSite, DistanceBias, FeedForward, MultiHeadAttention, Norm, Pass, Residual, Scope,
    Sequence, Visible,
};

/// A stack of encoder layers.
#[derive(Clone, Debug)]
pub struct TransformerEncoder {
    /// Relative positions.
    pub distance_bias: Option<DistanceBias>,
    /// The layers, from the bottom up.
    pub layers: Vec<EncoderLayer>,
    /// The final norm.
    pub norm: Option<Norm>,
}

impl TransformerEncoder {
    /// The stack at `scope`.
    ///
    /// # Panics
    /// For a stack without self-attention.
    pub fn new(stack: &TransformerStack, scope: Scope<'_>) -> Self {
        let SelfMixing::Attention(attention) = &stack.mixing else {
            panic!("a Transformer encoder has self-attention");
        };
        let layers = scope.at("layers");
        let layer = |number| EncoderLayer::new(stack, attention, number, layers.at(number));
        let bias = DistanceBias::new(attention, Causality::Full, scope.at("distance_bias"));
        Self {
            distance_bias: bias,
            layers: (0..stack.n_layers).map(layer).collect(),
            norm: (stack.final_norm).then(|| Norm::new(&stack.norm, scope.at("norm"))),
        }
    }

    /// Maps embedded sequences to the memory.
    pub fn forward(&self, src: Sequence, pass: &Pass<'_>) -> Sequence {
        let mut memory = src;
        let width = memory.lengths.width();
        let bias = self.distance_bias.as_ref();
        let bias = bias.map(|bias| bias.forward(width, pass));
        for (number, layer) in self.layers.iter().enumerate() {
            let visible = Visible {
                keys: Some(&memory.lengths.clone()),
                causality: Causality::Full,
                bias: bias.clone(),
            };
            memory = layer.forward(memory, visible, pass);
            pass.observe(|| format!("encoder.layers.{number}"), &memory.x);
        }
        match &self.norm {
            Some(norm) => {
                let x = norm.forward(memory.x.clone(), pass);
                pass.observe(|| "encoder.norm".into(), &x);
                memory.with(x)
            }
            None => memory,
        }
    }
}

/// Self-attention and a feed-forward network, each in a residual connection.
#[derive(Clone, Debug)]
pub struct EncoderLayer {
    /// Attention to every real position.
    pub self_attention: MultiHeadAttention,
    /// The residual connection around the self-attention.
    pub self_attention_residual: Residual,
    /// Applied to each position separately.
    pub feed_forward: FeedForward,
    /// The residual connection around the feed-forward network.
    pub feed_forward_residual: Residual,
}

impl EncoderLayer {
    fn new(
        stack: &TransformerStack,
        attention: &Attention,
        number: usize,
        scope: Scope<'_>,
    ) -> Self {
        let site = AttentionSite::EncoderSelf;
        let residual = |name| Residual::new(stack, scope.at(name));
        Self {
            self_attention: MultiHeadAttention::new(
                attention,
                site,
                number,
                scope.at("self_attention"),
            ),
            self_attention_residual: residual("self_attention_residual"),
            feed_forward: FeedForward::new(&stack.feed_forward, scope.at("feed_forward")),
            feed_forward_residual: residual("feed_forward_residual"),
        }
    }

    /// Maps sequences to sequences of the same shape.
    fn forward(&self, src: Sequence, visible: Visible<'_>, pass: &Pass<'_>) -> Sequence {
        let batch = src.batch();
        let attend = |x| self.self_attention.attend_itself(x, batch, visible, pass);
        let residual = &self.self_attention_residual;
        let x = residual.forward(src.x.clone(), pass, attend);
        let x = self
            .feed_forward_residual
            .forward(x, pass, |x| self.feed_forward.forward(x, pass));
        src.with(x)
    }
}
