//! Search options, shared by `translate`, `evaluate`, `compare` and `quantize`.

use std::num::NonZeroUsize;

use attentive_base::error::Result;
use attentive_config::Config;
use attentive_decode::{SamplingChanges, SearchChanges};
use attentive_pipeline::TranslateOptions;

use super::message::as_option;

/// Search options that the command line can change; the model's configuration sets the rest.
#[derive(clap::Args, Default, PartialEq)]
pub(super) struct SearchArgs {
    #[command(flatten)]
    changes: SearchChanges,
    /// Number of sentences translated together; 0 for the number that is usually fastest. Results do not
    /// depend on it [default: the model's].
    #[arg(long, value_name = "N", help_heading = "Search")]
    batch_size: Option<usize>,
}

impl SearchArgs {
    /// The model's options with these changes applied, for `n_best` translations of each sentence.
    pub(super) fn options(
        &self,
        config: &Config,
        n_best: usize,
        sampling: Option<SamplingChanges>,
    ) -> Result<TranslateOptions> {
        let search = self.changes.apply(&config.decode, n_best, sampling).map_err(as_option)?;
        let batch_size = NonZeroUsize::new(self.batch_size.unwrap_or(config.decode.batch_size));
        Ok(TranslateOptions { search, batch_size, mbr: None })
    }
}
