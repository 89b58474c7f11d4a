//! `[model]`: the network and its variants.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use attentive_architecture::{
    ActivationKind, CellKind, DropoutPosition, Init, NormKind, NormPosition, Positions, RotaryScaling,
};
use attentive_base::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::MIN_LEN;
use super::family::{
    DecoderConfig, EncoderConfig, FamilyConfig, MixingKind, StackKind, Translator, unless_zero,
};

/// `[model]`: the family and its variants. Keys that the chosen architecture does not use are refused, unless
/// they have their default value.
///
/// A [`Config`](crate::Config) reads and writes it; by itself, it has dotted names for the keys of
/// `[model.recurrent]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelConfig {
    /// The base model: the directory of a model from which training starts. The keys of `[model]`,
    /// `[tokenizer]` and `[decode]` are those of the base model unless they are set, and only dropout,
    /// special tokens and `[decode]` may differ. A masked language model may also become a classifier or a
    /// tagger. A relative path starts at the working directory.
    #[schemars(extend("examples" = ["runs/multi30k"], "x-also" = "pretrained_model finetune_from_model"))]
    pub from: Option<PathBuf>,
    /// The parameters that training leaves as they are, as patterns of their names. `*` stands for any
    /// characters. `attentive info` lists the names.
    #[schemars(extend("examples" = [["encoder.*"]]))]
    pub freeze: Vec<String>,
    /// The kind of model, and the keys that not all kinds have.
    #[serde(flatten)]
    pub family: FamilyConfig,
    /// The width of embeddings and of the output of every sublayer. Wider models learn more but are slower.
    #[schemars(range(min = 2, max = 1 << 16))]
    #[schemars(extend(
        "x-also" = "hidden_size dim d_hidden emb_dim embed_dim width dim_emb encoder_embed_dim"
    ))]
    pub d_model: usize,
    /// The width of the inner layer of the feed-forward networks, usually 2 to 4 times `model.d_model`.
    #[schemars(range(min = 1, max = 1 << 18))]
    #[schemars(extend(
        "x-also" = "ffn_dim intermediate_size dim_feedforward ffn transformer_dim_ffn encoder_ffn_embed_dim",
        "x-needs" = "transformer"
    ))]
    pub d_ff: usize,
    /// The number of attention heads. It divides `model.d_model`, unless `model.d_head` is set.
    #[schemars(range(min = 1, max = 1 << 16))]
    #[schemars(extend(
        "x-also" = "num_heads heads nhead attention_heads transformer_heads encoder_attention_heads",
        "x-needs" = "transformer multi_head_attention"
    ))]
    pub n_heads: usize,
    /// The number of heads of keys and values (grouped-query attention, Ainslie et al. 2023). It divides the
    /// number of heads of each stack. By default, or if it is 0, there are as many as there are heads.
    #[serde(deserialize_with = "unless_zero")]
    #[schemars(range(min = 0), extend("examples" = [2]))]
    #[schemars(extend(
        "x-also" = "num_key_value_heads kv_heads",
        "x-needs" = "transformer multi_head_attention"
    ))]
    pub n_kv_heads: Option<NonZeroUsize>,
    /// The width of an attention head. By default, or if it is 0, it is `model.d_model` divided by the number
    /// of heads.
    #[serde(deserialize_with = "unless_zero")]
    #[schemars(range(min = 0, max = 1 << 16), extend("examples" = [64]))]
    #[schemars(extend("x-needs" = "transformer multi_head_attention"))]
    pub d_head: Option<NonZeroUsize>,
    /// The longest sequence that the model accepts, in tokens.
    #[schemars(range(min = MIN_LEN, max = 1 << 20))]
    #[schemars(extend("x-also" = "max_position_embeddings max_seq_len context context_length block_size"))]
    pub max_len: usize,
    /// The dropout rate of embeddings and between layers. Raise it, for example to 0.3, if there is little
    /// training text. A Transformer stack applies it to the sum of embedding and position and around each
    /// sublayer (see `model.dropout_position`); a recurrent stack to the embedding, between layers, and to
    /// the input of the prediction, but not to states within a layer. Vectors that a tagger reads in place of
    /// tokens have no dropout.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1, "x-also" = "transformer_dropout"))]
    pub dropout: f64,
    /// The dropout rate of attention weights.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    #[schemars(extend(
        "x-also" = "transformer_dropout_attention",
        "x-needs" = "transformer multi_head_attention"
    ))]
    pub attention_dropout: f64,
    /// The dropout rate after the activation of the feed-forward networks.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    #[schemars(extend("x-also" = "transformer_dropout_ffn", "x-needs" = "transformer"))]
    pub activation_dropout: f64,
    /// Where dropout is applied around a sublayer.
    #[schemars(extend("x-needs" = "transformer"))]
    pub dropout_position: DropoutPosition,
    /// Where the norm is applied around a sublayer.
    #[schemars(extend(
        "x-also" = "pre_norm prenorm norm_first normalize_before encoder_normalize_before layer_norm",
        "x-needs" = "transformer"
    ))]
    pub norm_position: NormPosition,
    /// The kind of norm.
    #[schemars(extend("x-needs" = "transformer_or_embedding_norm"))]
    pub norm: NormKind,
    /// The ε of the norms, which avoids a division by zero.
    #[schemars(extend("exclusiveMinimum" = 0, "x-needs" = "transformer_or_embedding_norm"))]
    pub norm_epsilon: f64,
    /// Whether to normalize the sum of embedding and position.
    pub embedding_norm: bool,
    /// Whether each stack ends with a norm. By default, it does if `model.norm_position` is `pre`.
    #[schemars(extend("examples" = [true], "x-needs" = "transformer"))]
    pub final_norm: Option<bool>,
    /// The activation function of the feed-forward networks.
    #[schemars(extend("x-needs" = "transformer"))]
    pub activation: ActivationKind,
    /// Whether the activation is multiplied by a second linear map of the input (gated linear units, Shazeer
    /// 2020).
    #[schemars(extend("x-needs" = "transformer"))]
    pub feed_forward_gate: bool,
    /// Whether the linear maps of the feed-forward networks have biases.
    #[schemars(extend("x-needs" = "transformer"))]
    pub feed_forward_bias: bool,
    /// The way in which Transformer layers learn about positions.
    #[schemars(extend(
        "x-also" = "position_encoding positional_encoding pos_encoding pe",
        "x-needs" = "transformer positions_in_self_attention"
    ))]
    pub positions: Positions,
    /// The row of the first position in the table of learned positions. Imported models may need it;
    /// otherwise leave it at 0.
    #[schemars(range(min = 0, max = 1 << 16), extend("x-needs" = "transformer learned_positions"))]
    pub position_offset: usize,
    /// The base of the wavelengths of rotary positions.
    #[schemars(extend("exclusiveMinimum" = 0, "x-needs" = "transformer rotary_positions"))]
    pub rotary_base: f64,
    /// A change of the frequencies of rotary positions, for texts longer than those of training.
    pub rotary_scaling: RotaryScaling,
    /// The number of buckets of distances for relative positions.
    #[schemars(range(min = 4, max = 1 << 16), extend("multipleOf" = 4))]
    #[schemars(extend("x-needs" = "transformer relative_positions"))]
    pub relative_buckets: usize,
    /// The distance from which on all distances share the last bucket of relative positions. It must be at
    /// least `model.relative_buckets`.
    #[schemars(range(min = 0, max = 1 << 20), extend("x-needs" = "transformer relative_positions"))]
    pub relative_distance: usize,
    /// Whether embeddings are multiplied by √d_model (*Attention Is All You Need*, section 3.4).
    #[schemars(extend("x-needs" = "tokens"))]
    pub scale_embeddings: bool,
    /// Whether the query, key and value projections of attention have biases; by default, also the output
    /// projection.
    #[schemars(extend("x-needs" = "transformer multi_head_attention"))]
    pub attention_bias: bool,
    /// Whether the output projection of attention has a bias. By default, it is `model.attention_bias`.
    #[schemars(extend("examples" = [true], "x-needs" = "transformer multi_head_attention"))]
    pub attention_output_bias: Option<bool>,
    /// The factor of attention scores. By default, it is 1/√(width of a head).
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [0.125]))]
    #[schemars(extend("x-needs" = "transformer multi_head_attention"))]
    pub attention_scale: Option<f64>,
    /// The distribution from which the initial weights are drawn.
    pub init: Init,
    /// The keys of all recurrent layers.
    #[serde(flatten)]
    pub recurrent: RecurrentConfig,
}

