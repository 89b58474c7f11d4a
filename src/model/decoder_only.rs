//! The Transformer's decoder alone: a causal language model.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::{Loss, Stepper, embedding_scale, sequence, targets};
use crate::batch::{Batch, Padded, TokenId};
use crate::config::{ModelConfig, TieEmbeddings};
use crate::nn::{
    Decoder, DecoderCache, Dropout, Embedding, Initializer, Output, Pass, PositionEncoding, Sight,
};

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

    /// Logits `[batch · len, vocab]` of the token behind every position.
    pub fn forward(&self, text: &Padded, pass: &Pass<'_>) -> Tensor<2> {
        let x = self.decode(text, pass);
        self.output.logits(x, &self.embedding, pass)
    }

    /// The label-smoothed loss of a batch, summed over its real tokens.
    pub fn loss(&self, batch: &Batch, label_smoothing: f64, pass: &Pass<'_>) -> Loss {
        let x = self.decode(&batch.tgt_in, pass);
        let targets = targets(&batch.tgt_out);
        let table = &self.embedding;
        self.output.loss(x, table, &targets, label_smoothing, pass)
    }

    fn decode(&self, text: &Padded, pass: &Pass<'_>) -> Tensor<2> {
        let x = self.embed(&text.ids, text.rows(), 0, pass);
        pass.observe(|| "embedding".into(), &x);
        self.decoder.forward(sequence(text, x), None, pass)
    }

    /// What the stack makes of further `ids` of `batch` texts, `[ids.len(), d_model]`.
    fn go_on(&self, ids: &[TokenId], batch: usize, state: &mut DecoderCache) -> Tensor<2> {
        let x = self.embed(ids, batch, state.position(), &Pass::inference());
        self.decoder.step(x, state)
    }

    fn logits(&self, x: Tensor<2>) -> Tensor<2> {
        let pass = &Pass::inference();
        self.output.logits(x, &self.embedding, pass)
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
        self.logits(x)
    }

    fn read(&self, tokens: &[TokenId], state: &mut DecoderCache) -> Tensor<2> {
        let x = self.go_on(tokens, 1, state);
        self.logits(x.narrow(0, tokens.len() - 1, 1))
    }

    fn select(&self, state: &mut DecoderCache, rows: &[usize]) {
        state.select(rows);
    }

    fn max_len(&self) -> usize {
        self.max_len
    }
}
