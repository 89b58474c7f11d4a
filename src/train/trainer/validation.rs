//! Validation of a run in progress, and what follows from it.

use super::Trainer;
use crate::checkpoint::RecordedScore;
use crate::config::BestBy;
use crate::error::Result;
use crate::train::prepare::Prepared;
use crate::train::report::{Event, ValidationReport};
use crate::train::update::not_finite;
use crate::train::{BestReport, StopReason};

impl Trainer<'_> {
    /// Validates after every `validate_every` updates and after the last one. Returns true if the result is the best so far.
    pub(super) fn validate_if_due(&mut self) -> Result<bool> {
        let every = self.setup.config.train.validate_every;
        let is_last = matches!(
            self.finished(),
            Some(StopReason::MaxSteps | StopReason::MaxEpochs)
        );
        let is_regular = every > 0 && self.step.is_multiple_of(every);
        match is_regular || every > 0 && is_last {
            true => self.validate(is_regular),
            false => Ok(false),
        }
    }

    /// Validates. Returns true if the result is the best so far. A regular validation happens in every run with this
    /// configuration.
    pub(super) fn validate(&mut self, is_regular: bool) -> Result<bool> {
        let Some(validation) = &self.setup.material.validation else {
            return Ok(false);
        };
        let Prepared {
            learner,
            config,
            material,
            processes,
            ..
        } = &self.setup;
        let mut report = validation.measure(
            learner.model().clone(),
            config,
            &material.tokenizers,
            self.step,
            processes,
        )?;
        if !report.loss.is_finite() {
            processes.fail_together();
            let layer = "validation".into();
            let damage = not_finite(self.step, report.loss, layer, Vec::new());
            return Err(self.damaged(*damage));
        }
        report.best = self.is_better(&report);
        if is_regular {
            // Not after the last update, so that a run extended later continues as if it had not stopped there.
            let plateau = &mut self.progress.plateau;
            plateau.observe(&config.train.schedule, report.loss);
        }
        if report.best {
            let bleu = report.bleu.as_ref().map(|score| score.value);
            self.progress.best = Some(BestReport {
                step: report.step,
                loss: report.loss,
                bleu,
            });
            self.progress.validations_without_better = 0;
        } else if is_regular {
            self.progress.validations_without_better += 1;
        }
        self.scores = Some((self.step, recorded(&report)));
        let written = match &mut self.files {
            Some(files) => files.log_validation(&report),
            None => Ok(()),
        };
        processes.agree("a validation was logged", written)?;
        self.observer.on(&Event::Validation(&report));
        Ok(report.best)
    }

    fn is_better(&self, report: &ValidationReport) -> bool {
        let Some(best) = self.progress.best else {
            return true;
        };
        match (self.setup.config.train.best_by, &report.bleu, best.bleu) {
            (BestBy::Bleu, Some(score), Some(best)) => score.value > best,
            _ => report.loss < best.loss,
        }
    }
}

/// The scores of a validation, as they are recorded.
pub(super) fn recorded(report: &ValidationReport) -> Vec<RecordedScore> {
    let plain = |name: &str, value| RecordedScore {
        name: format!("validation {name}"),
        value,
        signature: None,
    };
    let mut scores = vec![
        plain("loss", report.loss),
        plain("perplexity", report.perplexity),
    ];
    scores.extend(report.bleu.iter().map(|score| RecordedScore {
        name: format!("validation {}", score.name),
        value: score.value,
        signature: Some(score.signature.clone()),
    }));
    scores
}
