//! Validation of a run in progress, and what follows from it.

use attentive_base::error::Result;
use attentive_checkpoint::RecordedScore;
use attentive_config::BestBy;

use super::Trainer;
use crate::prepare::PreparedRun;
use crate::report::{Event, ValidationReport};
use crate::update::not_finite;
use crate::{BestReport, StopReason};

impl Trainer<'_> {
    /// Validates after every `validate_every` updates and after the last one. Returns true if the result is
    /// the best so far.
    pub(super) fn validate_if_due(&mut self) -> Result<bool> {
        let every = self.setup.config.train.validate_every;
        let is_last = matches!(self.finished(), Some(StopReason::MaxSteps | StopReason::MaxEpochs));
        let is_regular = every > 0 && self.step.is_multiple_of(every);
        if is_regular || every > 0 && is_last { self.validate(is_regular) } else { Ok(false) }
    }

    /// Validates. Returns true if the result is the best so far. A regular validation happens in every run
    /// with this configuration.
    pub(super) fn validate(&mut self, is_regular: bool) -> Result<bool> {
        if self.setup.material.validation.is_none() {
            return Ok(false);
        }
        self.record()?;
        let Some(validation) = &self.setup.material.validation else {
            return Ok(false);
        };
        let PreparedRun { learner, config, material, processes, .. } = &self.setup;
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
        let best_by = config.train.best_by;
        let best = self.progress.best;
        report.best = best.is_none_or(|best| is_better(best_by, &report, &best));
        if is_regular {
            // Not after the last update, so that a run extended later continues as if it had not stopped
            // there.
            let plateau = &mut self.progress.plateau;
            plateau.observe(&config.train.schedule, report.loss);
        }
        if report.best {
            let bleu = report.bleu.as_ref().map(|score| score.value);
            self.progress.best = Some(BestReport { step: report.step, loss: report.loss, bleu });
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
}

/// Whether `report` is better than the `best` so far. The loss decides between equal BLEU scores: in the
/// first updates BLEU is 0 again and again while the model learns.
fn is_better(best_by: BestBy, report: &ValidationReport, best: &BestReport) -> bool {
    match (best_by, &report.bleu, best.bleu) {
        (BestBy::Bleu, Some(score), Some(bleu)) if score.value != bleu => score.value > bleu,
        _ => report.loss < best.loss,
    }
}

/// The scores of a validation, as they are recorded.
pub(super) fn recorded(report: &ValidationReport) -> Vec<RecordedScore> {
    let plain =
        |name: &str, value| RecordedScore { name: format!("validation {name}"), value, signature: None };
    let mut scores = vec![plain("loss", report.loss), plain("perplexity", report.perplexity)];
    scores.extend(report.bleu.iter().map(|score| RecordedScore {
        name: format!("validation {}", score.name),
        value: score.value,
        signature: Some(score.signature.clone()),
    }));
    scores
}

#[cfg(test)]
mod tests {
    use attentive_metrics::Score;

    use super::*;

    #[test]
    fn the_loss_decides_between_equal_bleu_scores() {
        let better = |best_by, new: (f64, f64), old: (f64, f64)| {
            let report = ValidationReport {
                step: 2,
                loss: new.1,
                nll: new.1,
                perplexity: new.1.exp(),
                accuracy: 0.0,
                bleu: Some(Score {
                    name: "BLEU".into(),
                    value: new.0,
                    signature: String::new(),
                    detail: String::new(),
                    interval: None,
                }),
                exact_match: None,
                samples: Vec::new(),
                best: false,
                seconds: 0.0,
            };
            let best = BestReport { step: 1, loss: old.1, bleu: Some(old.0) };
            is_better(best_by, &report, &best)
        };
        let cases = [
            (BestBy::Bleu, (0.0, 4.0), (0.0, 5.0), true),
            (BestBy::Bleu, (0.0, 5.0), (0.0, 5.0), false),
            (BestBy::Bleu, (0.0, 6.0), (0.0, 5.0), false),
            (BestBy::Bleu, (9.0, 4.0), (9.5, 5.0), false),
            (BestBy::Bleu, (9.5, 6.0), (9.0, 5.0), true),
            (BestBy::Loss, (9.5, 6.0), (9.0, 5.0), false),
        ];
        for (best_by, new, old, expected) in cases {
            assert_eq!(better(best_by, new, old), expected, "{new:?} {old:?}");
        }
    }
}