impl ModelConfig {
    /// Refuses values out of range and values that contradict each other.
    ///
    /// # Errors
    /// [`attentive_base::Error::Config`] for the first mistake.
    pub fn validate(&self) -> Result<()> {
        super::check::model(self)
    }
}

impl ModelConfig {
    /// Whether the model contains a stack of `kind`.
    pub fn has(&self, kind: StackKind) -> bool {
        let encoder = self.family.encoder().map(|encoder| encoder.stack);
        let decoder = self.family.decoder().map(|decoder| decoder.stack);
        [encoder, decoder].contains(&Some(kind))
    }

    /// Whether any layer has multi-head attention: self-attention, or a Transformer decoder's attention to
    /// the source.
    pub(super) fn attends(&self) -> bool {
        let translator = self.family.translator();
        let reads_source = |decoder: &DecoderConfig| decoder.stack == StackKind::Transformer;
        self.self_attends() || translator.is_some_and(|keys| reads_source(&keys.decoder))
    }

    /// Whether any layer has self-attention.
    pub(super) fn self_attends(&self) -> bool {
        let encodes = |encoder: &EncoderConfig| encoder.stack == StackKind::Transformer;
        let decodes = |decoder: &DecoderConfig| {
            decoder.stack == StackKind::Transformer && decoder.decoder_mixing == MixingKind::Attention
        };
        self.family.encoder().is_some_and(encodes) || self.family.decoder().is_some_and(decodes)
    }
}

