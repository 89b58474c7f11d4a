//! Every knob that a person may set, with its default. One TOML file, read strictly: see [`Config::load`].
//!
//! The resolved configuration, every default written out, is part of the model directory, so nothing is stored twice.

mod check;
mod difference;
mod load;
mod schema;
mod strict;
#[cfg(test)]
mod tests;

pub use difference::Difference;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A whole configuration file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Seeds everything random: initialisation, shuffling, dropout, built-in corpora.
    pub seed: u64,
    /// Where the sentence pairs come from.
    pub data: DataConfig,
    /// How text becomes ids.
    pub tokenizer: TokenizerConfig,
    /// The network.
    pub model: ModelConfig,
    /// How it is trained.
    pub train: TrainConfig,
    /// How it translates, in validation and afterwards, unless the command line says otherwise.
    pub decode: DecodeConfig,
}

/// `[data]`: the corpora.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// The folder that relative paths of the corpora start at; the current directory if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// The pairs to train on.
    pub train: CorpusConfig,
    /// The pairs to validate on; without them nothing is validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<CorpusConfig>,
    /// Longer sentences, in tokens with `</s>`, are dropped from training and counted.
    pub max_len: usize,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            dir: None,
            train: CorpusConfig::default(),
            valid: None,
            max_len: 256,
        }
    }
}

/// One corpus, in exactly one of four forms: `src` + `tgt`, `tsv`, `jsonl`, or `builtin`. Files may be gzipped (`.gz`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorpusConfig {
    /// Source sentences, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<PathBuf>,
    /// Their translations, aligned line by line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tgt: Option<PathBuf>,
    /// One file of lines `source TAB target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tsv: Option<PathBuf>,
    /// One file of JSON objects a line, with string fields `src` and `tgt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jsonl: Option<PathBuf>,
    /// A generated corpus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builtin: Option<BuiltinTask>,
    /// How many pairs to generate, for `builtin` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<usize>,
}

/// The generated corpora.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum BuiltinTask {
    /// English to German by a synchronous grammar.
    Grammar,
    /// A sequence of digits, reversed.
    Reverse,
}

/// `[tokenizer]`: how text becomes ids, learned from the training text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerConfig {
    /// What a token is.
    pub kind: TokenizerKind,
    /// The size of a vocabulary, special tokens included.
    pub vocab_size: usize,
    /// One vocabulary for both sides, or one each.
    pub vocabulary: Vocabulary,
    /// Tokens seen less often are not learned.
    pub min_frequency: u64,
    /// Lower-cases the text.
    pub lowercase: bool,
    /// Unicode normalisation.
    pub normalization: Normalization,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenizerKind {
    /// Byte-pair encoding over words marked by `▁` (Sennrich et al. 2016).
    Bpe,
    /// Unigram language model over words marked by `▁` (Kudo 2018).
    Unigram,
    /// Words between white space.
    Word,
    /// Single characters.
    Char,
}

/// Whether the two sides share a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vocabulary {
    /// One vocabulary learned from both sides.
    Shared,
    /// A vocabulary for each side.
    Separate,
}

/// Unicode normalisation of text before it is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// Text is taken as it is.
    None,
    /// Canonical composition.
    Nfc,
    /// Compatibility composition.
    Nfkc,
}

impl Default for TokenizerConfig {
    fn default() -> Self {
        Self {
            kind: TokenizerKind::Bpe,
            vocab_size: 8000,
            vocabulary: Vocabulary::Shared,
            min_frequency: 2,
            lowercase: false,
            normalization: Normalization::Nfkc,
        }
    }
}

/// `[model]`: the Transformer of *Attention Is All You Need* and its variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Width of the embeddings and of every sublayer's output.
    pub d_model: usize,
    /// Width of the feed-forward networks' inner layer.
    pub d_ff: usize,
    /// Attention heads; they divide `d_model`.
    pub n_heads: usize,
    /// Layers of the encoder.
    pub n_encoder_layers: usize,
    /// Layers of the decoder.
    pub n_decoder_layers: usize,
    /// The longest sequence that the model accepts, in tokens.
    pub max_len: usize,
    /// Dropout on embeddings and on each sublayer's output.
    pub dropout: f64,
    /// Dropout on the attention weights.
    pub attention_dropout: f64,
    /// Dropout after the feed-forward networks' activation.
    pub activation_dropout: f64,
    /// Where dropout acts around a sublayer.
    pub dropout_position: DropoutPosition,
    /// Where the norm stands around a sublayer.
    pub norm_position: NormPosition,
    /// Which norm.
    pub norm: NormKind,
    /// The feed-forward networks' non-linearity.
    pub activation: ActivationKind,
    /// How a position is told to the model.
    pub positions: Positions,
    /// Multiplies embeddings by √d_model (section 3.4 of the paper).
    pub scale_embeddings: bool,
    /// Which embeddings and projections are one matrix.
    pub tie_embeddings: TieEmbeddings,
    /// Gives the query, key, value and output projections of attention a bias.
    pub attention_bias: bool,
    /// Gives the output projection a bias.
    pub output_bias: bool,
    /// How weights start.
    pub init: Init,
}

