//! Choices between variants, with their names in a configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Attention of a recurrent decoder to the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// No attention. The decoder only sees the encoder's final state.
    None,
    /// Scores are vᵀ tanh(W s + U h), where s is the decoder's previous state and h an output of the encoder.
    /// The context enters the next state (Bahdanau et al. 2015).
    #[default]
    Additive,
    /// Scores are sᵀ h, where s is the decoder's current state (Luong et al. 2015, section 3.1). Only the
    /// prediction uses the context, unless there is input feeding (their section 3.3).
    Dot,
    /// Scores are sᵀ W h. Otherwise it is the same as `dot`.
    General,
    /// Scores are vᵀ tanh(W s + U h), as with `additive`, but of the current state s. Otherwise it is the
    /// same as `dot`.
    Concat,
}

/// What a recurrent decoder reads of the position before, besides the last token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputFeeding {
    /// Nothing.
    #[default]
    None,
    /// The context c of attention: the input of the bottom layer is \[y; c\] with the embedding y of the last
    /// token. It needs attention.
    Context,
    /// The output of the position before, from which its token was predicted (Luong et al. 2015, section
    /// 3.3).
    Output,
}

/// Position of the norm around a sublayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NormPosition {
    /// norm(x + sublayer(x)), as in *Attention Is All You Need*.
    Post,
    /// x + sublayer(norm(x)), with a final norm after each stack. It learns more steadily in deep models.
    Pre,
}

/// Position of dropout around a sublayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DropoutPosition {
    /// On the output of the sublayer, before the residual is added (*Attention Is All You Need*, section
    /// 5.4).
    Sublayer,
    /// After the residual and the norm.
    AfterNorm,
}

/// Encoding of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "cli", value(rename_all = "snake_case"))]
pub enum Positions {
    /// Sinusoids as in *Attention Is All You Need*, section 3.5: sine and cosine interleaved, with the
    /// exponent 2i/d.
    SinusoidalInterleaved,
    /// Sinusoids, first all sines and then all cosines, with the exponent 2i/d.
    SinusoidalConcatenated,
    /// Sinusoids, first all sines and then all cosines, with the exponent i/(d/2 − 1), as in Marian, fairseq
    /// and Tensor2Tensor.
    SinusoidalTensor2tensor,
    /// A learned vector for each position below `model.max_len`.
    Learned,
    /// Rotary positions: queries and keys are rotated by an angle proportional to the position (Su et al.
    /// 2021).
    Rotary,
    /// A learned bias of attention scores for each head and bucket of distances (Raffel et al. 2020).
    Relative,
    /// A learned vector for each position and a learned bias of attention scores, as in MPNet (Song et al.
    /// 2020).
    LearnedRelative,
    /// No positions.
    None,
}

/// Sharing of embeddings and the output projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TieEmbeddings {
    /// No sharing: each is a matrix of its own.
    None,
    /// The decoder's input embedding is also the output projection (Press and Wolf 2017).
    Decoder,
    /// Source and target have the same input embedding, and the output projection is another matrix (T5
    /// version 1.1). The vocabulary must be shared.
    Inputs,
    /// Both input embeddings are also the output projection (*Attention Is All You Need*, section 3.4). The
    /// vocabulary must be shared.
    All,
}

impl Positions {
    /// True if each position has a learned vector.
    pub fn are_learned(self) -> bool {
        matches!(self, Self::Learned | Self::LearnedRelative)
    }

    /// True if a position is a vector of numbers, or an angle for each feature, and nothing else.
    pub fn are_vectors(self) -> bool {
        self.is_sinusoidal() || matches!(self, Self::Learned | Self::Rotary)
    }

    fn is_sinusoidal(self) -> bool {
        matches!(
            self,
            Self::SinusoidalInterleaved | Self::SinusoidalConcatenated | Self::SinusoidalTensor2tensor
        )
    }

    /// True if they act in self-attention, besides or instead of vectors that are added to embeddings.
    pub fn are_in_self_attention(self) -> bool {
        self.are_relative() || self == Self::Rotary
    }

    /// True if attention scores have a bias for each bucket of distances.
    pub fn are_relative(self) -> bool {
        matches!(self, Self::Relative | Self::LearnedRelative)
    }
}

impl TieEmbeddings {
    /// True if source and target have the same input embedding.
    pub fn ties_inputs(self) -> bool {
        matches!(self, Self::Inputs | Self::All)
    }

    /// True if the output projection is an input embedding.
    pub fn ties_output(self) -> bool {
        matches!(self, Self::Decoder | Self::All)
    }
}

/// Initialization of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Init {
    /// Xavier uniform for weight matrices, zero for biases, N(0, 1/d_model) for embeddings.
    XavierUniform,
    /// As PyTorch's `nn.Linear` and `nn.Embedding`: U(±1/√fan_in) for weights and biases, N(0, 1) for
    /// embeddings.
    Pytorch,
    /// N(0, 0.02²) for weights and embeddings, zero for biases, as in BERT.
    Normal,
    /// As `normal`, but N(0, 0.02²/n) for the last weight of each of the n sublayers of a Transformer stack,
    /// as in GPT-2 (Radford et al. 2019, section 2.3).
    Gpt2,
}

/// The function of a layer before the labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabelLayer {
    /// No layer. Labels are predicted from the text's vector.
    #[default]
    None,
    /// A linear map and tanh, as in BERT (Devlin et al. 2019).
    Tanh,
    /// A linear map and max(0, x), as in DistilBERT (Sanh et al. 2019).
    Relu,
}

/// Reduction of a sequence to one vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The average over all positions.
    #[default]
    Mean,
    /// The first position.
    First,
    /// The last position. For a recurrent encoder, it is the final state of both directions.
    Last,
}
