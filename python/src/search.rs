//! Options of a search.

use attentive::config::DecodeConfig;
use attentive::decode::Sampling;
use attentive::error::Result;
use attentive::pipeline::{SearchChanges, TranslateOptions};
use pyo3::prelude::*;

use crate::choice::choice_or_none;

/// Options of a search, as a dictionary of Python. Everything that is `None` stays as the model's
/// configuration says.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Search {
    beam_width: Option<usize>,
    length_penalty: Option<f64>,
    length_penalty_formula: Option<String>,
    max_new_tokens: Option<usize>,
    early_stopping: Option<String>,
    min_length: Option<usize>,
    no_repeat_ngram: Option<usize>,
    coverage_penalty: Option<f64>,
    batch_size: Option<usize>,
}

impl Search {
    /// The search of `config` with these options, for `n_best` translations of each sentence.
    pub(crate) fn options(&self, config: &DecodeConfig, n_best: usize) -> Result<TranslateOptions> {
        let changes = SearchChanges {
            beam_width: self.beam_width,
            length_penalty: self.length_penalty,
            length_penalty_formula: choice_or_none(
                "length_penalty_formula",
                self.length_penalty_formula.as_deref(),
            )?,
            max_new_tokens: self.max_new_tokens,
            early_stopping: choice_or_none("early_stopping", self.early_stopping.as_deref())?,
            min_length: self.min_length,
            no_repeat_ngram: self.no_repeat_ngram,
            coverage_penalty: self.coverage_penalty,
            batch_size: self.batch_size,
        };
        changes.apply(config, n_best)
    }
}

/// A distribution from which tokens are drawn: an object with these attributes.
#[derive(FromPyObject)]
pub(crate) struct Drawing {
    temperature: f64,
    top_k: usize,
    top_p: f64,
    seed: u64,
}

impl From<Drawing> for Sampling {
    fn from(drawing: Drawing) -> Self {
        let Drawing { temperature, top_k, top_p, seed } = drawing;
        Self { temperature, top_k, top_p, seed }
    }
}