/// Where the norm stands around a sublayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormPosition {
    /// norm(x + sublayer(x)), as in the paper.
    Post,
    /// x + sublayer(norm(x)), and a final norm closes each stack.
    Pre,
}

/// Which norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormKind {
    /// Layer normalisation (Ba et al. 2016): gain and bias for each feature.
    Layer,
    /// Root mean square normalisation (Zhang and Sennrich 2019): a gain for each feature.
    Rms,
    /// The tutorials' variant: one scalar gain and bias, (x − mean) / (unbiased standard deviation + ε).
    Scalar,
}

/// Where dropout acts around a sublayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropoutPosition {
    /// On the sublayer's output, before the residual is added (paper, section 5.4).
    Sublayer,
    /// On the result of residual and norm.
    AfterNorm,
}

/// The feed-forward networks' non-linearity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationKind {
    /// max(0, x), as in the paper.
    Relu,
    /// x·Φ(x), the Gaussian error linear unit.
    Gelu,
}

/// How a position is told to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Positions {
    /// Sinusoids as in the paper (section 3.5): sine and cosine interleaved, exponent 2i/d.
    SinusoidalInterleaved,
    /// [sin | cos] with exponent 2i/d.
    SinusoidalConcatenated,
    /// [sin | cos] with exponent i/(d/2 − 1), as Marian, fairseq and Tensor2Tensor have it.
    SinusoidalTensor2tensor,
    /// A learned vector for each position below `max_len`.
    Learned,
    /// Rotary (Su et al. 2021): queries and keys are turned by an angle that grows with the position.
    Rotary,
    /// No positions.
    None,
}

/// Which embeddings and projections are one matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TieEmbeddings {
    /// Three matrices.
    None,
    /// The decoder's input embedding is the output projection (Press and Wolf 2017).
    Decoder,
    /// Both input embeddings are the output projection (paper, section 3.4); needs a shared vocabulary.
    All,
}

/// How weights start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Init {
    /// Xavier uniform for weight matrices, zero biases, embeddings N(0, 1/d_model).
    XavierUniform,
    /// PyTorch's `nn.Linear` and `nn.Embedding`: U(±1/√fan_in) for weights and biases, embeddings N(0, 1).
    Pytorch,
    /// N(0, 0.02²) for weights and embeddings, zero biases (GPT-2, BERT).
    Normal,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            d_model: 256,
            d_ff: 1024,
            n_heads: 4,
            n_encoder_layers: 3,
            n_decoder_layers: 3,
            max_len: 512,
            dropout: 0.1,
            attention_dropout: 0.0,
            activation_dropout: 0.0,
            dropout_position: DropoutPosition::Sublayer,
            norm_position: NormPosition::Post,
            norm: NormKind::Layer,
            activation: ActivationKind::Relu,
            positions: Positions::SinusoidalInterleaved,
            scale_embeddings: true,
            tie_embeddings: TieEmbeddings::All,
            attention_bias: true,
            output_bias: false,
            init: Init::XavierUniform,
        }
    }
}

/// `[train]`: batches, loss, optimiser, validation, checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Stop after this many updates.
    pub max_steps: u64,
    /// Stop after this many passes over the corpus; 0 for no such limit.
    pub max_epochs: u64,
    /// Target tokens in a micro-batch, padding counted.
    pub batch_tokens: usize,
    /// Micro-batches whose gradients make one update.
    pub accumulate: usize,
    /// Probability mass that label smoothing spreads over the whole vocabulary.
    pub label_smoothing: f64,
    /// Scales gradients down to this global norm; 0 for no clipping.
    pub clip_norm: f64,
    /// Updates between validations; 0 for none.
    pub validate_every: u64,
    /// Validation sentences that are translated; the loss is always over all. 0 for no translations.
    pub validate_sentences: usize,
    /// Sample translations shown after a validation.
    pub samples: usize,
    /// What "best" means.
    pub best_by: BestBy,
    /// Stop after this many validations without a better result; 0 for never.
    pub patience: u64,
    /// Updates between checkpoints; 0 saves once an epoch.
    pub save_every: u64,
    /// How many of the latest checkpoints to keep.
    pub keep_last: usize,
    /// Updates between lines in `metrics.jsonl`.
    pub log_every: u64,
    /// The optimiser.
    pub optimizer: OptimizerConfig,
    /// The learning rate's course.
    pub schedule: ScheduleConfig,
}

