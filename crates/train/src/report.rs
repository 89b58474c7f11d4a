//! Events of a training run. The library prints nothing; the program shows these as a progress bar or lines.

use std::path::Path;

use attentive_checkpoint::MatmulBackend;
use attentive_config::BestBy;
use attentive_data::Progress;
use attentive_metrics::{Score, perplexity};
use serde::{Serialize, Serializer};

use super::Learner;
use super::update_totals::UpdateTotals;

/// Observes a training run.
pub trait Observer {
    /// Called for each [`Event`], in order.
    fn on(&mut self, event: &Event<'_>);
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn on(&mut self, _event: &Event<'_>) {}
}

/// An event of a training run.
#[derive(Debug)]
pub enum Event<'a> {
    /// Information for the user, such as how many lines of a corpus were skipped.
    Note(&'a str),
    /// Corpora are being prepared. Sent every few thousand lines.
    Preparing(Preparing<'a>),
    /// A possible problem, such as a damaged checkpoint that was skipped.
    Warning(&'a str),
    /// Training starts or resumes.
    Start(&'a StartReport),
    /// An update is done. On a GPU, several are reported together, when their results are read: for the log,
    /// a validation or a checkpoint.
    Step {
        /// The report on the update.
        report: &'a StepReport,
        /// The average over all updates since the previous log entry, if it was written to `metrics.jsonl`,
        /// as after every `log_every`-th update.
        logged: Option<&'a StepReport>,
    },
    /// A validation is done.
    Validation(&'a ValidationReport),
    /// A checkpoint was written.
    Saved {
        /// The directory of the checkpoint.
        path: &'a Path,
        /// The update after which it was written.
        step: u64,
    },
    /// Training has ended, and the final model is the average of these checkpoints.
    Averaged {
        /// The updates of the checkpoints.
        steps: &'a [u64],
        /// The validation of the average, if there was one.
        validation: Option<&'a ValidationReport>,
    },
}

/// The progress of preparing a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparing<'a> {
    /// A corpus is being read or encoded.
    Corpus {
        /// The name of the corpus in messages.
        what: &'a str,
        /// The progress of reading or encoding it.
        progress: Progress,
    },
    /// Vocabularies are being learned.
    Vocabulary,
}

/// The state of a run at its start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartReport {
    /// The number of updates already done; 0 for a new run.
    pub step: u64,
    /// The maximum number of updates.
    pub max_steps: u64,
    /// The number of trainable parameters.
    pub n_parameters: usize,
    /// The number of sentence pairs, texts or windows to train on.
    pub n_examples: usize,
    /// The size of the source vocabulary; 0 if the model reads vectors.
    pub src_vocab: usize,
    /// The size of the target vocabulary.
    pub tgt_vocab: usize,
    /// The number of labels of a classifier, or tags of a tagger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<usize>,
    /// The number of updates per pass over the corpus, as of the current epoch.
    pub steps_per_epoch: u64,
    /// The predicted peak use of RAM, in bytes.
    pub memory: u64,
    /// The predicted peak use of the GPU's own memory, in bytes; 0 without one.
    pub gpu_memory: u64,
    /// The predicted peak size of the checkpoints and of the model in the run directory, in bytes; 0 if none
    /// is written.
    pub disk: u64,
    /// The precision of matrix products, and the instruction set or the GPU that computes them.
    pub products: MatmulBackend,
    /// The number of processes that share the work.
    pub processes: usize,
}

/// A report on one or more updates. Losses and the accuracy are averages over all of their tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepReport {
    /// The number of the last update, counted from 1.
    pub step: u64,
    /// The pass over the corpus, counted from 0.
    pub epoch: u64,
    pub updates: u64,
    /// Label-smoothed loss per real target token.
    pub loss: f64,
    /// Unsmoothed negative log-likelihood per real target token, in nats.
    pub nll: f64,
    /// exp(nll).
    pub perplexity: f64,
    /// The share of target tokens predicted correctly under teacher forcing.
    pub accuracy: f64,
    /// The learning rate of the last update.
    pub learning_rate: f64,
    /// The global norm of the gradient before clipping, averaged over the updates.
    pub gradient_norm: f64,
    /// The same for the parameters of each layer, and of what is beside the layers.
    #[serde(serialize_with = "as_object")]
    pub gradient_norms: Vec<(String, f64)>,
    /// The probability ε with which the decoder read the reference in the last update; `None` without
    /// scheduled sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_probability: Option<f64>,
    /// The number of real target tokens in these updates.
    pub tgt_tokens: u64,
    /// The number of real target tokens per second, without validations and checkpoints.
    pub tokens_per_second: f64,
}

impl StepReport {
    /// Creates the report on the updates of `totals` by `learner`, the last of which was update `step`.
    pub(super) fn new(
        step: u64,
        epoch: u64,
        learning_rate: f64,
        totals: &UpdateTotals,
        learner: &Learner,
    ) -> Self {
        let per_token = |sum: f64| sum / totals.n_tokens.max(1) as f64;
        let per_update = |sum: f64| sum / totals.updates.max(1) as f64;
        let per_measured = |sum: f64| sum / totals.group_updates.max(1) as f64;
        let groups = learner.groups().names().iter().zip(&totals.group_norms);
        Self {
            step,
            epoch,
            updates: totals.updates,
            loss: per_token(totals.loss),
            nll: per_token(totals.nll),
            perplexity: perplexity(totals.nll, totals.n_tokens),
            accuracy: per_token(totals.n_correct as f64),
            learning_rate,
            gradient_norm: per_update(totals.gradient_norms),
            gradient_norms: groups.map(|(name, &sum)| (name.clone(), per_measured(sum))).collect(),
            reference_probability: learner.reference_probability(step),
            tgt_tokens: totals.n_tokens,
            tokens_per_second: totals.timed_tokens as f64 / totals.time.as_secs_f64(),
        }
    }

    /// Returns the time that the updates took, in seconds.
    pub fn seconds(&self) -> f64 {
        self.tgt_tokens as f64 / self.tokens_per_second
    }
}

fn as_object<S: Serializer>(pairs: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

#[derive(Clone, Debug, Serialize)]
pub struct ValidationReport {
    /// The update after which the validation ran.
    pub step: u64,
    /// Label-smoothed loss per real target token.
    pub loss: f64,
    /// Unsmoothed negative log-likelihood per real target token, in nats.
    pub nll: f64,
    /// exp(nll).
    pub perplexity: f64,
    /// The share of target tokens predicted correctly under teacher forcing.
    pub accuracy: f64,
    /// BLEU of the first `validate_sentences` sentences, decoded with greedy search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bleu: Option<Score>,
    /// chrF of these sentences, if it is a criterion of the best checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chrf: Option<Score>,
    /// The number of `train.validation_script` for these sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<f64>,
    /// The share of these sentences translated exactly like the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_match: Option<f64>,
    /// Some of the translations.
    pub samples: Vec<SampleTranslation>,
    /// True if this is the best validation so far, by `train.best_by`.
    pub best: bool,
    /// The criteria in `train.keep_best_by` by which it is the best so far.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub best_by: Vec<BestBy>,
    /// The duration of the validation, in seconds.
    pub seconds: f64,
}

/// A translation and its reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleTranslation {
    /// The source sentence.
    pub src: String,
    /// The model's translation.
    pub translation: String,
    /// The reference translation.
    pub reference: String,
}
