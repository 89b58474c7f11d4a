//! The models that are measured: encoder-decoder Transformers with random weights, and random sentences without padding.

use attentive_base::batch::{Batch, Padded, TokenId};
use attentive_base::body::Body;
use attentive_base::random::Random;
use attentive_config::{
    Config, DecoderConfig, EncoderConfig, FamilyConfig, ModelConfig, OutputConfig, TieEmbeddings,
    Translator,
};
use serde::Deserialize;

/// Also read by the scripts in `bench/peers`.
const MODELS: &str = include_str!("models.json");

/// An encoder-decoder and its batches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Workload {
    pub(super) name: String,
    d_model: usize,
    d_ff: usize,
    n_heads: usize,
    /// Number of encoder layers, and of decoder layers.
    n_layers: usize,
    pub(super) vocab: usize,
    /// Sentences per batch.
    pub(super) batch: usize,
    /// Tokens per sentence, on both sides.
    pub(super) length: usize,
    /// Rate of all dropouts: residual, attention, activation.
    dropout: f64,
}

/// All workloads.
pub(super) fn workloads() -> Vec<Workload> {
    serde_json::from_str(MODELS).expect("models.json is a list of models")
}

impl Workload {
    /// Target tokens per step.
    pub(super) fn tokens(&self) -> usize {
        self.batch * self.length
    }

    /// The configuration of the model.
    pub(super) fn config(&self) -> Config {
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
        config
    }

    /// Random sentences of equal length.
    pub(super) fn batch(&self) -> Batch {
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
