//! The quantization report.

use serde::Serialize;

use crate::decode::SearchOptions;
use crate::engine::Precision;
use crate::metrics::Paired;

/// What quantizing cost, and what it gained. Stored in the new model directory as `report.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The program and its version.
    pub program: String,
    /// The number type of the new weights.
    pub precision: Precision,
    /// SHA-256 of the original weights, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_sha256: Option<String>,
    /// The instructions of the quantized products in the measurement.
    pub instructions: String,
    /// Threads of the measurement.
    pub threads: usize,
    /// The search of the measurement.
    pub search: SearchOptions,
    /// Lines of the test set.
    pub lines: usize,
    /// Lines that are translated differently.
    pub changed_lines: usize,
    /// The weights in bytes.
    pub bytes: Change<u64>,
    /// Seconds for translating the test set.
    pub seconds: Change<f64>,
    /// BLEU, with 95 % intervals by paired bootstrap resampling.
    pub bleu: Comparison,
    /// chrF2, in the same way.
    pub chrf: Comparison,
    /// The part of the shortlist in this, if the new model has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortlist: Option<ShortlistCost>,
}

/// What a shortlist cost, and what it gained: the quantized model without it and with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortlistCost {
    /// Its file in bytes.
    pub bytes: u64,
    /// The mean number of candidates of a line of the test set, of all tokens.
    pub candidates: f64,
    /// The number of target tokens.
    pub vocabulary: usize,
    /// Lines that are translated differently.
    pub changed_lines: usize,
    /// Seconds for translating the test set.
    pub seconds: Change<f64>,
    /// BLEU, with 95 % intervals by paired bootstrap resampling.
    pub bleu: Comparison,
    /// chrF2, in the same way.
    pub chrf: Comparison,
}

/// A quantity of both models.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change<T> {
    /// Of the original model.
    pub before: T,
    /// Of the quantized model.
    pub after: T,
}

impl<T> Change<T> {
    pub(super) fn of(before: T, after: T) -> Self {
        Self { before, after }
    }
}

/// A score of both models.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The signature of the metric.
    pub signature: String,
    /// The scores, their intervals, and their difference.
    #[serde(flatten)]
    pub paired: Paired,
}
