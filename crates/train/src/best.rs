//! The best validations of a run so far, by each criterion.

use std::collections::BTreeMap;

use attentive_config::{BestBy, StopOn, TrainConfig};
use serde::{Deserialize, Serialize};

use crate::report::ValidationReport;

/// The best validation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestReport {
    /// The update after which the validation ran.
    pub step: u64,
    /// The label-smoothed loss per token.
    pub loss: f64,
    /// The perplexity, without label smoothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perplexity: Option<f64>,
    /// The share of target tokens predicted correctly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// BLEU, if sentences were translated.
    pub bleu: Option<f64>,
    /// chrF, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chrf: Option<f64>,
    /// The number of `train.validation_script`, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<f64>,
}

impl BestReport {
    fn of(report: &ValidationReport) -> Self {
        Self {
            step: report.step,
            loss: report.loss,
            perplexity: Some(report.perplexity),
            accuracy: Some(report.accuracy),
            bleu: report.bleu.as_ref().map(|score| score.value),
            chrf: report.chrf.as_ref().map(|score| score.value),
            script: report.script,
        }
    }

    fn result(&self, criterion: BestBy) -> Option<f64> {
        match criterion {
            BestBy::Loss => Some(self.loss),
            BestBy::Perplexity => self.perplexity,
            BestBy::Accuracy => self.accuracy,
            BestBy::Bleu => self.bleu,
            BestBy::Chrf => self.chrf,
            BestBy::Script => self.script,
        }
    }

    /// Whether it is better than `other`. The loss decides between equal results: in the first updates BLEU
    /// is 0 again and again while the model learns.
    fn is_better_than(&self, other: &Self, criterion: BestBy) -> bool {
        match (self.result(criterion), other.result(criterion)) {
            (Some(new), Some(old)) if new != old => (new < old) == criterion.prefers_lower(),
            _ => self.loss < other.loss,
        }
    }
}

/// The validations so far, by one criterion.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Standing {
    pub(super) best: Option<BestReport>,
    validations_without_better: u64,
}

impl Standing {
    /// Takes in a validation. Returns true if it is the best so far. Patience counts regular ones.
    fn observe(&mut self, report: &BestReport, criterion: BestBy, is_regular: bool) -> bool {
        let is_better = self.best.is_none_or(|best| report.is_better_than(&best, criterion));
        if is_better {
            *self = Self { best: Some(*report), validations_without_better: 0 };
        } else if is_regular {
            self.validations_without_better += 1;
        }
        is_better
    }
}

/// The validations so far, by all criteria of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Standings {
    /// By `train.best_by`.
    #[serde(flatten)]
    pub(super) first: Standing,
    /// What that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_by: Option<BestBy>,
    /// By those of `train.keep_best_by`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) others: BTreeMap<BestBy, Standing>,
}

impl Standings {
    /// Gives each criterion of a resumed run its standing, whatever it was called before, and forgets the
    /// others. A criterion without one begins with the best by the former `train.best_by`.
    pub(super) fn arrange(&mut self, train: &TrainConfig) {
        let former = self.first_by.unwrap_or(train.best_by);
        if former != train.best_by {
            self.others.insert(former, self.first);
            self.first = self.others.get(&train.best_by).copied().unwrap_or(self.first);
        }
        self.others.retain(|by, _| train.keep_best_by.contains(by));
    }

    /// Takes in a validation. Notes in `report` for which criteria it is the best so far.
    pub(super) fn observe(&mut self, report: &mut ValidationReport, train: &TrainConfig, is_regular: bool) {
        let result = BestReport::of(report);
        self.first_by = Some(train.best_by);
        report.best = self.first.observe(&result, train.best_by, is_regular);
        let others = train.keep_best_by.iter().copied();
        let is_best = |by: &BestBy| self.others.entry(*by).or_default().observe(&result, *by, is_regular);
        report.best_by = others.filter(is_best).collect();
    }

