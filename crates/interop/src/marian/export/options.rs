//! The options that Marian stores with a model.

use attentive_architecture::{ActivationKind, NormPosition, TieEmbeddings};
use attentive_config::{CellKind, MixingKind, ModelConfig, Translator};

/// The version of Marian whose options are written.
const VERSION: &str = "v1.12.0";

/// Returns the options of a model with vocabularies of these sizes, in YAML.
pub(super) fn options(model: &ModelConfig, translator: &Translator, [src, tgt]: [usize; 2]) -> String {
    let (encoder, decoder) = (&translator.encoder, &translator.decoder);
    let (before, after) = match model.norm_position {
        NormPosition::Post => ("", "dan"),
        NormPosition::Pre => ("n", "da"),
    };
    let norm = |is_there: bool| if is_there { "n" } else { "" };
    let (mixing, cell) = match decoder.decoder_mixing {
        MixingKind::Recurrent(CellKind::Ssru) => ("rnn", "ssru"),
        _ => ("self-attention", "gru"),
    };
    let activation = match model.activation {
        ActivationKind::Relu => "relu",
        _ => "swish",
    };
    let alignment_layer = translator.alignment_layer.map_or("last".to_owned(), |layer| layer.to_string());
    let tie = translator.output.tie_embeddings;
    let is = |these: &[TieEmbeddings]| these.contains(&tie).to_string();
    let top = model.final_norm.unwrap_or(model.norm_position == NormPosition::Pre);
    let lines = [
        ("type", "transformer".to_owned()),
        ("version", VERSION.to_owned()),
        ("dim-vocabs", format!("[{src}, {tgt}]")),
        ("dim-emb", model.d_model.to_string()),
        ("enc-depth", encoder.n_encoder_layers.to_string()),
        ("dec-depth", decoder.n_decoder_layers.to_string()),
        ("dec-cell", cell.to_owned()),
        ("dec-cell-base-depth", "2".to_owned()),
        ("dec-cell-high-depth", "1".to_owned()),
        ("tied-embeddings", is(&[TieEmbeddings::Decoder])),
        ("tied-embeddings-src", is(&[TieEmbeddings::Inputs])),
        ("tied-embeddings-all", is(&[TieEmbeddings::All])),
        ("transformer-heads", model.n_heads.to_string()),
        ("transformer-dim-ffn", model.d_ff.to_string()),
        ("transformer-ffn-depth", "2".to_owned()),
        ("transformer-ffn-activation", activation.to_owned()),
        ("transformer-decoder-autoreg", mixing.to_owned()),
        ("transformer-preprocess", format!("\"{before}\"")),
        ("transformer-postprocess", format!("\"{after}\"")),
        ("transformer-postprocess-emb", format!("\"d{}\"", norm(model.embedding_norm))),
        ("transformer-postprocess-top", format!("\"{}\"", norm(top))),
        ("transformer-train-position-embeddings", "false".to_owned()),
        ("transformer-guided-alignment-layer", alignment_layer),
    ];
    let line = |(key, value): (&str, String)| format!("{key}: {value}\n");
    lines.into_iter().map(line).collect()
}
