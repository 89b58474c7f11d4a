//! What Marian and Firefox's engine cannot represent.

use attentive_architecture::{ActivationKind, NormPosition, Positions};
use attentive_base::error::{Error, Result};
use attentive_config::{CellKind, Config, MixingKind, ModelConfig, Translator};

use crate::export::{ExportProblem, UnsupportedFeatures};

/// Widths that the products of Firefox's engine need.
const WIDTHS: usize = 64;

/// Refuses a model that Marian cannot represent.
pub(super) fn marian(config: &Config, kind: &str) -> Result<(), ExportProblem> {
    let (model, translator) = (&config.model, translator(&config.model, kind)?);
    differences(model, translator).refuse(kind)
}

/// Refuses a model that Firefox's engine cannot represent.
pub(super) fn firefox(config: &Config, kind: &str) -> Result<(), ExportProblem> {
    let (model, translator) = (&config.model, translator(&config.model, kind)?);
    let mut differences = differences(model, translator);
    let is_ssru = translator.decoder.decoder_mixing == MixingKind::Recurrent(CellKind::Ssru);
    let [d_model, d_ff] = [model.d_model, model.d_ff].map(|width| width.is_multiple_of(WIDTHS));
    for (equal, difference) in [
        (is_ssru, "`model.decoder_mixing` is not `ssru`"),
        (model.norm_position == NormPosition::Post, "`model.norm_position` is not `post`"),
        (model.activation == ActivationKind::Relu, "`model.activation` is not `relu`"),
        (!model.embedding_norm, "`model.embedding_norm` is true"),
        (!model.final_norm.unwrap_or(false), "`model.final_norm` is true"),
        (translator.output.tie_embeddings.ties_output(), "`model.tie_embeddings` is not `all` or `decoder`"),
        (d_model && d_ff, "`model.d_model` or `model.d_ff` is not a multiple of 64"),
    ] {
        differences.unless(equal, difference);
    }
    differences.refuse(kind)
}

/// Returns the keys of a model that translates.
pub(super) fn translator<'a>(model: &'a ModelConfig, kind: &str) -> Result<&'a Translator> {
    model.family.translator().ok_or_else(|| {
        let verb = model.family.task().verb();
        let problem = format!("the model {verb}, but {kind} models translate");
        Error::usage(problem, "export it in another format")
    })
}

fn differences(model: &ModelConfig, translator: &Translator) -> UnsupportedFeatures {
    let (encoder, decoder) = (&translator.encoder, &translator.decoder);
    let mut differences = UnsupportedFeatures::of(model);
    let attends =
        matches!(decoder.decoder_mixing, MixingKind::Attention | MixingKind::Recurrent(CellKind::Ssru));
    let activation = matches!(model.activation, ActivationKind::Relu | ActivationKind::Silu);
    for (equal, difference) in [
        (attends, "`model.decoder_mixing` is not `attention` or `ssru`"),
        (
            model.positions == Positions::SinusoidalTensor2tensor,
            "`model.positions` is not `sinusoidal_tensor2tensor`",
        ),
        (model.norm_epsilon == 1e-6, "`model.norm_epsilon` is not 1e-6"),
        (activation, "`model.activation` is not `relu` or `silu`"),
        (model.scale_embeddings, "`model.scale_embeddings` is false"),
        (model.decoder_heads() == model.n_heads, "`model.n_decoder_heads` is not `n_heads`"),
        (model.decoder_d_ff() == model.d_ff, "`model.d_decoder_ff` is not `d_ff`"),
        (
            translator.forced_bos_token.is_none() && translator.forced_eos_token.is_none(),
            "`model.forced_bos_token` or `model.forced_eos_token` is set",
        ),
        (
            encoder.source_first.is_none() && encoder.source_last.is_none(),
            "`model.source_first` or `model.source_last` is set",
        ),
        (decoder.zero_start_embedding, "`model.zero_start_embedding` is false"),
    ] {
        differences.unless(equal, difference);
    }
    differences
}
