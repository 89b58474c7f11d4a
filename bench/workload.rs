//! What the benchmarks of training share: a Transformer, and a batch of random tokens without padding.

use attentive::batch::{Batch, Padded, TokenId};
use attentive::config::{Config, Matmul, ModelConfig, TieEmbeddings};
use attentive::device;
use attentive::model::Model;
use attentive::random::Random;
use attentive::train::{Gathered, Learner, UpdateScale};

/// An encoder-decoder and its batches.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Workload {
    #[arg(long, default_value_t = 256)]
    pub(crate) d_model: usize,
    #[arg(long, default_value_t = 1024)]
    pub(crate) d_ff: usize,
    #[arg(long, default_value_t = 4)]
    pub(crate) n_heads: usize,
    /// Of the encoder, and of the decoder.
    #[arg(long, default_value_t = 3)]
    pub(crate) n_layers: usize,
    #[arg(long, default_value_t = 8000)]
    pub(crate) vocab: usize,
    /// Sentences of a batch.
    #[arg(long, default_value_t = 64)]
    pub(crate) batch: usize,
    /// Tokens of a sentence, on both sides.
    #[arg(long, default_value_t = 32)]
    pub(crate) length: usize,
    /// Of every kind: residual, attention, activation.
    #[arg(long, default_value_t = 0.1)]
    pub(crate) dropout: f64,
}

impl Workload {
    /// Target tokens of a step.
    pub(crate) fn tokens(&self) -> usize {
        self.batch * self.length
    }

    /// A fresh model with its optimiser.
    pub(crate) fn learner(&self, matmul: Matmul) -> Learner {
        let mut config = Config::default();
        config.model = ModelConfig {
            d_model: self.d_model,
            d_ff: self.d_ff,
            n_heads: self.n_heads,
            n_encoder_layers: self.n_layers,
            n_decoder_layers: self.n_layers,
            dropout: self.dropout,
            attention_dropout: self.dropout,
            activation_dropout: self.dropout,
            tie_embeddings: TieEmbeddings::None,
            output_bias: true,
            ..config.model
        };
        config.train.matmul = matmul;
        let device = device::cpu().autodiff();
        let model = Model::new(&config.model, self.vocab, self.vocab, config.seed, &device);
        Learner::new(model, &config, device)
    }

    /// Random sentences of one length.
    pub(crate) fn batch(&self) -> Batch {
        let mut random = Random::new(1, 1);
        let mut side = || {
            let mut token = || (random.uniform() * self.vocab as f64) as TokenId;
            let mut sentence = || (0..self.length).map(|_| token()).collect();
            let sentences: Vec<Vec<TokenId>> = (0..self.batch).map(|_| sentence()).collect();
            Padded::new(&sentences, 0)
        };
        Batch {
            src: side(),
            tgt_in: side(),
            tgt_out: side(),
            lines: (1..=self.batch).collect(),
            ..Batch::default()
        }
    }
}

/// A whole step, number `step` from 1: forward, backward, update. Gives the loss per token.
pub(crate) fn step(learner: &mut Learner, batch: &Batch, step: u64) -> f64 {
    let mut gathered = Gathered::default();
    let loss = learner.loss(batch, step);
    learner.gather(loss, &mut gathered);
    let (loss, n_tokens) = (gathered.sums.loss, gathered.n_tokens());
    let scale = UpdateScale {
        step,
        learning_rate: 1e-4,
        gradient_scale: 1.0 / n_tokens,
    };
    learner.update(gathered, scale);
    loss / n_tokens
}
