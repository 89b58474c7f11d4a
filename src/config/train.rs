//! `[train]`: batches, loss, optimizer, schedule, validation, checkpoints.

use serde::{Deserialize, Serialize};

/// `[train]`: batches, loss, optimizer, schedule, validation, checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Stop after this many updates.
    pub max_steps: u64,
    /// Stop after this many passes over the corpus; 0 for no such limit.
    pub max_epochs: u64,
    /// Target tokens in a micro-batch, including padding.
    pub batch_tokens: usize,
    /// Micro-batches per update (gradient accumulation), over all processes.
    pub micro_batches_per_update: usize,
    /// Number type in which processes exchange gradients.
    pub exchange_precision: ExchangePrecision,
    /// Limit of the RAM used by training, in millions of bytes; 0 for what is free.
    pub max_memory_mb: u64,
    /// Probability mass that label smoothing spreads over the whole vocabulary.
    pub label_smoothing: f64,
    /// Precision of the matrix products of linear maps.
    pub precision: TrainPrecision,
    /// Gradients are scaled down to this global norm; 0 for no clipping.
    pub clip_norm: f64,
    /// Updates between validations; 0 for none.
    pub validate_every: u64,
    /// Validation sentences that are translated; 0 for none. The loss is always that of the whole corpus.
    pub validate_sentences: usize,
    /// Sample translations shown after a validation.
    pub samples: usize,
    /// Criterion of the best checkpoint.
    pub best_by: BestBy,
    /// Stop after this many validations without a better result; 0 for never.
    pub patience: u64,
    /// Updates between checkpoints; 0 saves once an epoch.
    pub save_every: u64,
    /// Latest checkpoints to keep.
    pub keep_last: usize,
    /// Number of latest checkpoints whose average is served when training ends; 0 to serve the best checkpoint, or the last
    /// one without validation.
    pub average_last: usize,
    /// Updates between lines in `metrics.jsonl`, each of which is the mean over these updates.
    pub log_every: u64,
    /// Whether the log is written for TensorBoard, too.
    pub tensorboard: bool,
    /// The optimizer.
    pub optimizer: OptimizerConfig,
    /// The learning rate schedule.
    pub schedule: ScheduleConfig,
    /// Scheduled sampling.
    pub scheduled_sampling: SamplingConfig,
}

/// Number type in which processes exchange gradients. The parameters are always exchanged in `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExchangePrecision {
    /// `f32`: the result does not depend on the number of processes.
    #[default]
    F32,
    /// bfloat16: half as many bytes, but the result depends on the number of processes.
    Bf16,
}

/// Precision of the matrix products of linear maps in training. Validation and everything else use `f32`.
///
/// A run only resumes to the bit on CPUs with the same instructions: those for bfloat16 sum in different orders, and
/// [`TrainPrecision::Auto`] may even choose another precision. Resuming with other instructions is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainPrecision {
    /// `f32`.
    F32,
    /// Operands rounded to bfloat16, sums in `f32`: much faster on CPUs with AMX or AVX-512-BF16.
    Bf16,
    /// `bf16` where the CPU is faster with it, otherwise `f32`.
    Auto,
}

/// Criterion of the best checkpoint.
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
            micro_batches_per_update: 1,
            exchange_precision: ExchangePrecision::F32,
            max_memory_mb: 0,
            label_smoothing: 0.1,
            precision: TrainPrecision::F32,
            clip_norm: 0.0,
            validate_every: 500,
            validate_sentences: 200,
            samples: 3,
            best_by: BestBy::Loss,
            patience: 0,
            save_every: 500,
            keep_last: 3,
            average_last: 0,
            log_every: 10,
            tensorboard: false,
            optimizer: OptimizerConfig::default(),
            schedule: ScheduleConfig::default(),
            scheduled_sampling: SamplingConfig::default(),
        }
    }
}

/// `[train.scheduled_sampling]` (Bengio et al. 2015): with probability ε the decoder reads the reference token, otherwise the
/// model's own prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplingConfig {
    /// Decay of ε.
    pub kind: SamplingKind,
    /// Lower limit of ε.
    pub least: f64,
    /// Time scale of the decay in updates: k in the formulas.
    pub decay_steps: f64,
}

/// Decay of ε over updates i.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SamplingKind {
    /// 1: the decoder reads the reference (teacher forcing).
    None,
    /// Always `least`.
    Constant,
    /// 1 − i/k.
    Linear,
    /// exp(−i/k).
    Exponential,
    /// k / (k + exp(i/k)).
    InverseSigmoid,
}

impl Default for SamplingConfig {
    fn default() -> Self {
        Self {
            kind: SamplingKind::None,
            least: 0.5,
            decay_steps: 1000.0,
        }
    }
}

/// `[train.optimizer]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizerConfig {
    /// Kind of optimizer.
    pub kind: OptimizerKind,
    /// Peak of the schedule (for `noam` a factor).
    pub learning_rate: f64,
    /// Adam's decay rate of the mean of gradients.
    pub beta1: f64,
    /// Adam's decay rate of the mean of squared gradients.
    pub beta2: f64,
    /// Adam's ε.
    pub epsilon: f64,
    /// SGD's momentum.
    pub momentum: f64,
    /// AdamW's decoupled weight decay; for SGD and Adam an L2 term of the gradient. It applies to matrices only.
    pub weight_decay: f64,
}

/// A kind of optimizer.
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
    /// Kind of schedule.
    pub kind: ScheduleKind,
    /// Updates of warm-up, during which the learning rate rises.
    pub warmup_steps: u64,
    /// Update at which `cosine` ends; 0 for `max_steps`.
    pub decay_steps: u64,
    /// Lower limit of `cosine` and `plateau`, as a fraction of the peak.
    pub min_factor: f64,
    /// Factor by which `plateau` lowers the rate after `plateau_patience` validations without a better loss.
    pub plateau_factor: f64,
    /// Validations that `plateau` waits.
    pub plateau_patience: u64,
}

/// A learning rate schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// Linear warm-up, then constant.
    Constant,
    /// learning_rate · d_model^-½ · min(step^-½, step · warmup^-1½) (paper, equation 3).
    Noam,
    /// Linear warm-up to the peak, then decay with the inverse square root of the step.
    InverseSqrt,
    /// Linear warm-up to the peak, then half a cosine.
    Cosine,
    /// Linear warm-up, then lower whenever the validation loss stops falling.
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
