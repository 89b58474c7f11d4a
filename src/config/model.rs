//! `[model]`: the network and its variants.

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// `[model]`: which family, and the values that make its variants. Keys that a family has no use for are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Which family.
    pub family: Family,
    /// Width of the embeddings and of every sublayer's output.
    pub d_model: usize,
    /// Width of the feed-forward networks' inner layer.
    pub d_ff: usize,
    /// Attention heads; they divide `d_model`.
    pub n_heads: usize,
    /// Layers of the encoder.
    pub n_encoder_layers: usize,
    /// Layers of the decoder.
    pub n_decoder_layers: usize,
    /// The longest sequence that the model accepts, in tokens.
    pub max_len: usize,
    /// Dropout on what embeddings give, and between layers; never on vectors that a tagger reads in place of tokens.
    ///
    /// In a Transformer that is: on the sum of embedding and position, and around each sublayer, where `dropout_position`
    /// says. In recurrent families: on the embedding, on what a layer hands to the next, and on what the prediction is made
    /// of: a decoder's readout t, and a tagger's last layer. Nothing is dropped of what passes through time, nor of
    /// what a recurrent encoder hands to its decoder.
    pub dropout: f64,
    /// Dropout on the attention weights.
    pub attention_dropout: f64,
    /// Dropout after the feed-forward networks' activation.
    pub activation_dropout: f64,
    /// Where dropout acts around a sublayer.
    pub dropout_position: DropoutPosition,
    /// Where the norm stands around a sublayer.
    pub norm_position: NormPosition,
    /// Which norm.
    pub norm: NormKind,
    /// The feed-forward networks' non-linearity.
    pub activation: ActivationKind,
    /// How a position is told to the model.
    pub positions: Positions,
    /// Multiplies embeddings by √d_model (section 3.4 of the paper).
    pub scale_embeddings: bool,
    /// Which embeddings and projections are one matrix.
    pub tie_embeddings: TieEmbeddings,
    /// Gives the query, key, value and output projections of attention a bias.
    pub attention_bias: bool,
    /// Gives the output projection a bias.
    pub output_bias: bool,
    /// How weights start.
    pub init: Init,
    /// What recurrent families have besides.
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

/// Which network.
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
    /// A recurrent network that gives each position a label.
    Tagger,
}

/// What a family does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Puts one sequence into another.
    Translate,
    /// Continues a text.
    Generate,
    /// Fills gaps in a text.
    Fill,
    /// Labels every position.
    Tag,
    /// Labels a whole text.
    Classify,
}

impl Task {
    /// What a model for it does, as messages say it.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Translate => "translates",
            Self::Generate => "continues texts",
            Self::Fill => "fills gaps",
            Self::Tag => "labels tokens",
            Self::Classify => "labels texts",
        }
    }
}

impl Family {
    /// What it does.
    pub fn task(self) -> Task {
        match self {
            Self::Transformer | Self::Seq2seq => Task::Translate,
            Self::DecoderOnly => Task::Generate,
            Self::EncoderOnly => Task::Fill,
            Self::Tagger => Task::Tag,
        }
    }

    /// Whether it has an encoder of texts.
    pub fn has_encoder(self) -> bool {
        matches!(self, Self::Transformer | Self::Seq2seq | Self::EncoderOnly)
    }

    /// Whether its layers are recurrent.
    pub fn is_recurrent(self) -> bool {
        matches!(self, Self::Seq2seq | Self::Tagger)
    }
}

/// `[model.recurrent]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecurrentConfig {
    /// Which cell.
    pub cell: CellKind,
    /// Width of a layer's output.
    pub d_hidden: usize,
    /// Lets the encoder, or the tagger, read from both ends: each direction gives half of a layer's output.
    pub bidirectional: bool,
    /// How the decoder looks back at the source.
    pub attention: AttentionKind,
    /// Width of the vectors that a tagger reads in place of tokens; 0 for tokens.
    pub d_input: usize,
}

