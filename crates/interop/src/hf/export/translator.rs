//! Exports encoder-decoders as MarianMT, BART, mBART, M2M-100 and T5.

use attentive_architecture::{ActivationKind, NormKind, NormPosition, Positions, TieEmbeddings};
use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_checkpoint::LoadedModel;
use attentive_config::{MixingKind, ModelConfig, StackKind, Translator};
use attentive_text::Tokenizers;
use serde_json::{Value, json};

use super::{HfModel, activation, vocab};
use crate::export::{ExportProblem, UnsupportedFeatures};
use crate::hf::{bart, t5};
use crate::recipe::SinusoidTable;

/// The kind whose positions `transformers` computes.
pub(super) const M2M_100: &str = "M2M-100";

/// A kind of encoder-decoder in `transformers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TranslatorKind {
    Marian,
    Bart,
    MBart,
    /// NLLB is of this kind, too.
    M2M100,
    T5,
}

impl TranslatorKind {
    /// The kind that is most similar to `model`.
    fn of(model: &ModelConfig) -> Self {
        match (model.positions, model.norm_position) {
            (Positions::Relative, _) => Self::T5,
            _ if model.norm == NormKind::Rms => Self::T5,
            (Positions::Learned, _) if !model.embedding_norm => Self::M2M100,
            (Positions::Learned, NormPosition::Pre) => Self::MBart,
            (Positions::Learned, _) => Self::Bart,
            _ => Self::Marian,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Marian => "MarianMT",
            Self::Bart => "BART",
            Self::MBart => "mBART",
            Self::M2M100 => M2M_100,
            Self::T5 => "T5",
        }
    }

    /// Refuses a model that differs from this kind. Its padding token is `pad`.
    fn check(self, model: &ModelConfig, translator: &Translator, pad: TokenId) -> Result<(), ExportProblem> {
        let mut differences = match self {
            Self::T5 => differences_from_t5(model, translator),
            _ => self.differences_from_bart(model, translator, pad),
        };
        differences.unless(
            translator.decoder.decoder_mixing == MixingKind::Attention,
            "`model.decoder_mixing` is not `attention`",
        );
        differences.unless(
            model.final_norm.is_none_or(|is_last| is_last == (model.norm_position == NormPosition::Pre)),
            match model.norm_position {
                NormPosition::Pre => "`model.final_norm` is false",
                NormPosition::Post => "`model.final_norm` is true",
            },
        );
        differences.refuse(self.name())
    }

    fn differences_from_bart(
        self,
        model: &ModelConfig,
        translator: &Translator,
        pad: TokenId,
    ) -> UnsupportedFeatures {
        let mut differences = UnsupportedFeatures::of(model);
        let output = translator.output;
        let position = match self.norm_position() {
            NormPosition::Pre => "`model.norm_position` is not `pre`",
            NormPosition::Post => "`model.norm_position` is not `post`",
        };
        differences.unless(model.norm_position == self.norm_position(), position);
        differences.unless(model.norm_epsilon == 1e-5, "`model.norm_epsilon` is not 1e-5");
        differences
            .unless(output.tie_embeddings == TieEmbeddings::All, "`model.tie_embeddings` is not `all`");
        match self {
            Self::Marian => {
                differences.unless(!model.embedding_norm, "`model.embedding_norm` is true");
                let sinusoidal = [Positions::SinusoidalInterleaved, Positions::SinusoidalConcatenated];
                differences.unless(
                    sinusoidal.contains(&model.positions),
                    "`model.positions` is not `sinusoidal_interleaved` or `sinusoidal_concatenated`",
                );
            }
            Self::M2M100 => {
                let first = pad as usize + 1;
                let problem = "`model.position_offset` is not the number of the padding token + 1";
                differences.unless(model.position_offset == first, problem);
                differences.unless(!output.output_bias, "`model.output_bias` is true");
            }
            _ => differences.unless(model.position_offset == 2, "`model.position_offset` is not 2"),
        }
        differences
    }