    /// Whether `train.patience` is at its end.
    pub(super) fn are_exhausted(&self, train: &TrainConfig) -> bool {
        if train.patience == 0 {
            return false;
        }
        let is_exhausted = |standing: &Standing| standing.validations_without_better >= train.patience;
        let mut others = train.keep_best_by.iter().map(|by| self.others.get(by).is_some_and(is_exhausted));
        let first = is_exhausted(&self.first);
        match train.stop_on {
            StopOn::First => first,
            StopOn::Any => first || others.any(|other| other),
            StopOn::All => first && others.all(|other| other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(step: u64, loss: f64, bleu: f64, chrf: f64) -> BestReport {
        BestReport {
            step,
            loss,
            perplexity: Some(loss.exp()),
            accuracy: Some(1.0 / loss),
            bleu: Some(bleu),
            chrf: Some(chrf),
            script: None,
        }
    }

    #[test]
    fn the_loss_decides_between_equal_results() {
        let cases = [
            (BestBy::Bleu, (0.0, 4.0), (0.0, 5.0), true),
            (BestBy::Bleu, (0.0, 5.0), (0.0, 5.0), false),
            (BestBy::Bleu, (0.0, 6.0), (0.0, 5.0), false),
            (BestBy::Bleu, (9.0, 4.0), (9.5, 5.0), false),
            (BestBy::Bleu, (9.5, 6.0), (9.0, 5.0), true),
            (BestBy::Loss, (9.5, 6.0), (9.0, 5.0), false),
            (BestBy::Perplexity, (9.5, 6.0), (9.0, 5.0), false),
            (BestBy::Accuracy, (9.0, 4.0), (9.5, 5.0), true),
            // Not measured.
            (BestBy::Script, (9.0, 4.0), (9.5, 5.0), true),
        ];
        for (criterion, new, old, expected) in cases {
            let (new, old) = (report(2, new.1, new.0, 0.0), report(1, old.1, old.0, 0.0));
            assert_eq!(new.is_better_than(&old, criterion), expected, "{criterion:?} {new:?} {old:?}");
        }
    }

    #[test]
    fn patience_ends_with_the_first_criterion_any_or_all() {
        let mut standings = Standings::default();
        let mut train = TrainConfig {
            best_by: BestBy::Bleu,
            keep_best_by: vec![BestBy::Chrf, BestBy::Loss],
            patience: 2,
            ..TrainConfig::default()
        };
        // BLEU stops improving after the first, the loss after the second, chrF after the third validation.
        let scores =
            [(4.0, 10.0, 20.0), (3.0, 9.0, 30.0), (3.5, 9.0, 40.0), (3.6, 9.0, 39.0), (3.7, 9.0, 38.0)];
        let ended = [(false, false, false), (false, false, false), (true, true, false)];
        let ended = ended.into_iter().chain([(true, true, false), (true, true, true)]);
        for ((loss, bleu, chrf), (first, any, all)) in scores.into_iter().zip(ended) {
            let result = report(1, loss, bleu, chrf);
            standings.first.observe(&result, train.best_by, true);
            for by in train.keep_best_by.clone() {
                standings.others.entry(by).or_default().observe(&result, by, true);
            }
            for (stop_on, expected) in [(StopOn::First, first), (StopOn::Any, any), (StopOn::All, all)] {
                train.stop_on = stop_on;
                assert_eq!(standings.are_exhausted(&train), expected, "{stop_on:?} {result:?}");
            }
        }
        train.patience = 0;
        assert!(!standings.are_exhausted(&train));
    }

    #[test]
    fn another_order_of_criteria_loses_no_best_checkpoint() {
        let standing = |step| Standing { best: Some(report(step, 1.0, 0.0, 0.0)), ..Standing::default() };
        let mut standings = Standings {
            first: standing(9),
            first_by: Some(BestBy::Loss),
            others: [(BestBy::Chrf, standing(6)), (BestBy::Bleu, standing(3))].into(),
        };
        let steps = |standings: &Standings| {
            let step = |standing: &Standing| standing.best.map(|best| best.step);
            let others = standings.others.iter().map(|(by, standing)| (*by, step(standing)));
            (step(&standings.first), Vec::from_iter(others))
        };
        let train = |best_by, keep_best_by: &[BestBy]| TrainConfig {
            best_by,
            keep_best_by: keep_best_by.to_vec(),
            ..TrainConfig::default()
        };
        standings.arrange(&train(BestBy::Chrf, &[BestBy::Loss]));
        assert_eq!(steps(&standings), (Some(6), vec![(BestBy::Loss, Some(9))]));
        standings.first_by = Some(BestBy::Chrf);
        standings.arrange(&train(BestBy::Accuracy, &[]));
        assert_eq!(steps(&standings), (Some(6), Vec::new()));
    }

    #[test]
    fn the_state_of_a_run_without_further_criteria_is_read() {
        let text = r#"{"best":{"step":3,"loss":2.5,"bleu":null},"validations_without_better":4}"#;
        let standings: Standings = serde_json::from_str(text).unwrap();
        assert_eq!(standings.first.validations_without_better, 4);
        assert_eq!(serde_json::to_string(&standings).unwrap(), text);
    }
}