/// What the best checkpoint is best by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BestBy {
    /// The lowest validation loss.
    Loss,
    /// The highest validation BLEU.
    Bleu,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            max_steps: 10_000,
            max_epochs: 0,
            batch_tokens: 4096,
            accumulate: 1,
            label_smoothing: 0.1,
            clip_norm: 0.0,
            validate_every: 500,
            validate_sentences: 200,
            samples: 3,
            best_by: BestBy::Loss,
            patience: 0,
            save_every: 500,
            keep_last: 3,
            log_every: 10,
            optimizer: OptimizerConfig::default(),
            schedule: ScheduleConfig::default(),
        }
    }
}

/// `[train.optimizer]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizerConfig {
    /// Which optimiser.
    pub kind: OptimizerKind,
    /// The peak of the schedule (for `noam` a factor).
    pub learning_rate: f64,
    /// Adam's decay of the mean of gradients.
    pub beta1: f64,
    /// Adam's decay of the mean of squared gradients.
    pub beta2: f64,
    /// Adam's ε.
    pub epsilon: f64,
    /// SGD's momentum.
    pub momentum: f64,
    /// AdamW's decoupled weight decay; for SGD and Adam an L2 term of the gradient. Biases and norms are exempt.
    pub weight_decay: f64,
}

/// Which optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimizerKind {
    /// Stochastic gradient descent, with momentum if set.
    Sgd,
    /// Adam (Kingma and Ba 2015).
    Adam,
    /// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
    Adamw,
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self {
            kind: OptimizerKind::Adam,
            learning_rate: 1e-3,
            beta1: 0.9,
            beta2: 0.98,
            epsilon: 1e-9,
            momentum: 0.0,
            weight_decay: 0.0,
        }
    }
}

/// `[train.schedule]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleConfig {
    /// Which schedule.
    pub kind: ScheduleKind,
    /// Updates during which the learning rate rises.
    pub warmup_steps: u64,
    /// `cosine` reaches its end here; 0 means `max_steps`.
    pub decay_steps: u64,
    /// `cosine` and `plateau` do not fall below this fraction of the peak.
    pub min_factor: f64,
    /// `plateau`: factor after `plateau_patience` validations without a better loss.
    pub plateau_factor: f64,
    /// `plateau`: validations to wait.
    pub plateau_patience: u64,
}

/// The learning rate's course.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// The same rate throughout, after warm-up.
    Constant,
    /// learning_rate · d_model^-½ · min(step^-½, step · warmup^-1½) (paper, equation 3).
    Noam,
    /// Linear warm-up to the peak, then falling with the inverse square root of the step.
    InverseSqrt,
    /// Linear warm-up to the peak, then half a cosine.
    Cosine,
    /// Linear warm-up, then lowered whenever the validation loss stops falling.
    Plateau,
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self {
            kind: ScheduleKind::InverseSqrt,
            warmup_steps: 1000,
            decay_steps: 0,
            min_factor: 0.0,
            plateau_factor: 0.5,
            plateau_patience: 2,
        }
    }
}

/// `[decode]`: defaults of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecodeConfig {
    /// Hypotheses kept at each step; 1 is greedy.
    pub beam_width: usize,
    /// How scores of different lengths compare.
    pub length_penalty: LengthPenalty,
    /// The penalty's exponent α.
    pub alpha: f64,
    /// A translation has at most `max_new_factor` · source tokens + `max_new_tokens` tokens.
    pub max_new_factor: f64,
    /// See `max_new_factor`.
    pub max_new_tokens: usize,
    /// Sentences that are translated together.
    pub batch_size: usize,
}

/// How scores of different lengths compare: Σ log P divided by
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LengthPenalty {
    /// ((5 + length) / 6)^α (Wu et al. 2016).
    Gnmt,
    /// length^α.
    Length,
}

impl Default for DecodeConfig {
    fn default() -> Self {
        Self {
            beam_width: 5,
            length_penalty: LengthPenalty::Gnmt,
            alpha: 0.6,
            max_new_factor: 1.5,
            max_new_tokens: 10,
            batch_size: 64,
        }
    }
}
