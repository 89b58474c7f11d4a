//! The number type in which a model decodes.

use std::path::Path;

use attentive_base::error::Result;
use attentive_model::engine::Precision;
use attentive_pipeline::Pipeline;

/// The number type in which a model decodes.
#[derive(clap::Args)]
pub(super) struct PrecisionArgs {
    /// Number type of the matrix products [default: as the model is stored]. Any trained model can be rounded to `bf16` or
    /// `int8` while it is loaded; `attentive quantize` stores the rounded weights, which load faster, and measures the loss.
    #[arg(long, value_name = "TYPE")]
    precision: Option<Precision>,
}

impl PrecisionArgs {
    /// Loads the model directory `dir`.
    pub(super) fn load(&self, dir: &Path) -> Result<Pipeline> {
        Pipeline::load_in(dir, self.precision)
    }
}
