//! Marian's names of our parameters. Its matrices are `[in, out]`, and its layers are counted from 1.

use crate::recipe::SourcePattern::{Extended, Filled, Same, Transposed};
use crate::recipe::{NEVER, NameMapping, names};

/// The names that all models have in common.
pub(super) const LAYERS: NameMapping = names! {
    "encoder.layers.{}.self_attention.query.weight" => Transposed("encoder_l{1}_self_Wq"),
    "encoder.layers.{}.self_attention.query.bias" => Same("encoder_l{1}_self_bq"),
    "encoder.layers.{}.self_attention.key.weight" => Transposed("encoder_l{1}_self_Wk"),
    "encoder.layers.{}.self_attention.key.bias" => Same("encoder_l{1}_self_bk"),
    "encoder.layers.{}.self_attention.value.weight" => Transposed("encoder_l{1}_self_Wv"),
    "encoder.layers.{}.self_attention.value.bias" => Same("encoder_l{1}_self_bv"),
    "encoder.layers.{}.self_attention.output.weight" => Transposed("encoder_l{1}_self_Wo"),
    "encoder.layers.{}.self_attention.output.bias" => Same("encoder_l{1}_self_bo"),
    "encoder.layers.{}.feed_forward.inner.weight" => Transposed("encoder_l{1}_ffn_W1"),
    "encoder.layers.{}.feed_forward.inner.bias" => Same("encoder_l{1}_ffn_b1"),
    "encoder.layers.{}.feed_forward.outer.weight" => Transposed("encoder_l{1}_ffn_W2"),
    "encoder.layers.{}.feed_forward.outer.bias" => Same("encoder_l{1}_ffn_b2"),
    "decoder.layers.{}.self_attention.query.weight" => Transposed("decoder_l{1}_self_Wq"),
    "decoder.layers.{}.self_attention.query.bias" => Same("decoder_l{1}_self_bq"),
    "decoder.layers.{}.self_attention.key.weight" => Transposed("decoder_l{1}_self_Wk"),
    "decoder.layers.{}.self_attention.key.bias" => Same("decoder_l{1}_self_bk"),
    "decoder.layers.{}.self_attention.value.weight" => Transposed("decoder_l{1}_self_Wv"),
    "decoder.layers.{}.self_attention.value.bias" => Same("decoder_l{1}_self_bv"),
    "decoder.layers.{}.self_attention.output.weight" => Transposed("decoder_l{1}_self_Wo"),
    "decoder.layers.{}.self_attention.output.bias" => Same("decoder_l{1}_self_bo"),
    "decoder.layers.{}.self_attention.forget.weight" => Transposed("decoder_l{1}_rnn_Wf"),
    "decoder.layers.{}.self_attention.forget.bias" => Same("decoder_l{1}_rnn_bf"),
    "decoder.layers.{}.self_attention.input.weight" => Transposed("decoder_l{1}_rnn_W"),
    "decoder.layers.{}.cross_attention.query.weight" => Transposed("decoder_l{1}_context_Wq"),
    "decoder.layers.{}.cross_attention.query.bias" => Same("decoder_l{1}_context_bq"),
    "decoder.layers.{}.cross_attention.key.weight" => Transposed("decoder_l{1}_context_Wk"),
    "decoder.layers.{}.cross_attention.key.bias" => Same("decoder_l{1}_context_bk"),
    "decoder.layers.{}.cross_attention.value.weight" => Transposed("decoder_l{1}_context_Wv"),
    "decoder.layers.{}.cross_attention.value.bias" => Same("decoder_l{1}_context_bv"),
    "decoder.layers.{}.cross_attention.output.weight" => Transposed("decoder_l{1}_context_Wo"),
    "decoder.layers.{}.cross_attention.output.bias" => Same("decoder_l{1}_context_bo"),
    "decoder.layers.{}.feed_forward.inner.weight" => Transposed("decoder_l{1}_ffn_W1"),
    "decoder.layers.{}.feed_forward.inner.bias" => Same("decoder_l{1}_ffn_b1"),
    "decoder.layers.{}.feed_forward.outer.weight" => Transposed("decoder_l{1}_ffn_W2"),
    "decoder.layers.{}.feed_forward.outer.bias" => Same("decoder_l{1}_ffn_b2"),
    "src.norm.gain" => Same("encoder_emb_ln_scale_pre"),
    "src.norm.bias" => Same("encoder_emb_ln_bias_pre"),
    "tgt.norm.gain" => Same("decoder_emb_ln_scale_pre"),
    "tgt.norm.bias" => Same("decoder_emb_ln_bias_pre"),
    "encoder.norm.gain" => Same("encoder_top_ln_scale"),
    "encoder.norm.bias" => Same("encoder_top_ln_bias"),
    "decoder.norm.gain" => Same("decoder_top_ln_scale"),
    "decoder.norm.bias" => Same("decoder_top_ln_bias"),
};