/// The keys of `[model.recurrent]` for recurrent layers in encoders and decoders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecurrentConfig {
    /// The kind of recurrent cell.
    #[serde(rename = "recurrent.cell")]
    #[schemars(extend("x-needs" = "recurrent"))]
    pub cell: CellKind,
    /// The width of a layer's output. A bidirectional encoder needs an even number.
    #[serde(rename = "recurrent.d_hidden")]
    #[schemars(range(min = 1, max = 1 << 16), extend("x-needs" = "recurrent"))]
    pub d_hidden: usize,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            from: None,
            freeze: Vec::new(),
            family: FamilyConfig::Transformer(Translator::default()),
            d_model: 256,
            d_ff: 1024,
            n_heads: 4,
            n_kv_heads: None,
            d_head: None,
            max_len: 512,
            dropout: 0.1,
            attention_dropout: 0.0,
            activation_dropout: 0.0,
            dropout_position: DropoutPosition::Sublayer,
            norm_position: NormPosition::Post,
            norm: NormKind::Layer,
            norm_epsilon: 1e-5,
            embedding_norm: false,
            final_norm: None,
            activation: ActivationKind::Relu,
            feed_forward_gate: false,
            feed_forward_bias: true,
            positions: Positions::SinusoidalInterleaved,
            position_offset: 0,
            rotary_base: 10_000.0,
            rotary_scaling: RotaryScaling::default(),
            relative_buckets: 32,
            relative_distance: 128,
            scale_embeddings: true,
            attention_bias: true,
            attention_output_bias: None,
            attention_scale: None,
            init: Init::XavierUniform,
            recurrent: RecurrentConfig::default(),
        }
    }
}

impl Default for RecurrentConfig {
    fn default() -> Self {
        Self { cell: CellKind::Lstm, d_hidden: 256 }
    }
}
