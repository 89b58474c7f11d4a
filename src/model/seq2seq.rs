//! Sequence to sequence by recurrent networks (Sutskever et al. 2014), with attention (Bahdanau et al. 2015; Luong et al.
//! 2015) if configured.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::{Stepper, embedding_scale, logits};
use crate::batch::{Batch, Padded, TokenId};
use crate::config::{ModelConfig, TieEmbeddings};
use crate::nn::{
    Dropout, Embedding, Encoded, Initializer, Output, Pass, RecurrentDecoder, RecurrentEncoder,
    RecurrentState,
};
use crate::ops::{self, Lengths, Map};

/// A recurrent encoder and decoder. Without attention the encoder's final states are all that the decoder knows.
#[derive(Module, Debug)]
pub struct Seq2seq {
    /// `[src_vocab, d_model]`; serves both sides and the output if all are tied.
    pub src_embedding: Embedding,
    /// `[tgt_vocab, d_model]`, unless tied with the source's.
    pub tgt_embedding: Option<Embedding>,
    /// To the target vocabulary.
    pub output: Output,
    /// Reads the source.
    pub encoder: RecurrentEncoder,
    /// Writes the target.
    pub decoder: RecurrentDecoder,
    #[module(skip)]
    src_dropout: Dropout,
    #[module(skip)]
    tgt_dropout: Dropout,
    #[module(skip)]
    embedding_scale: f64,
    #[module(skip)]
    max_len: usize,
}

impl Seq2seq {
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
            encoder: RecurrentEncoder::new(config, d_model, init),
            decoder: RecurrentDecoder::new(config, init),
            src_dropout: init.dropout(config.dropout),
            tgt_dropout: init.dropout(config.dropout),
            embedding_scale: embedding_scale(config),
            max_len: config.max_len,
        }
    }

    /// What the encoder makes of the source.
    pub fn encode(&self, src: &Padded, pass: &Pass<'_>) -> Encoded {
        let dropout = pass.dropout(self.src_dropout);
        let x = self.embed(&self.src_embedding, &src.ids, dropout);
        pass.observe(|| "src_embedding".into(), &x);
        self.encoder.forward(x, &lengths(src), pass)
    }

    /// The readout at every target position, given those before it (teacher forcing): `[batch · len, d_model]`.
    pub fn last_layer(&self, batch: &Batch, pass: &Pass<'_>) -> Tensor<2> {
        let Batch { src, tgt_in, .. } = batch;
        let mut state = self.decoder.start(self.encode(src, pass), pad(src), pass);
        let dropout = pass.dropout(self.tgt_dropout);
        let x = self.embed(self.tgt_embedding(), &tgt_in.ids, dropout);
        pass.observe(|| "tgt_embedding".into(), &x);
        self.decoder.forward(x, &lengths(tgt_in), &mut state, pass)
    }

    /// From the readout to logits.
    pub fn projection(&self) -> Map {
        self.output.as_map(self.tgt_embedding())
    }

    fn embed(
        &self,
        table: &Embedding,
        ids: &[TokenId],
        dropout: Option<ops::Dropout>,
    ) -> Tensor<2> {
        table.forward(ids, ids.len(), 0, self.embedding_scale, None, dropout)
    }

    fn tgt_embedding(&self) -> &Embedding {
        self.tgt_embedding.as_ref().unwrap_or(&self.src_embedding)
    }
}

impl Stepper for Seq2seq {
    type State = RecurrentState;

    fn start(&self, src: &Padded) -> RecurrentState {
        let pass = &Pass::inference();
        self.decoder.start(self.encode(src, pass), pad(src), pass)
    }

    fn step(&self, last: &[TokenId], state: &mut RecurrentState) -> Tensor<2> {
        let pass = &Pass::inference();
        let x = self.embed(self.tgt_embedding(), last, None);
        let one = Lengths::new(vec![1; last.len()], 1);
        let x = self.decoder.forward(x, &one, state, pass);
        logits(x, self.projection(), pass)
    }

    fn select(&self, state: &mut RecurrentState, rows: &[usize]) {
        state.select(rows);
    }

    fn max_len(&self) -> usize {
        self.max_len
    }
}

fn pad(tokens: &Padded) -> Lengths {
    Lengths::new(tokens.lens.as_slice(), tokens.width)
}

/// How the rows of `tokens` belong to sequences.
pub(super) fn lengths(tokens: &Padded) -> Lengths {
    Lengths::new(tokens.lens.as_slice(), tokens.width)
}
