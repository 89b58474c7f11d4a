//! The number types in which a model computes, and keeps what it needs for decoding.

use std::path::Path;

use attentive_base::error::Result;
use attentive_config::{Float, TrainDevice};
use attentive_model::engine::Precision;
use attentive_pipeline::Pipeline;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// The number type in which a model computes.
#[derive(clap::Args)]
pub(super) struct PrecisionArgs {
    /// Number type of the matrix products [default: as the model is stored]. Any trained model can be rounded
    /// to `bf16` or `int8` while it is loaded; `attentive quantize` stores the rounded weights, which load
    /// faster, and measures the loss.
    #[arg(long, value_name = "TYPE", value_parser = one_of(&Precision::ALL))]
    precision: Option<Precision>,
}

/// The number type of what decoding keeps.
#[derive(clap::Args)]
pub(super) struct CacheArgs {
    /// Number type in which keys and values of attention are kept [default: the model's, usually f32].
    #[arg(long, value_name = "TYPE")]
    cache_precision: Option<Float>,
}

impl PrecisionArgs {
    /// Loads the model directory `dir` for `device`.
    pub(super) fn load(&self, dir: &Path, device: TrainDevice) -> Result<Pipeline> {
        Pipeline::load_on(dir, device, self.precision)
    }
}

impl CacheArgs {
    /// The number type, if one is given.
    pub(super) fn precision(&self) -> Option<Float> {
        self.cache_precision
    }

    /// True if a number type is given.
    pub(super) fn is_given(&self) -> bool {
        self.cache_precision.is_some()
    }

    /// The `pipeline` with the number type that is given, if any.
    pub(super) fn applied(&self, pipeline: Pipeline) -> Result<Pipeline> {
        match self.cache_precision {
            Some(precision) => pipeline.with_cache_precision(precision),
            None => Ok(pipeline),
        }
    }
}

/// Parses the name of one of these number types.
pub(super) fn one_of(choices: &[Precision]) -> impl TypedValueParser<Value = Precision> + use<> {
    let value = |precision: &Precision| {
        PossibleValue::new(precision.name()).help(match precision {
            Precision::F32 => "Single precision: the numbers of training",
            Precision::Bf16 => {
                "Weights, in half the bytes, and activations are rounded to bfloat16, on a GPU the weights \
                 alone; sums are f32"
            }
            Precision::Int8 => {
                "Weights, in a quarter of the bytes, are rounded to 8 bits per output channel, and \
                 activations per row; sums are exact"
            }
        })
    };
    PossibleValuesParser::new(choices.iter().map(value))
        .try_map(|name| Precision::named(&name).ok_or("not a number type"))
}
