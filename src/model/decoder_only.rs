//! The Transformer's decoder alone: a causal language model.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::{Stepper, embedding_scale, logits, sequence};
use crate::batch::{Batch, Padded, TokenId};
use crate::config::{ModelConfig, TieEmbeddings};
use crate::nn::{
    Decoder, DecoderCache, Dropout, Embedding, Initializer, Output, Pass, PositionEncoding, Sight,
};
use crate::ops::Map;

/// A decoder-only Transformer: every position predicts the next token from itself and those before it.
#[derive(Module, Debug)]
pub struct DecoderOnly {
    /// `[vocab, d_model]`; the output's too if tied.
    pub embedding: Embedding,
    /// To the vocabulary.
    pub output: Output,
    /// Positions of the text.
    pub positions: PositionEncoding,
    /// The stack.
    pub decoder: Decoder,
    #[module(skip)]
    dropout: Dropout,
    #[module(skip)]
    embedding_scale: f64,
    #[module(skip)]
    max_len: usize,
}

impl DecoderOnly {
    /// A new model, initialised from `seed`.
    pub fn new(config: &ModelConfig, vocab: usize, seed: u64, device: &Device) -> Self {
        let d_model = config.d_model;
        let init = &mut Initializer::new(config.init, seed, device);
        let tied = config.tie_embeddings != TieEmbeddings::None;
        Self {
            embedding: Embedding::new(vocab, d_model, init),
            output: Output::new(d_model, vocab, tied, config.output_bias, init),
            positions: PositionEncoding::new(config, init),
            decoder: Decoder::new(config, Sight::Itself, init),
            dropout: init.dropout(config.dropout),
            embedding_scale: embedding_scale(config),
            max_len: config.max_len,
        }
    }

    /// The last layer at every position: `[batch · len, d_model]`.
    pub fn last_layer(&self, batch: &Batch, pass: &Pass<'_>) -> Tensor<2> {
        let text = &batch.tgt_in;
        let x = self.embed(&text.ids, text.rows(), 0, pass);
        pass.observe(|| "embedding".into(), &x);
        self.decoder.forward(sequence(text, x), None, pass)
    }

    /// From the last layer to logits.
    pub fn projection(&self) -> Map {
        self.output.as_map(&self.embedding)
    }

    /// What the stack makes of further `ids` of `batch` texts, `[ids.len(), d_model]`.
    fn go_on(&self, ids: &[TokenId], batch: usize, state: &mut DecoderCache) -> Tensor<2> {
        let pass = &Pass::inference();
        let x = self.embed(ids, batch, state.position(), pass);
        self.decoder.step(x, state)
    }

    fn embed(&self, ids: &[TokenId], batch: usize, first: usize, pass: &Pass<'_>) -> Tensor<2> {
        self.embedding.forward(
            ids,
            batch,
            first,
            self.embedding_scale,
            Some(&self.positions),
            pass.dropout(self.dropout),
        )
    }
}

impl Stepper for DecoderOnly {
    type State = DecoderCache;

    /// Has read nothing yet: `src` only says how many texts there will be.
    fn start(&self, src: &Padded) -> DecoderCache {
        self.decoder.start(src.rows(), None)
    }

    fn step(&self, last: &[TokenId], state: &mut DecoderCache) -> Tensor<2> {
        let x = self.go_on(last, last.len(), state);
        logits(x, self.projection(), &Pass::inference())
    }

    fn read(&self, tokens: &[TokenId], state: &mut DecoderCache) -> Tensor<2> {
        let x = self.go_on(tokens, 1, state).narrow(0, tokens.len() - 1, 1);
        logits(x, self.projection(), &Pass::inference())
    }

    fn select(&self, state: &mut DecoderCache, rows: &[usize]) {
        state.select(rows);
    }

    fn max_len(&self) -> usize {
        self.max_len
    }
}
