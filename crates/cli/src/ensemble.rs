//! The models of an ensemble.

use std::path::{Path, PathBuf};

use attentive_base::error::Result;
use attentive_config::TrainDevice;
use attentive_pipeline::Pipeline;

use super::device::warn_of_software;
use super::precision::PrecisionArgs;

/// Further models that work together with the first.
#[derive(clap::Args)]
pub(super) struct EnsembleArgs {
    /// Another model of an ensemble, with the same vocabularies; probabilities are averaged. May be repeated.
    #[arg(long, value_name = "MODEL2")]
    with: Vec<PathBuf>,
    /// Weights of all models, separated by commas, MODEL first: their log-probabilities, each times its
    /// weight, are added in place of averaging probabilities, as in Marian.
    #[arg(long, value_name = "W1,W2", value_delimiter = ',', requires = "with")]
    log_weights: Vec<f64>,
    #[command(flatten)]
    precision: PrecisionArgs,
}

impl EnsembleArgs {
    /// The directories of the further models.
    pub(super) fn models(&self) -> &[PathBuf] {
        &self.with
    }

    /// Loads `model` and the further models for `device`.
    pub(super) fn load(&self, model: &Path, device: TrainDevice) -> Result<Pipeline> {
        let join = |together: Pipeline, path: &PathBuf| {
            let joined = together.with(self.precision.load(path, device)?);
            joined.map_err(|error| error.about(format_args!("`{}`", path.display())))
        };
        let first = self.precision.load(model, device)?;
        warn_of_software(first.device());
        let together = self.with.iter().try_fold(first, join)?;
        match &self.log_weights[..] {
            [] => Ok(together),
            weights => together.with_log_weights(weights.to_vec()),
        }
    }
}
