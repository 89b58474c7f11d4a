//! `[train]`: batches, loss, optimizer, schedule, validation, checkpoints.

use attentive_kernels::gemm::Float;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OptimizerConfig, ScheduleConfig, TrainDevice};

/// `[train]`: batches, loss, optimizer, schedule, validation, checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// The number of updates after which training ends.
    #[schemars(range(min = 1))]
    #[schemars(extend(
        "x-also" = "steps max_updates max_update updates iterations after after_batches",
        "x-resume" = "free"
    ))]
    pub max_steps: u64,
    /// The number of passes over the training corpus after which training ends; 0 for no such limit.
    #[schemars(extend("x-also" = "epochs num_epochs n_epochs", "x-resume" = "free"))]
    pub max_epochs: u64,
    /// The size of a micro-batch in target tokens, padding included. Larger batches learn more steadily but
    /// need more RAM. A micro-batch has at most twice as many source tokens; of a classifier, whose targets
    /// are labels, this is the limit that counts. An update has `train.micro_batches_per_update` of them. 0
    /// is the largest size that fits into `train.max_memory_mb`, or else into nine tenths of the free RAM;
    /// the run keeps the number that it finds.
    #[schemars(extend("x-also" = "batch_size max_tokens tokens_per_batch mini_batch_words mini_batch_fit"))]
    pub batch_tokens: usize,
    /// The number of micro-batches per update (gradient accumulation), over all processes together. It makes
    /// updates larger without more RAM.
    #[schemars(range(min = 1, max = 1 << 16))]
    #[schemars(extend(
        "x-also" = "accumulate grad_accum gradient_accumulation gradient_accumulation_steps update_freq \
                    optimizer_delay"
    ))]
    pub micro_batches_per_update: usize,
    /// The number type in which processes exchange gradients under MPI. With `bf16`, the result depends on
    /// the number of processes. Parameters are always exchanged in `f32`.
    pub exchange_precision: Float,
    /// The limit of the RAM that training may use, in MB; 0 for all that is free.
    #[schemars(extend("x-resume" = "free", "x-weights" = "none"))]
    pub max_memory_mb: u64,
    /// The device of updates and validations: `cpu`; `gpu`, the best GPU of the machine, or one for each of
    /// several processes; or `gpu:N`, the one of this number in the list of `attentive devices`. GPUs need a
    /// program that was built with the feature `gpu`. A run may be resumed on another device, but continues
    /// bit for bit only on the same one.
    #[schemars(with = "String", extend("pattern" = TrainDevice::PATTERN, "examples" = ["gpu"]))]
    #[schemars(extend("x-resume" = "free"))]
    pub device: TrainDevice,
    /// The probability that label smoothing spreads over the whole vocabulary. It keeps a model from being
    /// too sure of one word.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub label_smoothing: f64,
    /// R-Drop (Wu et al. 2021): the factor of how much two passes over the same batch, with different
    /// dropout, differ in their predictions; 0 for one pass. The loss is the mean of both passes' losses plus
    /// this factor times ½ (KL(p‖q) + KL(q‖p)); 2.5 is the α = 5 of the paper's translation models. An update
    /// takes about twice as long, and the model has to have dropout. Only the CPU computes it.
    #[schemars(range(min = 0), extend("examples" = [2.5], "x-also" = "r_drop rdrop reg_alpha"))]
    pub consistency: f64,
    /// The precision of matrix products in training: `auto` is `bf16` on CPUs that are faster with it, and
    /// `f32` on others. Validation and everything else use `f32`, and so do GPUs. A run continues bit for bit
    /// only on CPUs with the same instructions; a note says so when it is resumed with others.
    #[schemars(extend("x-also" = "matmul_precision dtype amp fp16 bf16"))]
    pub precision: TrainPrecision,
    /// The largest norm of the gradient over all parameters. Larger gradients are scaled down to it; 0 for no
    /// clipping.
    #[schemars(range(min = 0), extend("x-also" = "max_grad_norm grad_clip gradient_clip clip"))]
    pub clip_norm: f64,
    /// The number of updates between validations; 0 for no validation.
    #[schemars(extend(
        "x-also" = "eval_every eval_steps validation_every valid_freq validate_interval_updates",
        "x-resume" = "free"
    ))]
    pub validate_every: u64,
    /// The number of validation sentences to translate for BLEU, always by greedy search; 0 for none. The
    /// validation loss is always that of the whole corpus.
    #[schemars(extend("x-resume" = "free"))]
    pub validate_sentences: usize,
    /// The number of sample translations to show after a validation.
    #[schemars(extend("x-resume" = "free", "x-weights" = "none"))]
    pub samples: usize,
    /// A program that scores the translations of the validation sentences, with its arguments. Three files
    /// are added to them: the source sentences, the translations and the references, a line each. The program
    /// writes one number, as the last line of its output; a higher one is better. It needs
    /// `train.validate_sentences`.
    #[schemars(extend("examples" = [["python3", "score.py"]]))]
    #[schemars(extend(
        "x-also" = "valid_script valid_script_path validation_script_path",
        "x-resume" = "free",
        "x-task" = "translate"
    ))]
    pub validation_script: Vec<String>,
    /// Which validation result makes a checkpoint the best one. Of two equal results, such as a BLEU of 0 in
    /// the first updates, the one with the lower loss is better.
    #[schemars(extend(
        "x-also" = "valid_metrics best_checkpoint_metric metric_for_best_model",
        "x-resume" = "free"
    ))]
    pub best_by: BestBy,
    /// Further validation results, for each of which the best checkpoint is kept, too: that of `chrf` is
    /// the checkpoint `best-chrf`.
    #[schemars(extend("examples" = [["chrf", "loss"]], "x-resume" = "free"))]
    pub keep_best_by: Vec<BestBy>,
    /// The number of validations in a row without a better result, by `train.best_by`, after which training
    /// stops early; 0 for never. A lower loss counts as better if the result is the same.
    #[schemars(extend("examples" = [5]))]
    #[schemars(extend("x-also" = "early_stopping early_stopping_patience", "x-resume" = "free"))]
    pub patience: u64,
    /// Which results must have stopped improving for training to stop early, if there are several.
    #[schemars(extend("x-also" = "early_stopping_on", "x-resume" = "free"))]
    #[schemars(extend("x-needs" = "patience several_criteria"))]
    pub stop_on: StopOn,
    /// The number of updates between checkpoints; 0 for one checkpoint per epoch.
    #[schemars(extend("x-also" = "save_freq save_interval_updates save_steps", "x-resume" = "free"))]
    pub save_every: u64,
    /// The number of latest checkpoints to keep. It must be at least `train.average_last`.
    #[schemars(range(min = 1), extend("x-resume" = "free", "x-weights" = "none"))]
    pub keep_last: usize,
    /// The number of latest checkpoints to average for the final model; 0 for the best checkpoint, or the
    /// last one if nothing is validated.
    #[schemars(extend("x-resume" = "free"))]
    pub average_last: usize,
    /// The share of the new weights in a moving average of the weights, which takes their place in
    /// validations, checkpoints and the model; 0 for no average. In the first updates, it is larger: at least
    /// 9/(9 + i) in update i, so that the initial weights are soon forgotten. 0.0001 is usual in runs of
    /// 50,000 updates and more, 0.001 in runs of 5,000. It is 1 less the decay of other tools, such as
    /// 0.9999.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 0.5, "examples" = [0.0001]))]
    #[schemars(extend("x-also" = "exponential_smoothing ema_decay moving_average_decay average_decay"))]
    pub ema: f64,
    /// Guided alignment (Chen et al. 2016): the factor of a loss by which the head of
    /// `model.alignment_layer` and `model.alignment_head` learns to attend to the words that
    /// `data.alignments` links, −log of its attention to them per target token; 0 for none, 0.1 is usual.
    /// Only the CPU computes it.
    #[schemars(range(min = 0), extend("examples" = [0.1], "x-task" = "translate"))]
    #[schemars(extend("x-also" = "guided_alignment_weight lambda_align", "x-needs" = "transformer_decoder"))]
    pub guided_alignment: f64,
    /// BPE-dropout (Provilkov et al. 2020): the probability with which each merge of a BPE vocabulary is left
    /// out, so that each epoch has the words of the training text in other pieces; 0 for the same pieces in
    /// all. 0.1 is usual. Validation and everything else have the usual pieces.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1, "examples" = [0.1]))]
    #[schemars(extend("x-also" = "merge_dropout", "x-needs" = "lines untagged bpe"))]
    pub bpe_dropout: f64,
    /// Subword regularization (Kudo 2018): in each epoch, the words of the training text are in other pieces
    /// of a unigram vocabulary, each segmentation with its probability to the power of this number; 0 for the
    /// same pieces in all. With smaller numbers, more of the words are in rare pieces; 0.5 is usual.
    /// Validation and everything else have the usual pieces.
    #[schemars(range(min = 0, max = 10), extend("examples" = [0.5]))]
    #[schemars(extend("x-also" = "sentencepiece_alphas spm_alpha", "x-needs" = "lines untagged unigram"))]
    pub unigram_alpha: f64,
    /// Changes of sentence pairs, anew in each epoch.
    pub augmentation: AugmentationConfig,
    /// The number of updates between lines of `metrics.jsonl`. Each line has the averages over these updates.
    #[schemars(range(min = 1))]
    #[schemars(extend(
        "x-also" = "logging_steps log_interval logging_freq disp_freq report_every",
        "x-resume" = "free",
        "x-weights" = "none"
    ))]
    pub log_every: u64,
    /// Whether to write the log for TensorBoard, too.
    #[schemars(extend("x-resume" = "free", "x-weights" = "none"))]
    pub tensorboard: bool,
    /// The optimizer.
    pub optimizer: OptimizerConfig,
    /// The learning rate schedule.
    pub schedule: ScheduleConfig,
    /// Scheduled sampling (Bengio et al. 2015): with probability ε the decoder reads the reference token in
    /// training, otherwise the model's own prediction. ε falls from update to update.
    pub scheduled_sampling: SamplingConfig,
}

