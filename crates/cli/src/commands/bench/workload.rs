//! The models that are measured: encoder-decoders with random weights, and random sentences without padding.

use attentive_architecture::CellKind;
use attentive_base::batch::{Batch, Padded, TokenId};
use attentive_base::body::Body;
use attentive_base::random::Random;
use attentive_config::{
    Config, DecoderConfig, EncoderConfig, FamilyConfig, ModelConfig, OutputConfig, StackKind, TieEmbeddings,
    Translator,
};
use serde::Deserialize;

/// Also read by the scripts in `bench/peers`.
const MODELS: &str = include_str!("models.json");

/// An encoder-decoder and its batches.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Workload {
    pub(super) name: String,
    d_model: usize,
    #[serde(flatten)]
    kind: Kind,
    /// Number of encoder layers, and of decoder layers.
    n_layers: usize,
    pub(super) vocab: usize,
    /// Sentences per batch.
    pub(super) batch: usize,
    /// Tokens per sentence, on both sides.
    pub(super) length: usize,
    /// Rate of all dropouts: residual, attention, activation.
    dropout: f64,
    /// Whether it is for GPUs: a CPU measures it only if it is named.
    #[serde(default)]
    pub(super) is_large: bool,
}

/// Sentences per batch, and tokens per sentence, for a try.
const QUICK: usize = 4;

/// The kind of the layers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum Kind {
    Transformer {
        d_ff: usize,
        n_heads: usize,
    },
    /// LSTMs: one in both directions, and one with additive attention.
    Lstm {},
}

pub(super) fn workloads() -> Vec<Workload> {
    serde_json::from_str(MODELS).expect("models.json is a list of models")
}

impl Workload {
    /// Target tokens per step.
    pub(super) fn tokens(&self) -> usize {
        self.batch * self.length
    }

    /// Whether translation is measured.
    pub(super) fn is_translated(&self) -> bool {
        matches!(self.kind, Kind::Transformer { .. })
    }

    /// The same with sentences of `length` tokens, of which a batch has as many as before.
    pub(super) fn with_length(mut self, length: usize) -> Self {
        self.batch = (self.tokens() / length).max(1);
        self.length = length;
        self
    }

    /// The same with a batch of a few short sentences.
    pub(super) fn quick(self) -> Self {
        Self { batch: QUICK, length: QUICK, ..self }
    }

    /// The configuration of the model.
    pub(super) fn config(&self) -> Config {
        let mut config = Config::default();
        let stack = match self.kind {
            Kind::Transformer { .. } => StackKind::Transformer,
            Kind::Lstm {} => StackKind::Recurrent,
        };
        let translator = Translator {
            encoder: EncoderConfig { stack, n_encoder_layers: self.n_layers, ..EncoderConfig::default() },
            decoder: DecoderConfig { stack, n_decoder_layers: self.n_layers, ..DecoderConfig::default() },
            output: OutputConfig {
                tie_embeddings: TieEmbeddings::None,
                output_bias: true,
                ..OutputConfig::default()
            },
            ..Translator::default()
        };
        config.model = ModelConfig {
            d_model: self.d_model,
            max_len: config.model.max_len.max(self.length + 1),
            dropout: self.dropout,
            attention_dropout: self.dropout,
            activation_dropout: self.dropout,
            ..config.model
        };
        match self.kind {
            Kind::Transformer { d_ff, n_heads } => {
                config.model.family = FamilyConfig::Transformer(translator);
                (config.model.d_ff, config.model.n_heads) = (d_ff, n_heads);
            }
            Kind::Lstm {} => {
                config.model.family = FamilyConfig::Seq2seq(translator);
                config.model.recurrent.cell = CellKind::Lstm;
            }
        }
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
            weights: Vec::new(),
            aligned: Vec::new(),
        }
    }
}
