//! Changes to a model's search.

use attentive_base::error::Result;
use attentive_config::{DecodeConfig, EarlyStopping, LengthPenaltyFormula};
use attentive_decode::{SearchOptions, Strategy};

use super::TranslateOptions;

/// Changes to the search that a model's configuration describes. Everything that is `None` stays as
/// configured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchChanges {
    /// Hypotheses kept at each decoding step; 1 for greedy search.
    pub beam_width: Option<usize>,
    /// The exponent of the length penalty.
    pub length_penalty: Option<f64>,
    /// The formula of the length penalty. One that differs from the configured formula comes with its own
    /// default exponent.
    pub length_penalty_formula: Option<LengthPenaltyFormula>,
    /// Maximum number of tokens of a translation, in place of the limit that grows with the source.
    pub max_new_tokens: Option<usize>,
    /// The condition under which the beam search of a sentence ends.
    pub early_stopping: Option<EarlyStopping>,
    /// Minimum number of tokens of a translation.
    pub min_length: Option<usize>,
    /// Length of n-grams that no translation may contain twice; 0 to allow all.
    pub no_repeat_ngram: Option<usize>,
    /// Weight of the coverage penalty.
    pub coverage_penalty: Option<f64>,
    /// Maximum number of sentences translated together.
    pub batch_size: Option<usize>,
}

impl SearchChanges {
    /// Returns the search of `config` with these changes, for `n_best` translations of each sentence.
    ///
    /// # Errors
    /// [`attentive_base::Error::Config`] for a value out of range, which names its key; any error of
    /// [`SearchOptions::check`].
    pub fn apply(&self, config: &DecodeConfig, n_best: usize) -> Result<TranslateOptions> {
        let mut decode = config.clone();
        if let Some(formula) = self.length_penalty_formula
            && formula != decode.length_penalty_formula
        {
            // The configured exponent is meant for the other formula.
            decode.length_penalty_formula = formula;
            decode.length_penalty = formula.default_exponent();
        }
        if let Some(most) = self.max_new_tokens {
            (decode.max_new_factor, decode.max_new_extra) = (0.0, most);
        }
        decode.beam_width = self.beam_width.unwrap_or(decode.beam_width);
        decode.length_penalty = self.length_penalty.unwrap_or(decode.length_penalty);
        decode.batch_size = self.batch_size.unwrap_or(decode.batch_size);
        decode.early_stopping = self.early_stopping.unwrap_or(decode.early_stopping);
        decode.min_length = self.min_length.unwrap_or(decode.min_length);
        decode.no_repeat_ngram = self.no_repeat_ngram.unwrap_or(decode.no_repeat_ngram);
        decode.validate()?;
        let search = SearchOptions {
            strategy: Strategy::beam(decode.beam_width, n_best, decode.early_stopping),
            coverage_penalty: self.coverage_penalty.unwrap_or(0.0),
            ..SearchOptions::from(&decode)
        };
        search.check()?;
        Ok(TranslateOptions { search, batch_size: decode.batch_size })
    }
}