/// Precision of the matrix products of linear maps in training. Validation and everything else use `f32`.
///
/// A run only resumes to the bit on CPUs with the same instructions: those for bfloat16 sum in different
/// orders, and [`TrainPrecision::Auto`] may even choose another precision. Resuming with other instructions
/// is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrainPrecision {
    /// 32-bit floating point.
    F32,
    /// Operands are rounded to bfloat16 and sums computed in `f32`. This is much faster on CPUs with AMX, and
    /// on those of AMD with AVX-512-BF16.
    Bf16,
    /// `bf16` where the CPU is faster with it, otherwise `f32`, as on GPUs.
    Auto,
}

impl TrainConfig {
    /// Returns the criteria of the best checkpoints: `best_by`, then `keep_best_by`.
    pub fn criteria(&self) -> impl Iterator<Item = BestBy> {
        std::iter::once(self.best_by).chain(self.keep_best_by.iter().copied())
    }

    /// Returns the number type of matrix products: that of `precision` on this CPU, and `f32` on GPUs.
    pub fn products(&self) -> Float {
        match (self.device, self.precision) {
            (TrainDevice::Gpu(_), _) | (TrainDevice::Cpu, TrainPrecision::F32) => Float::F32,
            (TrainDevice::Cpu, TrainPrecision::Bf16) => Float::Bf16,
            (TrainDevice::Cpu, TrainPrecision::Auto) => Float::fastest(),
        }
    }
}