    /// Where BART and its relatives have the norm.
    fn norm_position(self) -> NormPosition {
        match self {
            Self::Marian | Self::Bart => NormPosition::Post,
            Self::MBart | Self::M2M100 | Self::T5 => NormPosition::Pre,
        }
    }
}

/// Returns the kind that is most similar to `model`; an error if the model differs from it.
pub(super) fn check(
    model: &ModelConfig,
    translator: &Translator,
    tokenizers: &Tokenizers,
) -> Result<&'static str, ExportProblem> {
    let kind = TranslatorKind::of(model);
    kind.check(model, translator, tokenizers.src().special().pad)?;
    Ok(kind.name())
}

/// Converts an encoder-decoder.
pub(super) fn hf_model(loaded: &LoadedModel, translator: &Translator) -> Result<HfModel> {
    let model = &loaded.config.model;
    let kind = TranslatorKind::of(model);
    check(model, translator, &loaded.tokenizers).map_err(ExportProblem::into_error)?;
    let name = kind.name();
    if kind == TranslatorKind::T5 {
        return Ok(HfModel {
            kind: name,
            config: config_of_t5(loaded, translator),
            names: vec![t5::names(model.feed_forward_gate)],
            copies: if is_unscaled(translator) {
                vec![(t5::OUTPUT, "src.embedding.weight")]
            } else {
                Vec::new()
            },
            ..HfModel::default()
        });
    }
    let vocab = vocab(&loaded.architecture);
    let bias = (bart::FINAL_BIAS, vec![vocab], vec![0.0; vocab]);
    let has_bias = kind != TranslatorKind::M2M100;
    let padding = model.position_offset.saturating_sub(1);
    Ok(HfModel {
        kind: name,
        config: config_of_bart(kind, loaded, translator),
        names: vec![bart::NAMES],
        prefix: "model.",
        bare: &[bart::FINAL_BIAS],
        added: if has_bias && !translator.output.output_bias { vec![bias] } else { Vec::new() },
        rows: &[bart::FINAL_BIAS],
        computed: (kind == TranslatorKind::M2M100).then_some(SinusoidTable { padding }),
        permuted: model.positions == Positions::SinusoidalInterleaved,
        ..HfModel::default()
    })
}

fn config_of_bart(kind: TranslatorKind, loaded: &LoadedModel, translator: &Translator) -> Value {
    let model = &loaded.config.model;
    let vocab = vocab(&loaded.architecture);
    let (model_type, class) = match kind {
        TranslatorKind::Bart => ("bart", "BartForConditionalGeneration"),
        TranslatorKind::MBart => ("mbart", "MBartForConditionalGeneration"),
        TranslatorKind::M2M100 => ("m2m_100", "M2M100ForConditionalGeneration"),
        TranslatorKind::Marian | TranslatorKind::T5 => ("marian", "MarianMTModel"),
    };
    let mut config = json!({
        "model_type": model_type,
        "architectures": [class],
        "is_encoder_decoder": true,
        "vocab_size": vocab,
        "d_model": model.d_model,
        "encoder_layers": translator.encoder.n_encoder_layers,
        "decoder_layers": translator.decoder.n_decoder_layers,
        "encoder_attention_heads": model.n_heads,
        "decoder_attention_heads": model.decoder_heads(),
        "encoder_ffn_dim": model.d_ff,
        "decoder_ffn_dim": model.decoder_d_ff(),
        "max_position_embeddings": model.max_len,
        "activation_function": activation(model.activation),
        "dropout": model.dropout,
        "attention_dropout": model.attention_dropout,
        "activation_dropout": model.activation_dropout,
        "scale_embedding": model.scale_embeddings,
        "tie_word_embeddings": true,
    });
    if kind == TranslatorKind::Marian {
        config["decoder_vocab_size"] = vocab.into();
        config["static_position_embeddings"] = true.into();
        config["share_encoder_decoder_embeddings"] = true.into();
    }
    config
}

