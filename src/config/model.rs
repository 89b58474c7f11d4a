//! `[model]`: the network and its variants.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::rotary::RotaryScalingConfig;
use crate::architecture::{
    ActivationKind, AttentionKind, CellKind, DropoutPosition, Init, LabelLayer, NormKind,
    NormPosition, Pooling, Positions, Task, TieEmbeddings,
};
use crate::error::Result;

/// `[model]`: the family and its variants. Keys that the chosen architecture does not use are refused, unless they have their
/// default value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The model directory from which training starts. The network, the tokenizer and the search are those of that model, except for
    /// the keys that are set; these may only differ in dropout, special tokens and `[decode]`. A masked language model may
    /// also become a classifier or a tagger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<PathBuf>,
    /// Patterns of names of parameters that training leaves as they are, as in `encoder.*`. `*` stands for any characters.
    pub freeze: Vec<String>,
    /// The family, which sets the defaults of `encoder` and `decoder`.
    pub family: Family,
    /// The encoder's stack; by default that of the family, which is recurrent for taggers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<StackKind>,
    /// The decoder's stack; by default that of the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoder: Option<StackKind>,
    /// Mixing of the positions in a Transformer decoder: self-attention or a recurrent cell.
    pub decoder_mixing: MixingKind,
    /// Width of the embeddings and of every sublayer's output.
    pub d_model: usize,
    /// Width of the feed-forward networks' inner layer.
    pub d_ff: usize,
    /// The same in the decoder, if it differs there; 0 for `d_ff`.
    pub d_decoder_ff: usize,
    /// Attention heads; they divide `d_model`, unless `d_head` is set.
    pub n_heads: usize,
    /// The same in the decoder, if it differs there; 0 for `n_heads`.
    pub n_decoder_heads: usize,
    /// Heads of keys and values, a divisor of the heads of each stack (Ainslie et al. 2023); 0 for as many as there are.
    pub n_kv_heads: usize,
    /// Width of a head; 0 for `d_model` divided by the heads.
    pub d_head: usize,
    /// Layers of the encoder.
    pub n_encoder_layers: usize,
    /// Layers of the decoder.
    pub n_decoder_layers: usize,
    /// The longest sequence that the model accepts, in tokens.
    pub max_len: usize,
    /// Dropout on embeddings and between layers; never on vectors that are read in place of tokens.
    ///
    /// In a Transformer, it acts on the sum of embedding and position and around each sublayer (see `dropout_position`). In
    /// recurrent stacks, it acts on the embedding, between layers, and on the input of the prediction: a decoder's readout
    /// t, or a tagger's last layer. It never acts on states within a layer, nor between a recurrent encoder and its decoder.
    pub dropout: f64,
    /// Dropout on the attention weights.
    pub attention_dropout: f64,
    /// Dropout after the feed-forward networks' activation.
    pub activation_dropout: f64,
    /// Position of dropout around a sublayer.
    pub dropout_position: DropoutPosition,
    /// Position of the norm around a sublayer.
    pub norm_position: NormPosition,
    /// Kind of norm.
    pub norm: NormKind,
    /// ε of the norms.
    pub norm_epsilon: f64,
    /// Whether the sum of embedding and position is normalized.
    pub embedding_norm: bool,
    /// Whether each stack ends with a norm; by default if `norm_position` is `pre`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_norm: Option<bool>,
    /// Activation function of the feed-forward networks.
    pub activation: ActivationKind,
    /// Multiplies the activation by a second linear map of the input (gated linear units, Shazeer 2020).
    pub feed_forward_gate: bool,
    /// Whether the maps of feed-forward networks have biases.
    pub feed_forward_bias: bool,
    /// Encoding of positions.
    pub positions: Positions,
    /// The row of position 0 in the table of learned positions.
    pub position_offset: usize,
    /// Base of the wavelengths of rotary positions.
    pub rotary_base: f64,
    /// A change of the frequencies of rotary positions for longer texts.
    pub rotary_scaling: RotaryScalingConfig,
    /// Number of distance buckets of relative positions.
    pub relative_buckets: usize,
    /// Distances from here on share the last bucket of relative positions.
    pub relative_distance: usize,
    /// Multiplies embeddings by √d_model (section 3.4 of the paper).
    pub scale_embeddings: bool,
    /// Sharing of embeddings and the output projection.
    pub tie_embeddings: TieEmbeddings,
    /// Whether the query, key, value and output projections of attention have biases.
    pub attention_bias: bool,
    /// Factor of the attention scores; by default 1/√d_head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention_scale: Option<f64>,
    /// Whether a linear map, the activation function and a norm come before the output projection of a masked language model, as in
    /// BERT (Devlin et al. 2019).
    pub output_transform: bool,
    /// Whether the output projection has a bias.
    pub output_bias: bool,
    /// Factor of the last layer before the output projection.
    pub logit_scale: f64,
    /// Reduction of a text to one vector, for classifiers and encoders alone.
    pub pooling: Pooling,
    /// A layer between a text's vector and the labels of a classifier: a linear map and this function.
    pub label_layer: LabelLayer,
    /// Whether a tagger reads words as the tokenizer divides them, with the tokens around a text, and labels each word at its first
    /// token. Otherwise each word is one token.
    pub word_pieces: bool,
    /// Whether the vector of an encoder alone is scaled to length 1.
    pub normalize_embeddings: bool,
    /// A token before every text that the encoder reads; by default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_first: Option<String>,
    /// A token after the end of every text that the encoder reads; by default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_last: Option<String>,
    /// The first token that the decoder reads, in training and decoding; by default `<s>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoder_start_token: Option<String>,
    /// Forced first token of every translation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced_bos_token: Option<String>,
    /// Forced last token of translations that reach the length limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced_eos_token: Option<String>,
    /// Tokens that are never generated; by default `<pad>` and `<s>`, and in language models all special tokens but `</s>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_tokens: Option<Vec<String>>,
    /// Tokens other than `</s>` that end a text of a language model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_eos_tokens: Option<Vec<String>>,
    /// Initialization of the weights.
    pub init: Init,
    /// Values of recurrent stacks.
    pub recurrent: RecurrentConfig,
}

