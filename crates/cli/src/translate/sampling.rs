//! Options for sampling translations.

use std::num::NonZeroUsize;

use attentive_decode::Sampling;

/// Options of random translations.
#[derive(clap::Args)]
#[command(next_help_heading = "Sampling")]
pub(super) struct SamplingArgs {
    /// Draw translations at random instead of searching for the most likely one; `--n-best` draws several,
    /// independently. A sample depends on the seed and on the number of its line.
    #[arg(long, conflicts_with_all = ["beam_width", "constraints"])]
    sample: bool,
    /// Sampling temperature: 1 samples from the model's distribution, lower values favor likely tokens
    /// [default: 1].
    #[arg(long, value_name = "T", requires = "sample", allow_negative_numbers = true)]
    temperature: Option<f64>,
    /// Top-k sampling: sample from the K most likely tokens only [default: all].
    #[arg(long, value_name = "K", requires = "sample")]
    top_k: Option<NonZeroUsize>,
    /// Nucleus sampling: keep the smallest set of top tokens whose probabilities sum to P [default: 1, all
    /// tokens].
    #[arg(long, value_name = "P", requires = "sample", allow_negative_numbers = true)]
    top_p: Option<f64>,
    /// Random seed: the same seed gives the same samples [default: 0].
    #[arg(long, value_name = "S", requires = "sample")]
    seed: Option<u64>,
}

impl SamplingArgs {
    /// The sampling options; `None` to search for translations.
    pub(super) fn sampling(&self) -> Option<Sampling> {
        let defaults = Sampling::default();
        self.sample.then(|| Sampling {
            temperature: self.temperature.unwrap_or(defaults.temperature),
            top_k: self.top_k.map_or(defaults.top_k, NonZeroUsize::get),
            top_p: self.top_p.unwrap_or(defaults.top_p),
            seed: self.seed.unwrap_or(defaults.seed),
        })
    }
}
