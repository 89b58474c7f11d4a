//! A model that translates, and how it searches: shared by `translate` and `synthesize`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use attentive_base::error::Result;
use attentive_config::Task;
use attentive_pipeline::{Pipeline, TranslateOptions};
use attentive_processes::Processes;
use attentive_train::device::of_process;

use super::device::DecodingDeviceArgs;
use super::ensemble::EnsembleArgs;
use super::languages::LanguageArgs;
use super::mbr::MbrArgs;
use super::precision::CacheArgs;
use super::sampling::SamplingArgs;
use super::search::SearchArgs;

/// How a model is loaded and translates.
#[derive(clap::Args)]
pub(super) struct TranslatorArgs {
    /// Number of translations of each line; at most the beam width.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(super) n_best: NonZeroUsize,
    #[command(flatten)]
    ensemble: EnsembleArgs,
    #[command(flatten)]
    cache: CacheArgs,
    #[command(flatten)]
    device: DecodingDeviceArgs,
    #[command(flatten)]
    languages: LanguageArgs,
    /// Search among all tokens, even if the model has a shortlist.
    #[arg(long)]
    no_shortlist: bool,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    #[command(flatten)]
    mbr: MbrArgs,
}

impl TranslatorArgs {
    /// The directories of the further models of an ensemble.
    pub(super) fn others(&self) -> &[PathBuf] {
        self.ensemble.models()
    }

    /// What changes translations besides the models, their precision and the search.
    pub(super) fn identity(&self) -> String {
        let shortlist = if self.no_shortlist { "no shortlist" } else { "the model's shortlist" };
        format!("{:?}, {:?}, {shortlist}", self.languages.languages(), self.cache.precision())
    }

    /// Loads the model in `dir`, which must translate, and those beside it.
    pub(super) fn load(&self, dir: &Path, processes: &Processes) -> Result<Pipeline> {
        let device = of_process(self.device.device, processes)?;
        let pipeline = self.ensemble.load(dir, device)?;
        // Here, so that another model is refused without any input, too.
        pipeline.require(Task::Translate)?;
        let pipeline = self.cache.applied(pipeline)?;
        let pipeline = pipeline.with_languages(&self.languages.languages())?;
        Ok(if self.no_shortlist { pipeline.with_shortlist(None) } else { pipeline })
    }

    /// How `pipeline` translates.
    pub(super) fn options(&self, pipeline: &Pipeline) -> Result<TranslateOptions> {
        let (config, sampling) = (pipeline.config(), self.sampling.sampling()?);
        let one = self.search.options(config, 1, sampling)?;
        let mbr = self.mbr.of(self.n_best.get(), &one)?;
        let n = mbr.map_or(self.n_best.get(), |(candidates, _)| candidates);
        Ok(TranslateOptions { mbr: mbr.map(|(_, mbr)| mbr), ..self.search.options(config, n, sampling)? })
    }
}