/// A recurrent cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellKind {
    /// h' = tanh(W x + U h + b) (Elman 1990).
    Rnn,
    /// Long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000).
    Lstm,
    /// The same with one gate for remembering and writing: i = 1 − f (Greff et al. 2017).
    CoupledLstm,
    /// Gated recurrent unit (Cho et al. 2014).
    Gru,
}

/// How a recurrent decoder looks back at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// Not at all: the encoder's final state is all it knows (the thought vector).
    None,
    /// e = vᵀ tanh(W s + U h) of the state before, and what it finds enters the next state (Bahdanau et al. 2015).
    Additive,
    /// e = sᵀ h of the state itself (Luong et al. 2015, section 3.1). Unlike Bahdanau's, what it finds is seen by the
    /// prediction alone and enters no state: there is no input feeding (their section 3.3).
    Dot,
    /// e = sᵀ W h, else as `dot`.
    General,
}

/// Where the norm stands around a sublayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormPosition {
    /// norm(x + sublayer(x)), as in the paper.
    Post,
    /// x + sublayer(norm(x)), and a final norm closes each stack.
    Pre,
}

/// Which norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormKind {
    /// Layer normalisation (Ba et al. 2016): gain and bias for each feature.
    Layer,
    /// Root mean square normalisation (Zhang and Sennrich 2019): a gain for each feature.
    Rms,
    /// The tutorials' variant: one scalar gain and bias, (x − mean) / (unbiased standard deviation + ε).
    Scalar,
}

/// Where dropout acts around a sublayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropoutPosition {
    /// On the sublayer's output, before the residual is added (paper, section 5.4).
    Sublayer,
    /// On the result of residual and norm.
    AfterNorm,
}

/// The feed-forward networks' non-linearity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationKind {
    /// max(0, x), as in the paper.
    Relu,
    /// x·Φ(x), the Gaussian error linear unit.
    Gelu,
}

/// How a position is told to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Positions {
    /// Sinusoids as in the paper (section 3.5): sine and cosine interleaved, exponent 2i/d.
    SinusoidalInterleaved,
    /// [sin | cos] with exponent 2i/d.
    SinusoidalConcatenated,
    /// [sin | cos] with exponent i/(d/2 − 1), as Marian, fairseq and Tensor2Tensor have it.
    SinusoidalTensor2tensor,
    /// A learned vector for each position below `max_len`.
    Learned,
    /// Rotary (Su et al. 2021): queries and keys are turned by an angle that grows with the position.
    Rotary,
    /// No positions.
    None,
}

/// Which embeddings and projections are one matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TieEmbeddings {
    /// Three matrices.
    None,
    /// The decoder's input embedding is the output projection (Press and Wolf 2017).
    Decoder,
    /// Both input embeddings are the output projection (paper, section 3.4); needs a shared vocabulary.
    All,
}

/// How weights start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Init {
    /// Xavier uniform for weight matrices, zero biases, embeddings N(0, 1/d_model).
    XavierUniform,
    /// PyTorch's `nn.Linear` and `nn.Embedding`: U(±1/√fan_in) for weights and biases, embeddings N(0, 1).
    Pytorch,
    /// N(0, 0.02²) for weights and embeddings, zero biases (BERT).
    Normal,
    /// The same, but N(0, 0.02²/n) for the last weight of each of a stack's n sublayers, whose results residual connections
    /// sum up (Radford et al. 2019, GPT-2, section 2.3). For recurrent families it is `normal`.
    Gpt2,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            family: Family::Transformer,
            d_model: 256,
            d_ff: 1024,
            n_heads: 4,
            n_encoder_layers: 3,
            n_decoder_layers: 3,
            max_len: 512,
            dropout: 0.1,
            attention_dropout: 0.0,
            activation_dropout: 0.0,
            dropout_position: DropoutPosition::Sublayer,
            norm_position: NormPosition::Post,
            norm: NormKind::Layer,
            activation: ActivationKind::Relu,
            positions: Positions::SinusoidalInterleaved,
            scale_embeddings: true,
            tie_embeddings: TieEmbeddings::All,
            attention_bias: true,
            output_bias: false,
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
            d_input: 0,
        }
    }
}
