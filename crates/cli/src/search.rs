//! Search options, shared by `translate`, `evaluate` and `compare`.

use std::num::NonZeroUsize;

use attentive_base::error::Result;
use attentive_config::{Config, EarlyStopping, LengthPenaltyFormula};
use attentive_decode::{SearchOptions, Strategy};
use attentive_pipeline::TranslateOptions;

use super::message::as_option;

/// Search options that the command line can change; the model's configuration sets the rest.
#[derive(clap::Args, Default, PartialEq)]
#[command(next_help_heading = "Search")]
pub(super) struct SearchArgs {
    /// Beam width: number of hypotheses kept at each step; 1 is greedy search [default: the model's].
    #[arg(long, value_name = "N")]
    beam_width: Option<NonZeroUsize>,
    /// Length penalty (an exponent): higher values favor longer translations, and 0 turns it off [default: the model's; with a
    /// formula other than the model's, 0.6 for gnmt and 1 for length].
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    length_penalty: Option<f64>,
    /// Formula of the length penalty: the log-probability of a translation is divided by it [default: the model's].
    #[arg(long, value_name = "FORMULA")]
    length_penalty_formula: Option<LengthPenaltyFormula>,
    /// Maximum number of tokens of a translation, up to the most that the model can read [default: the model's limit, which
    /// grows with the source].
    #[arg(long, value_name = "N")]
    max_new_tokens: Option<NonZeroUsize>,
    /// When the beam search of a sentence ends [default: the model's].
    #[arg(long, value_name = "RULE")]
    early_stopping: Option<EarlyStopping>,
    /// Minimum number of tokens of a translation [default: the model's, usually 0].
    #[arg(long, value_name = "N")]
    min_length: Option<usize>,
    /// Never repeat N consecutive tokens within a translation [default: the model's, usually no limit].
    #[arg(long, value_name = "N")]
    no_repeat_ngram: Option<NonZeroUsize>,
    /// Coverage penalty (Wu et al. 2016), which favors translations that attend to the whole source; 0.2 is usual [default: 0].
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    coverage_penalty: Option<f64>,
    /// Number of sentences translated together; results do not depend on it [default: the model's].
    #[arg(long, value_name = "N")]
    batch_size: Option<NonZeroUsize>,
}

impl SearchArgs {
    /// The model's options with these changes applied, for `n_best` translations of each sentence.
    pub(super) fn options(&self, config: &Config, n_best: usize) -> Result<TranslateOptions> {
        let mut decode = config.decode.clone();
        decode.beam_width = self.beam_width.map_or(decode.beam_width, NonZeroUsize::get);
        if let Some(penalty) = self
            .length_penalty_formula
            .filter(|own| *own != decode.length_penalty_formula)
        {
            // The model's exponent is meant for the other formula.
            (decode.length_penalty_formula, decode.length_penalty) =
                (penalty, penalty.default_exponent());
        }
        decode.length_penalty = self.length_penalty.unwrap_or(decode.length_penalty);
        decode.batch_size = self.batch_size.map_or(decode.batch_size, NonZeroUsize::get);
        decode.early_stopping = self.early_stopping.unwrap_or(decode.early_stopping);
        decode.min_length = self.min_length.unwrap_or(decode.min_length);
        if let Some(most) = self.max_new_tokens {
            // This limit replaces the model's limit.
            (decode.max_new_factor, decode.max_new_extra) = (0.0, most.get());
        }
        let no_repeat_ngram = self.no_repeat_ngram.map(NonZeroUsize::get);
        decode.no_repeat_ngram = no_repeat_ngram.unwrap_or(decode.no_repeat_ngram);
        decode.validate().map_err(as_option)?;
        let search = SearchOptions {
            strategy: Strategy::beam(decode.beam_width, n_best, decode.early_stopping),
            coverage_penalty: self.coverage_penalty.unwrap_or(0.0),
            ..SearchOptions::from(&decode)
        };
        search.check()?;
        Ok(TranslateOptions {
            search,
            batch_size: decode.batch_size,
        })
    }
}