/// Norms after each sublayer.
pub(super) const POST_NORMS: NameMapping = names! {
    "encoder.layers.{}.self_attention_residual.norm.gain" => Same("encoder_l{1}_self_Wo_ln_scale"),
    "encoder.layers.{}.self_attention_residual.norm.bias" => Same("encoder_l{1}_self_Wo_ln_bias"),
    "encoder.layers.{}.feed_forward_residual.norm.gain" => Same("encoder_l{1}_ffn_ffn_ln_scale"),
    "encoder.layers.{}.feed_forward_residual.norm.bias" => Same("encoder_l{1}_ffn_ffn_ln_bias"),
    "decoder.layers.{}.cross_attention_residual.norm.gain" => Same("decoder_l{1}_context_Wo_ln_scale"),
    "decoder.layers.{}.cross_attention_residual.norm.bias" => Same("decoder_l{1}_context_Wo_ln_bias"),
    "decoder.layers.{}.feed_forward_residual.norm.gain" => Same("decoder_l{1}_ffn_ffn_ln_scale"),
    "decoder.layers.{}.feed_forward_residual.norm.bias" => Same("decoder_l{1}_ffn_ffn_ln_bias"),
};

/// Norms before each sublayer.
pub(super) const PRE_NORMS: NameMapping = names! {
    "encoder.layers.{}.self_attention_residual.norm.gain" => Same("encoder_l{1}_self_Wo_ln_scale_pre"),
    "encoder.layers.{}.self_attention_residual.norm.bias" => Same("encoder_l{1}_self_Wo_ln_bias_pre"),
    "encoder.layers.{}.feed_forward_residual.norm.gain" => Same("encoder_l{1}_ffn_ffn_ln_scale_pre"),
    "encoder.layers.{}.feed_forward_residual.norm.bias" => Same("encoder_l{1}_ffn_ffn_ln_bias_pre"),
    "decoder.layers.{}.cross_attention_residual.norm.gain" => Same("decoder_l{1}_context_Wo_ln_scale_pre"),
    "decoder.layers.{}.cross_attention_residual.norm.bias" => Same("decoder_l{1}_context_Wo_ln_bias_pre"),
    "decoder.layers.{}.feed_forward_residual.norm.gain" => Same("decoder_l{1}_ffn_ffn_ln_scale_pre"),
    "decoder.layers.{}.feed_forward_residual.norm.bias" => Same("decoder_l{1}_ffn_ffn_ln_bias_pre"),
};

/// Norms after self-attention in the decoder.
pub(super) const ATTENTION_POST_NORMS: NameMapping = names! {
    "decoder.layers.{}.self_attention_residual.norm.gain" => Same("decoder_l{1}_self_Wo_ln_scale"),
    "decoder.layers.{}.self_attention_residual.norm.bias" => Same("decoder_l{1}_self_Wo_ln_bias"),
};

/// Norms before self-attention in the decoder.
pub(super) const ATTENTION_PRE_NORMS: NameMapping = names! {
    "decoder.layers.{}.self_attention_residual.norm.gain" => Same("decoder_l{1}_self_Wo_ln_scale_pre"),
    "decoder.layers.{}.self_attention_residual.norm.bias" => Same("decoder_l{1}_self_Wo_ln_bias_pre"),
};

/// Norms after the recurrent cell.
pub(super) const CELL_POST_NORMS: NameMapping = names! {
    "decoder.layers.{}.self_attention_residual.norm.gain" => Same("decoder_l{1}_rnn_ffn_ln_scale"),
    "decoder.layers.{}.self_attention_residual.norm.bias" => Same("decoder_l{1}_rnn_ffn_ln_bias"),
};

/// Norms before the recurrent cell.
pub(super) const CELL_PRE_NORMS: NameMapping = names! {
    "decoder.layers.{}.self_attention_residual.norm.gain" => Same("decoder_l{1}_rnn_ln_scale_pre"),
    "decoder.layers.{}.self_attention_residual.norm.bias" => Same("decoder_l{1}_rnn_ln_bias_pre"),
};

/// One table of embeddings for both sides.
pub(super) const SHARED_EMBEDDINGS: NameMapping = names! {
    "src.embedding.weight" => Extended(&Same("Wemb"), 0.0),
};

/// A table of embeddings for each side.
pub(super) const EMBEDDINGS: NameMapping = names! {
    "src.embedding.weight" => Extended(&Same("encoder_Wemb"), 0.0),
    "tgt.embedding.weight" => Extended(&Same("decoder_Wemb"), 0.0),
};

/// The output projection.
pub(super) const OUTPUT: NameMapping = names! {
    "head.weight" => Extended(&Same("decoder_ff_logit_out_Wt"), 0.0),
};

/// The output projection of early versions.
pub(super) const EARLY_OUTPUT: NameMapping = names! {
    "head.weight" => Extended(&Transposed("decoder_ff_logit_out_W"), 0.0),
};

/// The bias of the output projection.
pub(super) const OUTPUT_BIAS: NameMapping = names! {
    "head.bias" => Extended(&Same("decoder_ff_logit_out_b"), NEVER),
};

/// The output bias of a model without one.
pub(super) const NO_OUTPUT_BIAS: NameMapping = names! {
    "head.bias" => Extended(&Filled(0.0), NEVER),
};
