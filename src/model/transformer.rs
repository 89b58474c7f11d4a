//! The Transformer encoder-decoder of *Attention Is All You Need* and its variants.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::{Stepper, embedding_scale, logits, sequence};
use crate::batch::{Batch, Padded, TokenId};
use crate::config::{ModelConfig, TieEmbeddings};
use crate::nn::{
    Decoder, DecoderCache, Dropout, Embedding, Encoder, Initializer, Output, Pass,
    PositionEncoding, Sequence, Sight,
};
use crate::ops::Map;

/// An encoder-decoder Transformer.
#[derive(Module, Debug)]
pub struct Transformer {
    /// `[src_vocab, d_model]`; serves both sides and the output if all are tied.
    pub src_embedding: Embedding,
    /// `[tgt_vocab, d_model]`, unless tied with the source's.
    pub tgt_embedding: Option<Embedding>,
    /// To the target vocabulary.
    pub output: Output,
    /// Positions of the source.
    pub src_positions: PositionEncoding,
    /// Positions of the target.
    pub tgt_positions: PositionEncoding,
    /// The encoder stack.
    pub encoder: Encoder,
    /// The decoder stack.
    pub decoder: Decoder,
    #[module(skip)]
    src_dropout: Dropout,
    #[module(skip)]
    tgt_dropout: Dropout,
    #[module(skip)]
    embedding_scale: f64,
    #[module(skip)]
    max_len: usize,
}

/// What the Transformer remembers while it decodes.
#[derive(Clone, Debug)]
pub struct TransformerState(DecoderCache);

impl Transformer {
    /// A new model, initialised from `seed`.
    pub fn new(
        config: &ModelConfig,
        src_vocab: usize,
        tgt_vocab: usize,
        seed: u64,
        device: &Device,
    ) -> Self {
        let d_model = config.d_model;
        let init = &mut Initializer::new(config.init, seed, device);
        let tied = config.tie_embeddings != TieEmbeddings::None;
        Self {
            src_embedding: Embedding::new(src_vocab, d_model, init),
            tgt_embedding: (config.tie_embeddings != TieEmbeddings::All)
                .then(|| Embedding::new(tgt_vocab, d_model, init)),
            output: Output::new(d_model, tgt_vocab, tied, config.output_bias, init),
            src_positions: PositionEncoding::new(config, init),
            tgt_positions: PositionEncoding::new(config, init),
            encoder: Encoder::new(config, init),
            decoder: Decoder::new(config, Sight::Memory, init),
            src_dropout: init.dropout(config.dropout),
            tgt_dropout: init.dropout(config.dropout),
            embedding_scale: embedding_scale(config),
            max_len: config.max_len,
        }
    }

    /// The memory that the decoder attends to.
    pub fn encode(&self, src: &Padded, pass: &Pass<'_>) -> Sequence {
        let x = self.src_embedding.forward(
            &src.ids,
            src.rows(),
            0,
            self.embedding_scale,
            Some(&self.src_positions),
            pass.dropout(self.src_dropout),
        );
        pass.observe(|| "src_embedding".into(), &x);
        self.encoder.forward(sequence(src, x), pass)
    }

    /// The decoder's output for every position of `tgt_in`: `[batch · len, d_model]`.
    pub fn decode(&self, tgt_in: &Padded, memory: &Sequence, pass: &Pass<'_>) -> Tensor<2> {
        let x = self.embed_target(&tgt_in.ids, tgt_in.rows(), 0, pass);
        pass.observe(|| "tgt_embedding".into(), &x);
        self.decoder
            .forward(sequence(tgt_in, x), Some(memory), pass)
    }

    /// The last layer at every target position, given those before it (teacher forcing): `[batch · len, d_model]`.
    pub fn last_layer(&self, batch: &Batch, pass: &Pass<'_>) -> Tensor<2> {
        let memory = self.encode(&batch.src, pass);
        self.decode(&batch.tgt_in, &memory, pass)
    }

    /// From the last layer to logits.
    pub fn projection(&self) -> Map {
        self.output.as_map(self.tgt_embedding())
    }

    fn embed_target(
        &self,
        ids: &[TokenId],
        batch: usize,
        first: usize,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        self.tgt_embedding().forward(
            ids,
            batch,
            first,
            self.embedding_scale,
            Some(&self.tgt_positions),
            pass.dropout(self.tgt_dropout),
        )
    }

    fn tgt_embedding(&self) -> &Embedding {
        self.tgt_embedding.as_ref().unwrap_or(&self.src_embedding)
    }
}

impl Stepper for Transformer {
    type State = TransformerState;

    fn start(&self, src: &Padded) -> TransformerState {
        let memory = self.encode(src, &Pass::inference());
        TransformerState(self.decoder.start(memory.batch, Some(&memory)))
    }

    fn step(&self, last: &[TokenId], state: &mut TransformerState) -> Tensor<2> {
        let pass = &Pass::inference();
        let x = self.embed_target(last, last.len(), state.0.position(), pass);
        logits(self.decoder.step(x, &mut state.0), self.projection(), pass)
    }

    fn select(&self, state: &mut TransformerState, rows: &[usize]) {
        state.0.select(rows);
    }

    fn max_len(&self) -> usize {
        self.max_len
    }
}
