//! `[model]`: the network and its variants.

use std::path::PathBuf;

use attentive_architecture::{
    ActivationKind, AttentionKind, Body, CellKind, DropoutPosition, Init, LabelLayer, NormKind,
    NormPosition, Pooling, Positions, Task, TieEmbeddings,
};
use attentive_base::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::MIN_LEN;
use super::rotary::RotaryScalingConfig;

/// `[model]`: the family and its variants. Keys that the chosen architecture does not use are refused, unless they have their
/// default value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The base model: the directory of a model from which training starts. The keys of `[model]`, `[tokenizer]` and `[decode]` are
    /// those of the base model unless they are set, and only dropout, special tokens and `[decode]` may differ. A masked language
    /// model may also become a classifier or a tagger. A relative path starts at the working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["runs/multi30k"]))]
    pub from: Option<PathBuf>,
    /// The parameters that training leaves as they are, as patterns of their names. `*` stands for any characters. `attentive info`
    /// lists the names.
    #[schemars(extend("examples" = [["encoder.*"]]))]
    pub freeze: Vec<String>,
    /// The kind of model. It also sets which stacks the encoder and the decoder have by default.
    pub family: Family,
    /// The kind of layers in the encoder. By default, it is that of the family; taggers have a recurrent encoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["transformer"]))]
    pub encoder: Option<StackKind>,
    /// The kind of layers in the decoder. By default, it is that of the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["recurrent"]))]
    pub decoder: Option<StackKind>,
    /// How a Transformer decoder combines the positions of the target: by self-attention or by a recurrent cell in its place.
    pub decoder_mixing: MixingKind,
    /// The width of embeddings and of the output of every sublayer. Wider models learn more but are slower.
    #[schemars(range(min = 2, max = 1 << 16))]
    pub d_model: usize,
    /// The width of the inner layer of the feed-forward networks, usually 2 to 4 times `model.d_model`.
    #[schemars(range(min = 1, max = 1 << 18))]
    pub d_ff: usize,
    /// The width of the inner layer of the decoder's feed-forward networks; 0 for `model.d_ff`.
    #[schemars(range(min = 0, max = 1 << 18))]
    pub d_decoder_ff: usize,
    /// The number of attention heads. It divides `model.d_model`, unless `model.d_head` is set.
    #[schemars(range(min = 1, max = 1 << 16))]
    pub n_heads: usize,
    /// The number of attention heads in the decoder; 0 for `model.n_heads`.
    #[schemars(range(min = 0, max = 1 << 16))]
    pub n_decoder_heads: usize,
    /// The number of heads of keys and values (grouped-query attention, Ainslie et al. 2023). It divides the number of heads of each
    /// stack; 0 for as many as there are heads.
    pub n_kv_heads: usize,
    /// The width of an attention head; 0 for `model.d_model` divided by the number of heads.
    #[schemars(range(min = 0, max = 1 << 16))]
    pub d_head: usize,
    /// The number of layers in the encoder.
    #[schemars(range(min = 1, max = 1000))]
    pub n_encoder_layers: usize,
    /// The number of layers in the decoder.
    #[schemars(range(min = 1, max = 1000))]
    pub n_decoder_layers: usize,
    /// The longest sequence that the model accepts, in tokens.
    #[schemars(range(min = MIN_LEN, max = 1 << 20))]
    pub max_len: usize,
    /// The dropout rate of embeddings and between layers. Raise it, for example to 0.3, if there is little training text. A
    /// Transformer stack applies it to the sum of embedding and position and around each sublayer (see `model.dropout_position`); a
    /// recurrent stack to the embedding, between layers, and to the input of the prediction, but not to states within a layer.
    /// Vectors that a tagger reads in place of tokens have no dropout.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub dropout: f64,
    /// The dropout rate of attention weights.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub attention_dropout: f64,
    /// The dropout rate after the activation of the feed-forward networks.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub activation_dropout: f64,
    /// Where dropout is applied around a sublayer.
    pub dropout_position: DropoutPosition,
    /// Where the norm is applied around a sublayer.
    pub norm_position: NormPosition,
    /// The kind of norm.
    pub norm: NormKind,
    /// The ε of the norms, which avoids a division by zero.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub norm_epsilon: f64,
    /// Whether to normalize the sum of embedding and position.
    pub embedding_norm: bool,
    /// Whether each stack ends with a norm. By default, it does if `model.norm_position` is `pre`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [true]))]
    pub final_norm: Option<bool>,
    /// The activation function of the feed-forward networks.
    pub activation: ActivationKind,
    /// Whether the activation is multiplied by a second linear map of the input (gated linear units, Shazeer 2020).
    pub feed_forward_gate: bool,
    /// Whether the linear maps of the feed-forward networks have biases.
    pub feed_forward_bias: bool,
    /// How Transformer layers learn about positions.
    pub positions: Positions,
    /// The row of the first position in the table of learned positions. Imported models may need it; otherwise leave it at 0.
    #[schemars(range(min = 0, max = 1 << 16))]
    pub position_offset: usize,
    /// The base of the wavelengths of rotary positions.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rotary_base: f64,
    /// A change of the frequencies of rotary positions, for texts longer than those of training.
    pub rotary_scaling: RotaryScalingConfig,
    /// The number of buckets of distances for relative positions.
    #[schemars(range(min = 4, max = 1 << 16), extend("multipleOf" = 4))]
    pub relative_buckets: usize,
    /// The distance from which on all distances share the last bucket of relative positions. It must be at least
    /// `model.relative_buckets`.
    #[schemars(range(min = 0, max = 1 << 20))]
    pub relative_distance: usize,
    /// Whether embeddings are multiplied by √d_model (*Attention Is All You Need*, section 3.4).
    pub scale_embeddings: bool,
    /// Which of the embeddings and the output projection are the same matrix. Sharing saves parameters.
    pub tie_embeddings: TieEmbeddings,
    /// Whether the query, key, value and output projections of attention have biases.
    pub attention_bias: bool,
    /// The factor of attention scores. By default, it is 1/√(width of a head).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [0.125]))]
    pub attention_scale: Option<f64>,
    /// Whether a linear map, the activation function and a norm come before the output projection of a masked language model, as in
    /// BERT (Devlin et al. 2019).
    pub output_transform: bool,
    /// Whether the output projection has a bias.
    pub output_bias: bool,
    /// The factor of the last layer's output before the output projection.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub logit_scale: f64,
    /// How the vectors of all positions are reduced to one vector of the text, in classifiers and in models of the family `encoder`.
    pub pooling: Pooling,
    /// The layer between a text's vector and the labels of a classifier.
    pub label_layer: LabelLayer,
    /// Whether a tagger reads subwords and labels each word at its first subword. Otherwise, each word is one token. With
    /// `model.from`, it follows the tokenizer of the base model.
    pub word_pieces: bool,
    /// Whether the vector of a text is scaled to length 1, in models of the family `encoder`.
    pub normalize_embeddings: bool,
    /// A token before every text that the encoder reads. By default, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["<s>"]))]
    pub source_first: Option<String>,
    /// A token after every text that the encoder reads. By default, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["</s>"]))]
    pub source_last: Option<String>,
    /// The first token that the decoder reads, in training and in decoding. By default, it is `<s>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["</s>"]))]
    pub decoder_start_token: Option<String>,
    /// A token with which every translation must begin, such as the code of a language. By default, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["<s>"]))]
    pub forced_bos_token: Option<String>,
    /// A token with which translations that reach the length limit must end. By default, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["</s>"]))]
    pub forced_eos_token: Option<String>,
    /// The tokens that are never generated. By default, they are `<pad>` and `<s>`, and in language models all special tokens except
    /// `</s>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [["<pad>", "<unk>"]]))]
    pub suppress_tokens: Option<Vec<String>>,
    /// Further tokens, besides `</s>`, that end a text of a language model. By default, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [["<|im_end|>"]]))]
    pub extra_eos_tokens: Option<Vec<String>>,
    /// The distribution from which the initial weights are drawn.
    pub init: Init,
    /// Recurrent layers.
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

