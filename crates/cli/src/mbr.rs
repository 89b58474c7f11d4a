//! Options of decoding by minimum Bayes risk.

use std::num::NonZeroUsize;

use attentive_base::error::{Error, Result};
use attentive_metrics::Utility;
use attentive_pipeline::{Mbr, TranslateOptions};

/// The usual number of samples.
const SAMPLES: usize = 32;

/// Options of decoding by minimum Bayes risk.
#[derive(clap::Args)]
#[command(next_help_heading = "Minimum Bayes risk")]
pub(crate) struct MbrArgs {
    /// Of many translations of each sentence, write the one that agrees best with all of them by this metric.
    #[arg(long, value_name = "METRIC")]
    mbr: Option<Utility>,
    /// Number of translations among which `--mbr` chooses [default: the beam width; 32 samples].
    #[arg(long, value_name = "N", requires = "mbr")]
    candidates: Option<NonZeroUsize>,
}

impl MbrArgs {
    /// The number of candidates of each sentence and the choice of `n_best` among them, for a search with
    /// these `options`; `None` without `--mbr`.
    ///
    /// # Errors
    /// [`Error::Usage`] for fewer than two candidates, and for fewer than are to be written.
    pub(crate) fn of(&self, n_best: usize, options: &TranslateOptions) -> Result<Option<(usize, Mbr)>> {
        let Some(utility) = self.mbr else {
            return Ok(None);
        };
        let strategy = options.search.strategy;
        let usual = if strategy.samples() { SAMPLES } else { strategy.rows() };
        let candidates = self.candidates.map_or(usual, NonZeroUsize::get);
        if candidates < 2 {
            return Err(Error::usage(
                "`--mbr` has nothing to choose from: there is one translation of each sentence",
                "add `--sample`, or `--beam-width` with 2 or more",
            ));
        }
        if n_best > candidates {
            return Err(Error::usage(
                format!(
                    "`--n-best {n_best}` is more than the {candidates} translations among which `--mbr` chooses"
                ),
                "raise `--candidates`, and `--beam-width` with it unless you add `--sample`",
            ));
        }
        Ok(Some((candidates, Mbr { utility, n_best })))
    }
}
