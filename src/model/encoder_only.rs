//! The Transformer's encoder alone: a masked language model.

use burn::module::Module;
use burn::tensor::Device;

use super::{embedding_scale, sequence};
use crate::batch::Padded;
use crate::config::{ModelConfig, TieEmbeddings};
use crate::nn::{
    Dropout, Embedding, Encoder, Initializer, Output, Pass, PositionEncoding, Sequence,
};
use crate::ops::Map;

/// An encoder-only Transformer: every position sees the whole text, and predicts the token that a mask hides (Devlin et
/// al. 2019).
#[derive(Module, Debug)]
pub struct EncoderOnly {
    /// `[vocab, d_model]`; the output's too if tied.
    pub embedding: Embedding,
    /// To the vocabulary.
    pub output: Output,
    /// Positions of the text.
    pub positions: PositionEncoding,
    /// The stack.
    pub encoder: Encoder,
    #[module(skip)]
    dropout: Dropout,
    #[module(skip)]
    embedding_scale: f64,
    #[module(skip)]
    max_len: usize,
}

impl EncoderOnly {
    /// A new model, initialised from `seed`.
    pub fn new(config: &ModelConfig, vocab: usize, seed: u64, device: &Device) -> Self {
        let d_model = config.d_model;
        let init = &mut Initializer::new(config.init, seed, device);
        let tied = config.tie_embeddings != TieEmbeddings::None;
        Self {
            embedding: Embedding::new(vocab, d_model, init),
            output: Output::new(d_model, vocab, tied, config.output_bias, init),
            positions: PositionEncoding::new(config, init),
            encoder: Encoder::new(config, init),
            dropout: init.dropout(config.dropout),
            embedding_scale: embedding_scale(config),
            max_len: config.max_len,
        }
    }

    /// A vector `[batch · len, d_model]` for every position.
    pub fn encode(&self, text: &Padded, pass: &Pass<'_>) -> Sequence {
        let x = self.embedding.forward(
            &text.ids,
            text.rows(),
            0,
            self.embedding_scale,
            Some(&self.positions),
            pass.dropout(self.dropout),
        );
        pass.observe(|| "embedding".into(), &x);
        self.encoder.forward(sequence(text, x), pass)
    }

    /// From there to logits of every position's own token.
    pub fn projection(&self) -> Map {
        self.output.as_map(&self.embedding)
    }

    /// The longest text that the model accepts, in tokens.
    pub fn max_len(&self) -> usize {
        self.max_len
    }
}
