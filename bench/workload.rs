//! The workload that the training benchmarks share: a Transformer and a batch of random tokens without padding.

use attentive::architecture::Body;
use attentive::batch::{Batch, Padded, TokenId};
use attentive::config::{
    Config, DecoderConfig, EncoderConfig, FamilyConfig, ModelConfig, OutputConfig, TieEmbeddings,
    TrainPrecision, Translator,
};
use attentive::model::Model;
use attentive::random::Random;
use attentive::train::{Learner, Unwatched};
use serde::Deserialize;

/// The models of docs/development/performance.md, also read by bench/peers/pytorch_step.py.
const MODELS: &str = include_str!("models.json");

/// An encoder-decoder and its batches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workload {
    pub(crate) name: String,
    d_model: usize,
    d_ff: usize,
    n_heads: usize,
    /// Number of encoder layers, and of decoder layers.
    n_layers: usize,
    vocab: usize,
    /// Sentences per batch.
    batch: usize,
    /// Tokens per sentence, on both sides.
    length: usize,
    /// Rate of all dropouts: residual, attention, activation.
    dropout: f64,
}

/// All workloads.
pub(crate) fn workloads() -> Vec<Workload> {
    serde_json::from_str(MODELS).expect("bench/models.json is a list of models")
}

impl Workload {
    /// Target tokens per step.
    pub(crate) fn tokens(&self) -> usize {
        self.batch * self.length
    }

    /// A new model with its optimizer.
    pub(crate) fn learner(&self, matmul: TrainPrecision) -> Learner {
        let mut config = Config::default();
        config.model = ModelConfig {
            family: FamilyConfig::Transformer(Translator {
                encoder: EncoderConfig {
                    n_encoder_layers: self.n_layers,
                    ..EncoderConfig::default()
                },
                decoder: DecoderConfig {
                    n_decoder_layers: self.n_layers,
                    ..DecoderConfig::default()
                },
                output: OutputConfig {
                    tie_embeddings: TieEmbeddings::None,
                    output_bias: true,
                    ..OutputConfig::default()
                },
                ..Translator::default()
            }),
            d_model: self.d_model,
            d_ff: self.d_ff,
            n_heads: self.n_heads,
            dropout: self.dropout,
            attention_dropout: self.dropout,
            activation_dropout: self.dropout,
            ..config.model
        };
        config.train.precision = matmul;
        let model = Model::new(
            &config.model.architecture(self.vocab, self.vocab),
            config.model.init,
            config.seed,
        );
        Learner::new(model, &config)
    }

    /// Random sentences of equal length.
    pub(crate) fn batch(&self) -> Batch {
        let mut random = Random::new(1, 1);
        let mut side = || {
            let mut token = || (random.uniform() * self.vocab as f64) as TokenId;
            let mut sentence = || (0..self.length).map(|_| token()).collect();
            let sentences: Vec<Vec<TokenId>> = (0..self.batch).map(|_| sentence()).collect();
            Padded::new(&sentences, 0)
        };
        Batch {
            inputs: Body::EncoderDecoder(side().into(), side()),
            tgt_out: side(),
            lines: (1..=self.batch).collect(),
        }
    }
}

/// Runs training step number `step`, counted from 1: forward, backward, update. Returns the loss per token.
pub(crate) fn step(learner: &mut Learner, batch: &Batch, step: u64) -> f64 {
    let batches = vec![batch.clone(); learner.n_batches()];
    let update = learner.learn(step, 1e-4, &batches, &mut Unwatched);
    let sums = update.expect("the loss on random tokens is finite").sums;
    sums.loss / sums.n_tokens as f64
}
