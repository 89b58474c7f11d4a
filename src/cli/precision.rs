//! The number type in which a model decodes.

use std::path::Path;

use attentive::engine::Precision;
use attentive::error::Result;
use attentive::pipeline::Pipeline;

/// The number type in which a model decodes.
#[derive(clap::Args)]
pub(super) struct PrecisionArgs {
    /// Number type of weights and activations in decoding: int8 is fastest, and needs no model made by `attentive quantize`, which
    /// loads faster and says what it costs [default: as the model is stored].
    #[arg(long, value_name = "TYPE")]
    precision: Option<Precision>,
}

impl PrecisionArgs {
    /// Loads the model directory `dir`.
    pub(super) fn load(&self, dir: &Path) -> Result<Pipeline> {
        Pipeline::load_in(dir, self.precision)
    }
}
