//! Validation of a run in progress, and what follows from it.

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{Choice, RecordedScore};

use super::{Reason, Trainer};
use crate::StopReason;
use crate::prepare::PreparedRun;
use crate::report::{Event, ValidationReport};
use crate::update::not_finite;

impl Trainer<'_> {
    /// Validates after every `validate_every` updates and after the last one. Returns the roles
    /// that the checkpoint gets if the result is the best so far.
    pub(super) fn validate_if_due(&mut self) -> Result<Vec<Choice>> {
        let every = self.setup.config.train.validate_every;
        let is_last = matches!(self.finished(), Some(StopReason::MaxSteps | StopReason::MaxEpochs));
        let is_regular = every > 0 && self.step.is_multiple_of(every);
        if is_regular || every > 0 && is_last { self.validate(is_regular) } else { Ok(Vec::new()) }
    }

    /// Saves the run after a validation that failed with `error`, so that the next start validates first.
    /// Returns the error with which training ends.
    pub(super) fn put_off_validation(&mut self, error: Error) -> Error {
        if matches!(error, Error::NotFinite(_)) || !self.setup.processes.is_alone() {
            return error;
        }
        self.progress.validation_due = true;
        let saved = self.save(Reason::Stop, &[]);
        let ended = saved.and_then(|()| match self.interrupted_by() {
            Some(signal) => self.interrupted(signal),
            None => Ok(error),
        });
        ended.unwrap_or_else(|error| error)
    }

    /// Validates, as [`Trainer::validate_if_due`] does. A regular validation happens in every run with this
    /// configuration.
    pub(super) fn validate(&mut self, is_regular: bool) -> Result<Vec<Choice>> {
        if self.setup.material.validation.is_none() {
            return Ok(Vec::new());
        }
        self.record()?;
        self.setup.learner.swap_averages();
        let report = self.measure();
        self.setup.learner.swap_averages();
        let Some(mut report) = report.transpose()? else {
            return Ok(Vec::new());
        };
        let PreparedRun { config, processes, .. } = &self.setup;
        if !report.loss.is_finite() {
            processes.fail_together();
            let layer = "validation".into();
            let damage = not_finite(self.step, report.loss, layer, Vec::new());
            return Err(self.damaged(*damage));
        }
        if is_regular {
            // Not after the last update, so that a run extended later continues as if it had not stopped
            // there.
            let plateau = &mut self.progress.plateau;
            plateau.observe(&config.train.schedule, report.loss);
        }
        self.progress.validation_due = false;
        self.progress.standings.observe(&mut report, &config.train, is_regular);
        self.scores = Some((self.step, recorded(&report)));
        let written = match &mut self.files {
            Some(files) => files.log_validation(&report),
            None => Ok(()),
        };
        processes.agree("a validation was logged", written)?;
        self.observer.on(&Event::Validation(&report));
        Ok(choices(&report))
    }

    /// Measures the model on the validation data, if there are any.
    fn measure(&self) -> Option<Result<ValidationReport>> {
        let validation = self.setup.material.validation.as_ref()?;
        let model = self.setup.learner.model().clone();
        Some(validation.measure(model, &self.setup, self.step, self.interrupt))
    }
}

/// The roles that the checkpoint of this validation gets.
fn choices(report: &ValidationReport) -> Vec<Choice> {
    let best = report.best.then_some(Choice::Best);
    best.into_iter().chain(report.best_by.iter().copied().map(Choice::BestBy)).collect()
}

/// The scores of a validation, as they are recorded.
pub(super) fn recorded(report: &ValidationReport) -> Vec<RecordedScore> {
    let plain =
        |name: &str, value| RecordedScore { name: format!("validation {name}"), value, signature: None };
    let mut scores = vec![plain("loss", report.loss), plain("perplexity", report.perplexity)];
    scores.extend(report.bleu.iter().chain(&report.chrf).map(|score| RecordedScore {
        name: format!("validation {}", score.name),
        value: score.value,
        signature: Some(score.signature.clone()),
    }));
    scores.extend(report.script.map(|value| plain("script", value)));
    scores
}
