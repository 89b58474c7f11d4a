//! What training tells whoever watches it. The library prints nothing; the program shows these as a progress bar or lines.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::Update;
use crate::checkpoint::Products;
use crate::data::Progress;
use crate::metrics::{Score, perplexity};

/// Watches a training run.
pub trait Observer {
    /// Called for each [`Event`], in order.
    fn on(&mut self, event: &Event<'_>);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn on(&mut self, _event: &Event<'_>) {}
}

/// What happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A remark for the user, such as what was skipped while reading a corpus.
    Note(&'a str),
    /// Corpora are being prepared. Called every some thousand lines.
    Preparing(Preparing<'a>),
    /// Something that may not be as the user expects, such as a damaged checkpoint that was passed over.
    Warning(&'a str),
    /// Training begins or goes on.
    Start(&'a StartReport),
    /// An update is done. `logged` says whether it went to `metrics.jsonl`.
    Step {
        /// The update.
        report: &'a StepReport,
        /// Whether it is one of every `log_every`.
        logged: bool,
    },
    /// A validation is done.
    Validation(&'a ValidationReport),
    /// A checkpoint was written.
    Saved {
        /// Its directory.
        path: &'a Path,
        /// The update it holds.
        step: u64,
    },
    /// Training has ended, and the mean of these checkpoints is what the model directory serves.
    Averaged {
        /// Their updates.
        steps: &'a [u64],
        /// What the mean achieves, if it was validated.
        validation: Option<&'a ValidationReport>,
    },
}

/// How far the preparation of a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparing<'a> {
    /// A corpus is being read or encoded.
    Corpus {
        /// Which corpus, as messages call it.
        what: &'a str,
        /// How far it is.
        progress: Progress,
    },
    /// Vocabularies are being learned.
    Vocabulary,
}

/// The run as it starts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartReport {
    /// Updates done before, 0 for a new run.
    pub step: u64,
    /// Where this run ends at the latest.
    pub max_steps: u64,
    /// Trainable parameters.
    pub n_parameters: usize,
    /// Sentence pairs, texts or windows to train on.
    pub n_examples: usize,
    /// Source vocabulary.
    pub src_vocab: usize,
    /// Target vocabulary.
    pub tgt_vocab: usize,
    /// Updates in a pass over the corpus, as of the current epoch.
    pub steps_per_epoch: u64,
    /// The predicted peak of memory, in bytes.
    pub memory: u64,
    /// How linear maps multiply.
    pub products: Products,
}

/// One update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepReport {
    /// Its number, from 1.
    pub step: u64,
    /// The pass over the corpus, from 0.
    pub epoch: u64,
    /// Label-smoothed loss per real target token.
    pub loss: f64,
    /// Unsmoothed negative log-likelihood per real target token, in nats.
    pub nll: f64,
    /// exp(nll).
    pub perplexity: f64,
    /// Share of target tokens predicted right under teacher forcing.
    pub accuracy: f64,
    /// The learning rate of this update.
    pub learning_rate: f64,
    /// The global norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// Real target tokens in this update.
    pub tgt_tokens: usize,
    /// Real target tokens a second, over this update alone.
    pub tokens_per_second: f64,
}

impl StepReport {
    /// What is told of an update that took `time`.
    pub(super) fn new(
        step: u64,
        epoch: u64,
        learning_rate: f64,
        update: &Update,
        time: Duration,
    ) -> Self {
        let Update {
            sums,
            gradient_norm,
        } = *update;
        let per_token = |sum: f64| sum / sums.n_tokens.max(1) as f64;
        Self {
            step,
            epoch,
            loss: per_token(sums.loss),
            nll: per_token(sums.nll),
            perplexity: perplexity(sums.nll, sums.n_tokens as u64),
            accuracy: per_token(sums.n_correct as f64),
            learning_rate,
            gradient_norm,
            tgt_tokens: sums.n_tokens,
            tokens_per_second: sums.n_tokens as f64 / time.as_secs_f64(),
        }
    }
}

/// One validation.
#[derive(Clone, Debug, Serialize)]
pub struct ValidationReport {
    /// The update after which it ran.
    pub step: u64,
    /// Label-smoothed loss per real target token.
    pub loss: f64,
    /// Unsmoothed negative log-likelihood per real target token, in nats.
    pub nll: f64,
    /// exp(nll).
    pub perplexity: f64,
    /// Share of target tokens predicted right under teacher forcing.
    pub accuracy: f64,
    /// BLEU of the first `validate_sentences` sentences, decoded greedily.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bleu: Option<Score>,
    /// Share of those sentences translated exactly as the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_match: Option<f64>,
    /// Some of them.
    pub samples: Vec<Sample>,
    /// Whether this is the best so far, by `train.best_by`.
    pub best: bool,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// A translation beside its reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The source sentence.
    pub src: String,
    /// What the model makes of it.
    pub translation: String,
    /// What the corpus has.
    pub reference: String,
}