/// A kind of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Translates with the encoder and decoder of *Attention Is All You Need*.
    Transformer,
    /// Translates with a recurrent encoder and decoder (Sutskever et al. 2014). The decoder has attention, unless
    /// `model.recurrent.attention` is `none`.
    Seq2seq,
    /// A causal language model: the decoder of a Transformer. It continues texts.
    DecoderOnly,
    /// A masked language model: the encoder of a Transformer (Devlin et al. 2019). It fills gaps in texts.
    EncoderOnly,
    /// Gives each token a label.
    Tagger,
    /// Gives the whole text a label.
    Classifier,
    /// Computes vectors of texts. Such a model can be imported but not trained.
    Encoder,
}

/// A kind of stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StackKind {
    /// Transformer layers.
    Transformer,
    /// Recurrent layers; see `model.recurrent`.
    Recurrent,
}

/// Mixing of the positions in a Transformer decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MixingKind {
    /// Causal self-attention.
    Attention,
    /// A recurrent network with tanh.
    Rnn,
    /// Long short-term memory (LSTM).
    Lstm,
    /// An LSTM with coupled input and forget gates.
    CoupledLstm,
    /// Gated recurrent units (GRU).
    Gru,
    /// Simpler simple recurrent units (Kim et al. 2019). They decode fastest.
    Ssru,
}

