//! Confusion tables, precision, recall and F1.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Accuracy;

/// A confusion matrix: the number of times that each label was predicted, for each correct label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Confusion {
    /// Counts by the correct label, then by the predicted one. Pairs that never occur are left out.
    counts: BTreeMap<String, BTreeMap<String, u64>>,
}

/// The precision, recall and F1 of one label. A ratio with denominator 0 is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LabelScores {
    /// The share of predictions of this label that are correct.
    pub precision: f64,
    /// The share of occurrences of this label that are predicted.
    pub recall: f64,
    /// The harmonic mean of precision and recall.
    pub f1: f64,
    /// The number of occurrences of this label.
    pub support: u64,
}

impl Confusion {
    /// Counts one prediction.
    pub fn add(&mut self, right: &str, predicted: &str) {
        let row = self.counts.entry(right.to_owned()).or_default();
        *row.entry(predicted.to_owned()).or_default() += 1;
    }

    /// Returns all labels that occur as a correct label or as a prediction, in alphabetical order.
    pub fn labels(&self) -> Vec<&str> {
        let right = self.counts.keys();
        let predicted = self.counts.values().flat_map(BTreeMap::keys);
        let labels: BTreeSet<&str> = right.chain(predicted).map(String::as_str).collect();
        labels.into_iter().collect()
    }

    /// Returns how often `predicted` was predicted where `right` is correct.
    pub fn count(&self, right: &str, predicted: &str) -> u64 {
        let row = self.counts.get(right);
        row.and_then(|row| row.get(predicted)).copied().unwrap_or(0)
    }

    /// Returns the share of predictions that are correct.
    pub fn accuracy(&self) -> Accuracy {
        let right = self.counts.keys().map(|label| self.count(label, label));
        Accuracy { correct: right.sum(), total: self.counts.values().flat_map(BTreeMap::values).sum() }
    }

    /// Returns the precision, recall and F1 of `label`.
    pub fn scores(&self, label: &str) -> LabelScores {
        let found = self.count(label, label);
        let predicted: u64 = self.counts.keys().map(|row| self.count(row, label)).sum();
        let row = self.counts.get(label);
        let support: u64 = row.map_or(0, |row| row.values().sum());
        let share = |part: u64, whole: u64| match whole {
            0 => 0.0,
            _ => part as f64 / whole as f64,
        };
        LabelScores {
            precision: share(found, predicted),
            recall: share(found, support),
            f1: share(2 * found, predicted + support),
            support,
        }
    }

    /// Returns the average F1 of all [`Confusion::labels`]; 0 if there are none.
    pub fn macro_f1(&self) -> f64 {
        let labels = self.labels();
        let sum: f64 = labels.iter().map(|label| self.scores(label).f1).sum();
        sum / labels.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    /// Computed by hand: of `a` 3 of 4 are found and 3 of 5 predictions are right, of `b` 2 of 4 and 2 of 3,
    /// of `c` 1 of 1 and 1 of 1; `d` is predicted once and never right.
    fn confusion() -> Confusion {
        let mut confusion = Confusion::default();
        for (right, predicted) in [
            ("a", "a"),
            ("a", "a"),
            ("a", "a"),
            ("a", "b"),
            ("b", "b"),
            ("b", "b"),
            ("b", "a"),
            ("b", "a"),
            ("c", "c"),
            ("e", "d"),
        ] {
            confusion.add(right, predicted);
        }
        confusion
    }

    #[test]
    fn precision_recall_and_f1_are_those_computed_by_hand() {
        let confusion = confusion();
        for (label, precision, recall, f1, support) in [
            ("a", 3.0 / 5.0, 3.0 / 4.0, 2.0 / 3.0, 4),
            ("b", 2.0 / 3.0, 1.0 / 2.0, 4.0 / 7.0, 4),
            ("c", 1.0, 1.0, 1.0, 1),
            ("d", 0.0, 0.0, 0.0, 0),
            ("e", 0.0, 0.0, 0.0, 1),
            ("unheard of", 0.0, 0.0, 0.0, 0),
        ] {
            let found = confusion.scores(label);
            assert!(close(found.precision, precision), "{label}: {found:?}");
            assert!(close(found.recall, recall), "{label}: {found:?}");
            assert!(close(found.f1, f1), "{label}: {found:?}");
            assert_eq!(found.support, support, "{label}");
        }
        let (correct, total) = (6, 10);
        assert_eq!(confusion.accuracy(), Accuracy { correct, total });
        assert_eq!(confusion.labels(), ["a", "b", "c", "d", "e"]);
        let expected = (2.0 / 3.0 + 4.0 / 7.0 + 1.0) / 5.0;
        assert!(close(confusion.macro_f1(), expected));
    }

    #[test]
    fn the_table_counts_each_pair() {
        let confusion = confusion();
        assert_eq!(confusion.count("b", "a"), 2);
        assert_eq!(confusion.count("a", "b"), 1);
        assert_eq!(confusion.count("d", "d"), 0);
        let json = serde_json::to_string(&confusion).unwrap();
        let expected = r#"{"a":{"a":3,"b":1},"b":{"a":2,"b":2},"c":{"c":1},"e":{"d":1}}"#;
        assert_eq!(json, expected);
    }

    #[test]
    fn no_predictions_score_nothing() {
        let none = Confusion::default();
        assert_eq!((none.macro_f1(), none.accuracy().total), (0.0, 0));
    }
}
