//! Search options, shared by `translate`, `evaluate` and `compare`.

use std::num::NonZeroUsize;

use attentive_base::error::Result;
use attentive_config::{Config, EarlyStopping, LengthPenaltyFormula};
use attentive_pipeline::{SearchChanges, TranslateOptions};

use super::message::as_option;

/// Search options that the command line can change; the model's configuration sets the rest.
#[derive(clap::Args, Default, PartialEq)]
#[command(next_help_heading = "Search")]
pub(super) struct SearchArgs {
    /// Beam width: number of hypotheses kept at each step; 1 is greedy search [default: the model's].
    #[arg(long, value_name = "N")]
    beam_width: Option<NonZeroUsize>,
    /// Length penalty (an exponent): higher values favor longer translations, and 0 turns it off [default:
    /// the model's; with a formula other than the model's, 0.6 for gnmt and 1 for length].
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    length_penalty: Option<f64>,
    /// Formula of the length penalty: the log-probability of a translation is divided by it [default: the
    /// model's].
    #[arg(long, value_name = "FORMULA")]
    length_penalty_formula: Option<LengthPenaltyFormula>,
    /// Maximum number of tokens of a translation, up to the most that the model can read [default: the
    /// model's limit, which grows with the source].
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
    /// Coverage penalty (Wu et al. 2016), which favors translations that attend to the whole source; 0.2 is
    /// usual [default: 0].
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    coverage_penalty: Option<f64>,
    /// Number of sentences translated together; results do not depend on it [default: the model's].
    #[arg(long, value_name = "N")]
    batch_size: Option<NonZeroUsize>,
}

impl SearchArgs {
    /// The model's options with these changes applied, for `n_best` translations of each sentence.
    pub(super) fn options(&self, config: &Config, n_best: usize) -> Result<TranslateOptions> {
        let changes = SearchChanges {
            beam_width: self.beam_width.map(NonZeroUsize::get),
            length_penalty: self.length_penalty,
            length_penalty_formula: self.length_penalty_formula,
            max_new_tokens: self.max_new_tokens.map(NonZeroUsize::get),
            early_stopping: self.early_stopping,
            min_length: self.min_length,
            no_repeat_ngram: self.no_repeat_ngram.map(NonZeroUsize::get),
            coverage_penalty: self.coverage_penalty,
            batch_size: self.batch_size.map(NonZeroUsize::get),
        };
        changes.apply(&config.decode, n_best).map_err(as_option)
    }
}