impl Family {
    /// The task of the family.
    pub fn task(self) -> Task {
        match self {
            Self::Transformer | Self::Seq2seq => Task::Translate,
            Self::DecoderOnly => Task::Generate,
            Self::EncoderOnly => Task::Fill,
            Self::Tagger => Task::Tag,
            Self::Classifier => Task::Classify,
            Self::Encoder => Task::Embed,
        }
    }

    /// The default stacks.
    fn stacks(self) -> Body<StackKind, StackKind> {
        use StackKind::{Recurrent, Transformer};
        match self {
            Self::Transformer => Body::EncoderDecoder(Transformer, Transformer),
            Self::Seq2seq => Body::EncoderDecoder(Recurrent, Recurrent),
            Self::DecoderOnly => Body::Decoder(Transformer),
            Self::EncoderOnly | Self::Classifier | Self::Encoder => Body::Encoder(Transformer),
            Self::Tagger => Body::Encoder(Recurrent),
        }
    }
}

impl ModelConfig {
    /// The stacks.
    pub fn body(&self) -> Body<StackKind, StackKind> {
        let own = |own: Option<StackKind>| move |default| own.unwrap_or(default);
        self.family
            .stacks()
            .map(own(self.encoder), own(self.decoder))
    }

    /// The encoder's stack; `None` for a family without one.
    pub fn encoder(&self) -> Option<StackKind> {
        self.body().encoder().copied()
    }

    /// The decoder's stack; `None` for a family without one.
    pub fn decoder(&self) -> Option<StackKind> {
        self.body().decoder().copied()
    }

    /// Whether the model contains a stack of `kind`.
    pub fn has(&self, kind: StackKind) -> bool {
        [self.encoder(), self.decoder()].contains(&Some(kind))
    }

    /// Whether any layer has multi-head attention: self-attention, or a Transformer decoder's attention to the source.
    pub(super) fn attends(&self) -> bool {
        let reads_source = self.encoder().is_some();
        self.self_attends() || reads_source && self.decoder() == Some(StackKind::Transformer)
    }

    /// Whether any layer has self-attention.
    pub(super) fn self_attends(&self) -> bool {
        let transformer = Some(StackKind::Transformer);
        let mixes = self.decoder_mixing == MixingKind::Attention;
        self.encoder() == transformer || mixes && self.decoder() == transformer
    }
}

/// `[model.recurrent]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecurrentConfig {
    /// The kind of recurrent cell.
    pub cell: CellKind,
    /// The width of a layer's output. A bidirectional encoder needs an even number.
    #[schemars(range(min = 1, max = 1 << 16))]
    pub d_hidden: usize,
    /// Whether the encoder reads the text in both directions. Each direction gives half of a layer's output.
    pub bidirectional: bool,
    /// How the decoder attends to the source.
    pub attention: AttentionKind,
    /// Whether the prediction reads tanh(W \[s; c\]), where s is the decoder's top state and c is the context of attention.
    /// Otherwise it reads s, which needs `attention = "none"` and `d_hidden` equal to `model.d_model`.
    pub readout: bool,
    /// The width of the vectors that a tagger reads in place of tokens; 0 for tokens. A Transformer encoder needs vectors of the width
    /// `model.d_model`.
    #[schemars(range(min = 0, max = 1 << 16))]
    pub d_input: usize,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            from: None,
            freeze: Vec::new(),
            family: Family::Transformer,
            encoder: None,
            decoder: None,
            decoder_mixing: MixingKind::Attention,
            d_model: 256,
            d_ff: 1024,
            d_decoder_ff: 0,
            n_heads: 4,
            n_decoder_heads: 0,
            n_kv_heads: 0,
            d_head: 0,
            n_encoder_layers: 3,
            n_decoder_layers: 3,
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
            rotary_scaling: RotaryScalingConfig::default(),
            relative_buckets: 32,
            relative_distance: 128,
            scale_embeddings: true,
            tie_embeddings: TieEmbeddings::All,
            attention_bias: true,
            attention_scale: None,
            output_transform: false,
            output_bias: false,
            logit_scale: 1.0,
            pooling: Pooling::Mean,
            label_layer: LabelLayer::None,
            word_pieces: false,
            normalize_embeddings: false,
            source_first: None,
            source_last: None,
            decoder_start_token: None,
            forced_bos_token: None,
            forced_eos_token: None,
            suppress_tokens: None,
            extra_eos_tokens: None,
            init: Init::XavierUniform,
            recurrent: RecurrentConfig::default(),
        }
    }
}

impl Default for RecurrentConfig {
    fn default() -> Self {
        Self {
            cell: CellKind::Lstm,
            d_hidden: 256,
            bidirectional: true,
            attention: AttentionKind::Additive,
            readout: true,
            d_input: 0,
        }
    }
}