fn differences_from_t5(model: &ModelConfig, translator: &Translator) -> UnsupportedFeatures {
    let mut differences = UnsupportedFeatures::default();
    let output = translator.output;
    let ties = output.tie_embeddings.ties_output();
    for (equal, difference) in [
        (!model.has(StackKind::Recurrent), "recurrent layers"),
        (model.norm == NormKind::Rms, "`model.norm` is not `rms`"),
        (model.norm_position == NormPosition::Pre, "`model.norm_position` is not `pre`"),
        (model.positions == Positions::Relative, "`model.positions` is not `relative`"),
        (model.attention_scale == Some(1.0), "`model.attention_scale` is not 1"),
        (!model.attention_bias, "`model.attention_bias` is true"),
        (!model.has_attention_output_bias(), "`model.attention_output_bias` is true"),
        (!model.feed_forward_bias, "`model.feed_forward_bias` is true"),
        (!model.scale_embeddings, "`model.scale_embeddings` is true"),
        (!model.embedding_norm, "`model.embedding_norm` is true"),
        (feed_forward(model).is_some(), "T5 has no feed-forward networks with this `model.activation`"),
        (model.decoder_heads() == model.n_heads, "`model.n_decoder_heads` is not `n_heads`"),
        (model.decoder_d_ff() == model.d_ff, "`model.d_decoder_ff` is not `d_ff`"),
        (model.n_kv_heads.is_none_or(|n| n.get() == model.n_heads), "`model.n_kv_heads` is not `n_heads`"),
        (
            output.tie_embeddings != TieEmbeddings::Decoder && output.tie_embeddings.ties_inputs(),
            "both sides have their own embeddings",
        ),
        (!output.output_bias, "`model.output_bias` is true"),
        (
            output.logit_scale == 1.0 || ties && output.logit_scale == scale_of_t5(model),
            "`model.logit_scale` is not 1, or `d_model`^-0.5 with a tied output",
        ),
    ] {
        differences.unless(equal, difference);
    }
    differences
}

/// The factor of the last layer before a tied output.
fn scale_of_t5(model: &ModelConfig) -> f64 {
    (model.d_model as f64).powf(-0.5)
}

/// The value of `feed_forward_proj`, if there is one.
fn feed_forward(model: &ModelConfig) -> Option<&'static str> {
    match (model.feed_forward_gate, model.activation) {
        (false, ActivationKind::Relu) => Some("relu"),
        (true, ActivationKind::GeluTanh) => Some("gated-gelu"),
        (true, ActivationKind::Silu) => Some("gated-silu"),
        _ => None,
    }
}

/// True if the output is tied but not scaled, which version 4 of `transformers` knows only of separate tensors.
fn is_unscaled(translator: &Translator) -> bool {
    translator.output.tie_embeddings.ties_output() && translator.output.logit_scale == 1.0
}

fn config_of_t5(loaded: &LoadedModel, translator: &Translator) -> Value {
    let model = &loaded.config.model;
    let d_head = model.d_head.map_or(model.d_model / model.n_heads, std::num::NonZeroUsize::get);
    json!({
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "is_encoder_decoder": true,
        "vocab_size": vocab(&loaded.architecture),
        "d_model": model.d_model,
        "d_kv": d_head,
        "d_ff": model.d_ff,
        "num_layers": translator.encoder.n_encoder_layers,
        "num_decoder_layers": translator.decoder.n_decoder_layers,
        "num_heads": model.n_heads,
        "n_positions": model.max_len,
        "dropout_rate": model.dropout,
        "layer_norm_epsilon": model.norm_epsilon,
        "feed_forward_proj": feed_forward(model),
        "relative_attention_num_buckets": model.relative_buckets,
        "relative_attention_max_distance": model.relative_distance,
        // Version 4 scales the outputs if they are tied; version 5 reads the next key, and ties equal tensors.
        "tie_word_embeddings": translator.output.tie_embeddings.ties_output() && !is_unscaled(translator),
        "scale_decoder_outputs": translator.output.logit_scale != 1.0,
    })
}