impl ModelConfig {
    /// Refuses values out of range and values that contradict each other.
    ///
    /// # Errors
    /// [`crate::Error::Config`] for the first mistake.
    pub fn validate(&self) -> Result<()> {
        super::check::model(self)
    }
}

/// A kind of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Encoder and decoder of *Attention Is All You Need*.
    Transformer,
    /// A recurrent encoder and decoder (Sutskever et al. 2014), with attention if `recurrent.attention` says so.
    Seq2seq,
    /// The Transformer's decoder alone: a causal language model.
    DecoderOnly,
    /// The Transformer's encoder alone: a masked language model (Devlin et al. 2019).
    EncoderOnly,
    /// A label for each position.
    Tagger,
    /// A label for the whole text.
    Classifier,
    /// An encoder that predicts nothing: text vectors. It can be imported, but not trained.
    Encoder,
}

/// A kind of stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StackKind {
    /// Transformer layers.
    Transformer,
    /// Recurrent layers.
    Recurrent,
}

/// Mixing of the positions in a Transformer decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MixingKind {
    /// Causal self-attention.
    Attention,
    /// A tanh RNN.
    Rnn,
    /// An LSTM.
    Lstm,
    /// An LSTM with coupled gates.
    CoupledLstm,
    /// A GRU.
    Gru,
    /// A simpler simple recurrent unit (Kim et al. 2019).
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

    /// The default stacks of encoder and decoder; `None` for a missing one.
    fn stacks(self) -> [Option<StackKind>; 2] {
        let (transformer, recurrent) = (Some(StackKind::Transformer), Some(StackKind::Recurrent));
        match self {
            Self::Transformer => [transformer, transformer],
            Self::Seq2seq => [recurrent, recurrent],
            Self::DecoderOnly => [None, transformer],
            Self::EncoderOnly | Self::Classifier | Self::Encoder => [transformer, None],
            Self::Tagger => [recurrent, None],
        }
    }
}

impl ModelConfig {
    /// The encoder's stack; `None` for a family without one.
    pub fn encoder(&self) -> Option<StackKind> {
        let [encoder, _] = self.family.stacks();
        encoder.map(|default| self.encoder.unwrap_or(default))
    }

    /// The decoder's stack; `None` for a family without one.
    pub fn decoder(&self) -> Option<StackKind> {
        let [_, decoder] = self.family.stacks();
        decoder.map(|default| self.decoder.unwrap_or(default))
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecurrentConfig {
    /// The cell.
    pub cell: CellKind,
    /// Width of a layer's output.
    pub d_hidden: usize,
    /// Whether the encoder reads in both directions; each gives half of a layer's output.
    pub bidirectional: bool,
    /// Attention of the decoder to the source.
    pub attention: AttentionKind,
    /// Whether the decoder's prediction reads tanh(W \[s; c\]) of the top state s and, with attention, the context c; otherwise s,
    /// which needs `attention = "none"` and `d_hidden = d_model`.
    pub readout: bool,
    /// Width of the vectors that a tagger reads in place of tokens; 0 for tokens.
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
