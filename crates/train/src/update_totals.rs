//! Sums over successive updates, for the log.

use std::time::Duration;

use attentive_tape::LossSums;
use serde::{Deserialize, Serialize};

use super::Update;

/// Sums over successive updates. The sums since the last log entry are part of a checkpoint, so that a
/// resumed run logs the same numbers; times are not, since they depend on the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct UpdateTotals {
    pub updates: u64,
    /// The sum of the label-smoothed losses of the target tokens.
    pub loss: f64,
    /// The sum of the negative log-likelihoods of the target tokens.
    pub nll: f64,
    /// The number of target tokens that were predicted correctly.
    pub n_correct: u64,
    /// The number of target tokens.
    pub n_tokens: u64,
    /// The sum of the norms of the gradients.
    pub gradient_norms: f64,
    /// The sum of the norms of the gradients of each group, over `group_updates`.
    #[serde(default)]
    pub group_norms: Vec<f64>,
    /// The updates whose groups were measured; those before a checkpoint of an earlier program were not.
    #[serde(default)]
    pub group_updates: u64,
    /// The number of target tokens of the updates that were timed.
    #[serde(skip)]
    pub timed_tokens: u64,
    /// The time of these updates.
    #[serde(skip)]
    pub time: Duration,
}

impl UpdateTotals {
    /// Adds an update that took `time`.
    pub(super) fn add(&mut self, update: &Update, time: Duration) {
        let LossSums { loss, nll, n_tokens, n_correct } = update.sums;
        self.updates += 1;
        self.loss += loss;
        self.nll += nll;
        self.n_correct += n_correct as u64;
        self.n_tokens += n_tokens as u64;
        self.gradient_norms += update.gradient_norm;
        self.group_updates += 1;
        self.group_norms.resize(update.group_norms.len(), 0.0);
        self.group_norms.iter_mut().zip(&update.group_norms).for_each(|(sum, norm)| *sum += norm);
        self.timed_tokens += n_tokens as u64;
        self.time += time;
    }

    /// The totals of one update.
    pub(super) fn of(update: &Update, time: Duration) -> Self {
        let mut totals = Self::default();
        totals.add(update, time);
        totals
    }
}
