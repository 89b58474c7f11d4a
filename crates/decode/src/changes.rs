//! Changes to a model's search.

use std::num::NonZeroUsize;

use attentive_base::error::{Error, Result};
use attentive_config::{DecodeConfig, EarlyStopping, LengthPenaltyFormula};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Sampling, SamplingChanges, SearchOptions, Strategy};

/// Options of the search; what is left out is as the model's configuration says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::Args), command(next_help_heading = "Search"))]
#[serde(default, deny_unknown_fields)]
pub struct SearchChanges {
    /// Beam width: number of hypotheses kept at each step; 1 is greedy search [default: the model's].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub beam_width: Option<NonZeroUsize>,
    /// Length penalty (an exponent): higher values favor longer translations, and 0 turns it off [default:
    /// the model's; with a formula other than the model's, 0.6 for gnmt and 1 for length].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_negative_numbers = true))]
    #[schemars(range(min = 0))]
    pub length_penalty: Option<f64>,
    /// Formula of the length penalty: the log-probability of a translation is divided by it [default: the
    /// model's].
    #[cfg_attr(feature = "cli", arg(long, value_name = "FORMULA"))]
    pub length_penalty_formula: Option<LengthPenaltyFormula>,
    /// Maximum number of tokens of a translation, up to the most that the model can read [default: the
    /// model's limit, which grows with the source].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub max_new_tokens: Option<NonZeroUsize>,
    /// When the beam search of a sentence ends [default: the model's].
    #[cfg_attr(feature = "cli", arg(long, value_name = "RULE"))]
    pub early_stopping: Option<EarlyStopping>,
    /// Minimum number of tokens of a translation [default: the model's, usually 0].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub min_length: Option<usize>,
    /// Never repeat N consecutive tokens within a translation; 0 to allow it [default: the model's, usually
    /// 0].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub no_repeat_ngram: Option<usize>,
    /// Coverage penalty (Wu et al. 2016), which favors translations that attend to the whole source; 0.2 is
    /// usual [default: 0].
    #[cfg_attr(feature = "cli", arg(long, value_name = "B", allow_negative_numbers = true))]
    #[schemars(range(min = 0))]
    pub coverage_penalty: Option<f64>,
}

/// The most that a client of a server may ask for.
#[derive(Clone, Copy, Debug)]
pub struct SearchBounds {
    /// The widest beam; the model's own may be wider.
    pub beam_width: usize,
    /// The number of translations of a text.
    pub n_best: usize,
}

impl SearchChanges {
    /// Returns the search of `config` with these changes, for the `n_best` best translations of each
    /// sentence, or for as many samples.
    ///
    /// # Errors
    /// [`Error::Config`] for a value out of range, which names its key, and for a beam of samples; any error
    /// of [`SearchOptions::check`].
    pub fn apply(
        &self,
        config: &DecodeConfig,
        n_best: usize,
        sampling: Option<SamplingChanges>,
    ) -> Result<SearchOptions> {
        if sampling.is_some() {
            self.refuse_search()?;
        }
        let mut decode = config.clone();
        if let Some(formula) = self.length_penalty_formula
            && formula != decode.length_penalty_formula
        {
            // The configured exponent is meant for the other formula.
            decode.length_penalty_formula = formula;
            decode.length_penalty = formula.default_exponent();
        }
        if let Some(most) = self.max_new_tokens {
            (decode.max_new_factor, decode.max_new_extra) = (0.0, most.get());
        }
        decode.beam_width = self.beam_width.map_or(decode.beam_width, NonZeroUsize::get);
        decode.length_penalty = self.length_penalty.unwrap_or(decode.length_penalty);
        decode.early_stopping = self.early_stopping.unwrap_or(decode.early_stopping);
        decode.min_length = self.min_length.unwrap_or(decode.min_length);
        decode.no_repeat_ngram = self.no_repeat_ngram.unwrap_or(decode.no_repeat_ngram);
        decode.validate()?;
        let strategy = match sampling {
            Some(sampling) => {
                Strategy::Sample { sampling: sampling.apply(Sampling::default()), count: n_best }
            }
            None => Strategy::beam(decode.beam_width, n_best, decode.early_stopping),
        };
        let search = SearchOptions {
            strategy,
            coverage_penalty: self.coverage_penalty.unwrap_or(0.0),
            ..SearchOptions::from(&decode)
        };
        search.check()?;
        Ok(search)
    }

    /// Refuses options that have no effect on samples.
    fn refuse_search(&self) -> Result<()> {
        let width = self.beam_width.map(|width| ("beam_width", width.to_string()));
        let rule = self.early_stopping.map(|rule| ("early_stopping", format!("`{rule:?}`").to_lowercase()));
        width.or(rule).map_or(Ok(()), |(key, found)| {
            Err(Error::config(
                key,
                "nothing, since translations are sampled, and nothing is searched for",
                found,
            ))
        })
    }

    /// Returns these options with a beam of at least `n_best` hypotheses, for a model with `config`.
    #[must_use]
    pub fn widened(self, config: &DecodeConfig, n_best: usize) -> Self {
        let width = self.beam_width.map_or(config.beam_width, NonZeroUsize::get);
        Self { beam_width: NonZeroUsize::new(width.max(n_best)), ..self }
    }

    /// Refuses what takes more time or memory than a client may use, of a model with `config`. Each option
    /// has a line here: its bound, or why it needs none.
    ///
    /// # Errors
    /// [`Error::Config`] with the name of the option.
    pub fn within(&self, config: &DecodeConfig, n_best: usize, bounds: SearchBounds) -> Result<()> {
        let Self {
            beam_width,
            // They change scores, not the amount of work.
            length_penalty: _,
            length_penalty_formula: _,
            coverage_penalty: _,
            // Up to the length that the model can read, which is as far as any translation may grow.
            max_new_tokens: _,
            early_stopping: _,
            min_length: _,
            // It takes a pass over the translation at each step, which attention does as well.
            no_repeat_ngram: _,
        } = *self;
        let width = beam_width.map_or(config.beam_width, NonZeroUsize::get);
        // The model's own search may be wider.
        let widest = bounds.beam_width.max(config.beam_width);
        let n_best = (n_best, bounds.n_best);
        for (key, (asked, most)) in [("beam_width", (width, widest)), ("n_best", n_best)] {
            if asked > most {
                return Err(Error::config(
                    key,
                    format!("at most {most}, which the server allows"),
                    asked.to_string(),
                ));
            }
        }
        Ok(())
    }
}