/// Criterion of the best checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BestBy {
    /// The lowest validation loss, with label smoothing.
    Loss,
    /// The lowest validation perplexity, without label smoothing.
    Perplexity,
    /// The highest share of target tokens predicted correctly.
    Accuracy,
    /// The highest validation BLEU. It needs `train.validate_sentences`.
    Bleu,
    /// The highest validation chrF. It needs `train.validate_sentences`.
    Chrf,
    /// The highest number of `train.validation_script`.
    Script,
}

impl BestBy {
    /// Returns true if validation has to translate for it.
    pub fn needs_translations(self) -> bool {
        matches!(self, Self::Bleu | Self::Chrf | Self::Script)
    }

    /// Every criterion.
    pub const ALL: [Self; 6] =
        [Self::Loss, Self::Perplexity, Self::Accuracy, Self::Bleu, Self::Chrf, Self::Script];

    /// Returns the name, as it is written in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Perplexity => "perplexity",
            Self::Accuracy => "accuracy",
            Self::Bleu => "bleu",
            Self::Chrf => "chrf",
            Self::Script => "script",
        }
    }

    /// Whether a lower value is better.
    pub fn prefers_lower(self) -> bool {
        matches!(self, Self::Loss | Self::Perplexity)
    }

    /// Whether it is measured on translations of validation sentences.
    pub fn is_of_translations(self) -> bool {
        matches!(self, Self::Bleu | Self::Chrf | Self::Script)
    }
}

