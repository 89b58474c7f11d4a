//! Options for sampling translations.

use attentive_base::error::{Error, Result};
use attentive_decode::SamplingChanges;

/// Options of random translations.
#[derive(clap::Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingArgs {
    /// Draw translations at random instead of searching for the most likely one; `--n-best` draws several,
    /// independently. A sample depends on the seed and on the number of its line.
    #[arg(long, conflicts_with_all = ["beam_width", "early_stopping"])]
    sample: bool,
    #[command(flatten)]
    changes: SamplingChanges,
}

impl SamplingArgs {
    /// The sampling options; `None` to search for translations.
    ///
    /// # Errors
    /// [`Error::Usage`] for options of sampling without `--sample`.
    pub(crate) fn sampling(&self) -> Result<Option<SamplingChanges>> {
        if !self.sample && self.changes != SamplingChanges::default() {
            return Err(Error::usage(
                "`--temperature`, `--top-k`, `--top-p`, `--epsilon` and `--seed` have no effect on a search",
                "add `--sample`, or leave them out",
            ));
        }
        Ok(self.sample.then_some(self.changes))
    }
}
