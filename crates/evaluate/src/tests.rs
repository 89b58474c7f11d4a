//! Models for the tests of this crate.

use std::sync::OnceLock;

use attentive_config::{Family, TokenizerKind, Units};
use attentive_pipeline::Pipeline;
use attentive_samples::Sample;

/// The model of `sample`, ready for use.
pub(crate) fn pipeline(sample: Sample) -> Pipeline {
    Pipeline::from_parts(sample.config, sample.tokenizers, sample.model)
}

/// A tiny untrained translation model.
pub(crate) fn untrained() -> &'static Pipeline {
    static PIPELINE: OnceLock<Pipeline> = OnceLock::new();
    PIPELINE.get_or_init(|| of(Family::Transformer))
}

/// See [`Sample::of`].
pub(crate) fn of(family: Family) -> Pipeline {
    pipeline(Sample::of(family))
}

/// See [`Sample::small_language_model`].
pub(crate) fn untrained_language_model(kind: TokenizerKind, units: Units) -> Pipeline {
    pipeline(Sample::small_language_model(kind, units))
}
