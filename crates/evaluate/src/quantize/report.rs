//! The quantization report.

use std::num::NonZeroUsize;

use attentive_checkpoint::StoredNumbers;
use attentive_config::Float;
use attentive_decode::SearchOptions;
use attentive_metrics::Paired;
use attentive_model::engine::Precision;
use serde::Serialize;

/// The effects of quantization: the original model, and the quantized model with its shortlist, if it has
/// one. Stored in the new model directory as `report.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The program and its version.
    pub program: String,
    /// The number type of the new weights.
    pub precision: Precision,
    /// The number type in which the original weights are stored.
    pub original: StoredNumbers,
    /// The number types in which both models kept keys and values.
    pub cache_precision: Change<Float>,
    /// SHA-256 of the original weights that are not frozen, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_sha256: Option<String>,
    /// The instruction set that the quantized matrix products used in the measurement.
    pub instructions: String,
    /// The number of threads of the measurement.
    pub threads: usize,
    /// The search options of the measurement.
    pub search: SearchOptions,
    /// The maximum number of sentences that were translated together. It affects the times, but not the
    /// translations.
    pub batch_size: usize,
    /// The number of resampled test sets from which the intervals were computed.
    pub resamples: NonZeroUsize,
    /// The seed of their random numbers.
    pub seed: u64,
    /// The number of lines of the test set.
    pub lines: usize,
    /// The number of lines that are translated differently.
    pub changed_lines: usize,
    /// The size of the weights in bytes.
    pub bytes: Change<u64>,
    /// The time for translating the test set, in seconds.
    pub seconds: Change<f64>,
    /// BLEU, with 95 % intervals by paired bootstrap resampling.
    pub bleu: ScoreComparison,
    /// chrF2, with intervals like those of BLEU.
    pub chrf: ScoreComparison,
    /// The contribution of the shortlist to these changes, if the new model has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortlist: Option<ShortlistCost>,
}

/// The effects of a shortlist: the quantized model without it and with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortlistCost {
    /// The size of the shortlist file in bytes.
    pub bytes: u64,
    /// The average number of candidate tokens of a line of the test set.
    pub candidates: f64,
    /// The number of target tokens.
    pub vocabulary: usize,
    /// The number of lines that are translated differently.
    pub changed_lines: usize,
    /// The time for translating the test set, in seconds.
    pub seconds: Change<f64>,
    /// BLEU, with 95 % intervals by paired bootstrap resampling.
    pub bleu: ScoreComparison,
    /// chrF2, with intervals like those of BLEU.
    pub chrf: ScoreComparison,
}

/// A quantity of two models that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change<T> {
    /// The value for the original model; for the effect of a shortlist, for the quantized model without it.
    pub before: T,
    /// The value for the quantized model, with its shortlist if it has one.
    pub after: T,
}

impl<T> Change<T> {
    pub(super) fn of(before: T, after: T) -> Self {
        Self { before, after }
    }
}

/// A score of both models.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoreComparison {
    /// The signature of the metric.
    pub signature: String,
    /// The scores, their intervals, and their difference.
    #[serde(flatten)]
    pub paired: Paired,
}
