//! The encoder stack (*Attention Is All You Need*, section 3.1).

use burn::module::Module;

use super::{FeedForward, Initializer, MultiHeadAttention, Norm, Pass, Residual, Sequence};
use crate::config::{ModelConfig, NormPosition};
use crate::ops::Causality;

/// A stack of encoder layers; pre-norm stacks end with a norm.
#[derive(Module, Debug)]
pub struct Encoder {
    /// The layers, from the embeddings up.
    pub layers: Vec<EncoderLayer>,
    /// The final norm of a pre-norm stack.
    pub norm: Option<Norm>,
}

impl Encoder {
    /// `config.n_encoder_layers` layers.
    pub fn new(config: &ModelConfig, init: &mut Initializer) -> Self {
        Self {
            layers: (0..config.n_encoder_layers)
                .map(|_| EncoderLayer::new(config, init))
                .collect(),
            norm: (config.norm_position == NormPosition::Pre)
                .then(|| Norm::new(config.norm, config.d_model, init)),
        }
    }

    /// Embedded source sentences to the memory that the decoder attends to.
    pub fn forward(&self, src: Sequence, pass: &Pass<'_>) -> Sequence {
        let mut memory = src;
        for (number, layer) in self.layers.iter().enumerate() {
            memory = layer.forward(memory, pass);
            pass.observe(|| format!("encoder.layers.{number}"), &memory.x);
        }
        match &self.norm {
            Some(norm) => {
                let x = norm.forward(memory.x.clone());
                pass.observe(|| "encoder.norm".into(), &x);
                memory.with(x)
            }
            None => memory,
        }
    }
}

/// Self-attention and a feed-forward network, each in a residual connection.
#[derive(Module, Debug)]
pub struct EncoderLayer {
    /// Every position sees every real position.
    pub self_attention: MultiHeadAttention,
    /// Around it.
    pub self_attention_residual: Residual,
    /// Each position by itself.
    pub feed_forward: FeedForward,
    /// Around it.
    pub feed_forward_residual: Residual,
}

impl EncoderLayer {
    /// One layer.
    pub fn new(config: &ModelConfig, init: &mut Initializer) -> Self {
        let n_sublayers = 2 * config.n_encoder_layers;
        Self {
            self_attention: MultiHeadAttention::for_self(config, n_sublayers, init),
            self_attention_residual: Residual::new(config, init),
            feed_forward: FeedForward::new(config, n_sublayers, init),
            feed_forward_residual: Residual::new(config, init),
        }
    }

    /// Sequences to sequences of the same shape.
    pub fn forward(&self, src: Sequence, pass: &Pass<'_>) -> Sequence {
        let x = self
            .self_attention_residual
            .forward(src.x.clone(), pass, |x| {
                let pad = Some(&src.pad);
                self.self_attention
                    .attend_itself(x, src.batch, pad, Causality::Full, pass)
            });
        let x = self
            .feed_forward_residual
            .forward(x, pass, |x| self.feed_forward.forward(x, pass));
        src.with(x)
    }
}
