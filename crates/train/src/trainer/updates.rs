//! Updates, and the reports on them once their results are known.
//!
//! A GPU computes later than it is asked to. Its results are read when something needs them: the log, a
//! validation, or a checkpoint, which must not hold the weights of a damaged update.

use std::time::{Duration, Instant};

use attentive_base::batch::Batch;
use attentive_base::error::Result;

use super::Trainer;
use crate::report::{Event, StepReport};
use crate::update_totals::UpdateTotals;
use crate::{FinishedUpdates, NoUpdateObserver, Started, Update};

/// Updates whose results are read together at most: their batches are kept, to find the cause of damage.
pub(crate) const MAX_STARTED_UPDATES: usize = 100;

/// An update whose result is not known yet.
pub(super) struct StartedUpdate {
    step: u64,
    epoch: u64,
    learning_rate: f64,
    batches: Vec<Batch>,
    started: Started,
    /// The time that the host spent on it.
    time: Duration,
}

impl Trainer<'_> {
    /// Starts the next update. Returns the epoch to which it belongs.
    pub(super) fn update(&mut self) -> Result<u64> {
        let start = Instant::now();
        let feed = &mut self.setup.material.feed;
        let (step, epoch) = (self.step + 1, feed.position().epoch);
        let learning_rate = self.schedule.learning_rate(step, &self.progress.plateau);
        let learner = &mut self.setup.learner;
        let batches = feed.next_batches(learner.n_batches(), learner.share());
        let batches = self.setup.processes.agree("batches were made", batches)?;
        let started = learner.start(step, learning_rate, &batches, &mut NoUpdateObserver);
        let started = started.map_err(|damage| self.damaged(*damage))?;
        self.step = step;
        self.started.push(StartedUpdate {
            step,
            epoch,
            learning_rate,
            batches,
            started,
            time: start.elapsed(),
        });
        Ok(epoch)
    }

    /// Reports on the latest updates if their results are known, or if there is something to log.
    pub(super) fn record_if_due(&mut self) -> Result<()> {
        let is_due = self.setup.learner.waits() || self.is_logged(self.step);
        if is_due || self.started.len() >= MAX_STARTED_UPDATES { self.record() } else { Ok(()) }
    }

    /// Reports on all updates whose results were not read yet.
    pub(super) fn record(&mut self) -> Result<()> {
        let start = Instant::now();
        let started = std::mem::take(&mut self.started);
        let unread: Vec<(&Started, &[Batch])> =
            started.iter().map(|update| (&update.started, &*update.batches)).collect();
        let FinishedUpdates { updates, damage } = self.setup.learner.finish(&unread);
        let spent: Duration = started.iter().map(|update| update.time).sum();
        let rate = (spent + start.elapsed()).as_secs_f64() / n_tokens(&updates);
        for (started, update) in started.iter().zip(&updates) {
            let time = Duration::from_secs_f64(rate * n_tokens(std::slice::from_ref(update)));
            self.report(started, update, time)?;
        }
        damage.map_or(Ok(()), |damage| Err(self.damaged(*damage)))
    }

    /// Reports on an update, and logs the average over those since the last log entry.
    fn report(&mut self, started: &StartedUpdate, update: &Update, time: Duration) -> Result<()> {
        self.progress.unlogged.add(update, time);
        let of = |totals: &UpdateTotals| {
            let learner = &self.setup.learner;
            StepReport::new(started.step, started.epoch, started.learning_rate, totals, learner)
        };
        let mean = self.is_logged(started.step).then(|| of(&std::mem::take(&mut self.progress.unlogged)));
        if let Some(mean) = &mean {
            let files = self.files.as_mut();
            let written = files.map_or(Ok(()), |files| files.log_step(mean));
            self.setup.processes.agree("an update was logged", written)?;
        }
        self.observer
            .on(&Event::Step { report: &of(&UpdateTotals::of(update, time)), logged: mean.as_ref() });
        Ok(())
    }

    /// Whether the log has an entry after this update: after the first and every `log_every`-th.
    fn is_logged(&self, step: u64) -> bool {
        step == 1 || step.is_multiple_of(self.setup.config.train.log_every.max(1))
    }
}

/// The target tokens of all, at least 1.
fn n_tokens(updates: &[Update]) -> f64 {
    let n: usize = updates.iter().map(|update| update.sums.n_tokens).sum();
    n.max(1) as f64
}