/// Whose `train.patience` ends training, of several criteria of the best checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopOn {
    /// That of `train.best_by`.
    First,
    /// That of `train.best_by` or of any in `train.keep_best_by`.
    Any,
    /// That of `train.best_by` and of all in `train.keep_best_by`.
    All,
}

impl TrainConfig {
    /// Whether training reads the word alignments of its corpus.
    pub fn reads_alignments(&self) -> bool {
        self.guided_alignment > 0.0 || self.augmentation.inline_tags > 0.0
    }
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            max_steps: 10_000,
            max_epochs: 0,
            batch_tokens: 4096,
            micro_batches_per_update: 1,
            exchange_precision: Float::F32,
            max_memory_mb: 0,
            device: TrainDevice::Cpu,
            label_smoothing: 0.1,
            consistency: 0.0,
            precision: TrainPrecision::Auto,
            clip_norm: 0.0,
            validate_every: 500,
            validate_sentences: 200,
            samples: 3,
            validation_script: Vec::new(),
            best_by: BestBy::Loss,
            keep_best_by: Vec::new(),
            patience: 0,
            stop_on: StopOn::First,
            save_every: 500,
            keep_last: 3,
            average_last: 0,
            ema: 0.0,
            guided_alignment: 0.0,
            bpe_dropout: 0.0,
            unigram_alpha: 0.0,
            augmentation: AugmentationConfig::default(),
            log_every: 10,
            tensorboard: false,
            optimizer: OptimizerConfig::default(),
            schedule: ScheduleConfig::default(),
            scheduled_sampling: SamplingConfig::default(),
        }
    }
}

/// `[train.scheduled_sampling]` (Bengio et al. 2015): with probability ε the decoder reads the reference
/// token, otherwise the model's own prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SamplingConfig {
    /// The curve by which ε falls over the updates. In the formulas, i is the number of the update and k is
    /// `decay_steps`.
    pub kind: SamplingKind,
    /// The lower limit of ε.
    #[schemars(range(min = 0, max = 1))]
    pub least: f64,
    /// The time scale of the decay, in updates: k in the formulas.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub decay_steps: f64,
}

/// Decay of ε over updates i.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SamplingKind {
    /// ε = 1: the decoder always reads the reference (teacher forcing).
    None,
    /// ε = `least`.
    Constant,
    /// ε = 1 − i/k.
    Linear,
    /// ε = exp(−i/k).
    Exponential,
    /// ε = k / (k + exp(i/k)).
    InverseSigmoid,
}

impl Default for SamplingConfig {
    fn default() -> Self {
        Self { kind: SamplingKind::None, least: 0.5, decay_steps: 1000.0 }
    }
}

/// `[train.augmentation]`: changes of sentence pairs, anew in each epoch, that make a translator robust to
/// text that its training corpus has little of. Each is the share of the pairs that it changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AugmentationConfig {
    /// Pairs in capital letters.
    #[schemars(range(min = 0, max = 1), extend("examples" = [0.07], "x-task" = "translate"))]
    pub upper_case: f64,
    /// Pairs whose words begin with a capital letter, as in titles.
    #[schemars(range(min = 0, max = 1), extend("examples" = [0.05], "x-task" = "translate"))]
    pub title_case: f64,
    /// Pairs whose source has typing errors, about one in 30 characters: two letters in the wrong order, one
    /// that is missing, doubled or replaced, or a missing blank. The target stays as it is.
    #[schemars(range(min = 0, max = 1), extend("examples" = [0.05], "x-task" = "translate"))]
    pub typos: f64,
    /// Pairs without the punctuation at their ends, if both sides have some.
    #[schemars(range(min = 0, max = 1), extend("examples" = [0.2], "x-task" = "translate"))]
    pub no_final_punctuation: f64,
    /// Pairs in which a word, or a phrase of up to four, and its translation stand between tags such as `<b>`
    /// and `</b>`, so that text with tags keeps them. `data.alignments` says which words belong together.
    #[schemars(range(min = 0, max = 1), extend("examples" = [0.005], "x-task" = "translate"))]
    pub inline_tags: f64,
}

impl AugmentationConfig {
    /// Whether any pair is changed.
    pub fn is_on(&self) -> bool {
        let Self { upper_case, title_case, typos, no_final_punctuation, inline_tags } = self;
        [upper_case, title_case, typos, no_final_punctuation, inline_tags]
            .into_iter()
            .any(|&share| share > 0.0)
    }
}
