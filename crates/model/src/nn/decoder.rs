//! The Transformer's decoder stack (*Attention Is All You Need*, section 3.1), for whole sequences.

use attentive_architecture::{SelfMixing, TransformerStack};
use attentive_tape::{Causality, Direction, Lengths, Value};

use super::{
    AttentionSite, DistanceBias, FeedForward, MultiHeadAttention, Norm, Pass, RecurrentLayer,
    Residual, Scope, Sequence, Visible,
};

/// A stack of decoder layers.
#[derive(Clone, Debug)]
pub struct TransformerDecoder {
    /// Relative positions.
    pub distance_bias: Option<DistanceBias>,
    /// The layers, from the bottom up.
    pub layers: Vec<DecoderLayer>,
    /// The final norm.
    pub norm: Option<Norm>,
}

impl TransformerDecoder {
    /// The stack at `scope`.
    pub fn new(stack: &TransformerStack, scope: Scope<'_>) -> Self {
        let layers = scope.at("layers");
        let distance_bias = match &stack.mixing {
            SelfMixing::Attention(attention) => {
                DistanceBias::new(attention, Causality::Causal, scope.at("distance_bias"))
            }
            SelfMixing::Recurrent(_) => None,
        };
        Self {
            distance_bias,
            layers: (0..stack.n_layers)
                .map(|number| DecoderLayer::new(stack, number, layers.at(number)))
                .collect(),
            norm: (stack.final_norm).then(|| Norm::new(&stack.norm, scope.at("norm"))),
        }
    }

    /// All positions at once, each seeing itself and earlier ones: `[batch · len, d_model]`. `memory` is required by
    /// cross-attention.
    pub fn forward(&self, tgt: Sequence, memory: Option<&Sequence>, pass: &Pass<'_>) -> Value {
        let (batch, lengths) = (tgt.batch(), &tgt.lengths);
        let bias = self.distance_bias.as_ref();
        let bias = bias.map(|bias| bias.forward(lengths.width(), pass));
        self.run(tgt.x, pass, |layer, x| {
            let x = layer.self_attention_residual.forward(x, pass, |x| {
                let visible = Visible {
                    keys: None,
                    causality: Causality::Causal,
                    bias: bias.clone(),
                };
                layer.self_attention.forward(x, lengths, visible, pass)
            });
            layer.finish(x, pass, |attention, x| {
                let memory = memory.expect("a decoder with cross-attention is given a memory");
                let source = attention.keys_values(memory.x.clone(), pass);
                let visible = Visible::all(&memory.lengths);
                attention.attend_memory(x, source, batch, visible, pass)
            })
        })
    }

    /// Applies `run_layer(layer, x)` for each layer, then the final norm.
    fn run(
        &self,
        mut x: Value,
        pass: &Pass<'_>,
        mut run_layer: impl FnMut(&DecoderLayer, Value) -> Value,
    ) -> Value {
        for (number, layer) in self.layers.iter().enumerate() {
            x = run_layer(layer, x);
            pass.observe(|| format!("decoder.layers.{number}"), &x);
        }
        if let Some(norm) = &self.norm {
            x = norm.forward(x, pass);
            pass.observe(|| "decoder.norm".into(), &x);
        }
        x
    }
}

/// Causal self-attention or a recurrent cell, optional cross-attention, and a feed-forward network, each in a residual
/// connection.
#[derive(Clone, Debug)]
pub struct DecoderLayer {
    /// Mixes each position with earlier ones.
    pub self_attention: SelfMixer,
    /// The residual connection around the self-attention.
    pub self_attention_residual: Residual,
    /// Attention to the whole memory.
    pub cross_attention: Option<MultiHeadAttention>,
    /// The residual connection around the cross-attention.
    pub cross_attention_residual: Option<Residual>,
    /// Applied to each position separately.
    pub feed_forward: FeedForward,
    /// The residual connection around the feed-forward network.
    pub feed_forward_residual: Residual,
}

/// Mixes the positions of a decoder layer.
// Each layer has only one, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum SelfMixer {
    /// Causal self-attention.
    Attention(MultiHeadAttention),
    /// A recurrent cell.
    Recurrent(RecurrentLayer),
}

impl SelfMixer {
    fn forward(&self, x: Value, lengths: &Lengths, visible: Visible<'_>, pass: &Pass<'_>) -> Value {
        match self {
            Self::Attention(attention) => attention.attend_itself(x, lengths.rows(), visible, pass),
            Self::Recurrent(layer) => layer.hidden_part(layer.forward(x, lengths, None, pass)),
        }
    }
}

impl DecoderLayer {
    fn new(stack: &TransformerStack, number: usize, scope: Scope<'_>) -> Self {
        let residual = |name| Residual::new(stack, scope.at(name));
        let attention = |attention, site, name| {
            MultiHeadAttention::new(attention, site, number, scope.at(name))
        };
        let own = scope.at("self_attention");
        let cross = stack.cross.as_ref().map(|cross| &cross.attention);
        Self {
            self_attention: match &stack.mixing {
                SelfMixing::Attention(values) => SelfMixer::Attention(attention(
                    values,
                    AttentionSite::DecoderSelf,
                    "self_attention",
                )),
                SelfMixing::Recurrent(cell) => SelfMixer::Recurrent(RecurrentLayer::new(
                    *cell,
                    Direction::Forward,
                    stack.d_model,
                    own,
                )),
            },
            self_attention_residual: residual("self_attention_residual"),
            cross_attention: cross
                .map(|values| attention(values, AttentionSite::Cross, "cross_attention")),
            cross_attention_residual: cross.map(|_| residual("cross_attention_residual")),
            feed_forward: FeedForward::new(&stack.feed_forward, scope.at("feed_forward")),
            feed_forward_residual: residual("feed_forward_residual"),
        }
    }

    /// The sublayers after the self-attention; `attend` applies the cross-attention to the memory.
    fn finish(
        &self,
        x: Value,
        pass: &Pass<'_>,
        attend: impl FnOnce(&MultiHeadAttention, Value) -> Value,
    ) -> Value {
        let cross = self.cross_attention.as_ref();
        let x = match cross.zip(self.cross_attention_residual.as_ref()) {
            Some((attention, residual)) => residual.forward(x, pass, |x| attend(attention, x)),
            None => x,
        };
        self.feed_forward_residual
            .forward(x, pass, |x| self.feed_forward.forward(x, pass))
    }
}
