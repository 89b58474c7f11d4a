//! Choices between variants, with their names in a configuration.

use serde::{Deserialize, Serialize};

/// A recurrent cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellKind {
    /// h' = tanh(W x + U h + b) (Elman 1990).
    Rnn,
    /// Long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000).
    Lstm,
    /// An LSTM with coupled input and forget gates: i = 1 − f (Greff et al. 2017).
    CoupledLstm,
    /// Gated recurrent unit (Cho et al. 2014).
    Gru,
    /// Simpler simple recurrent unit (Kim et al. 2019, section 3.2): it has no hidden weights, so no matrix product depends
    /// on the previous position.
    Ssru,
}

/// Attention of a recurrent decoder to the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// No attention: the decoder only sees the encoder's final state.
    None,
    /// e = vᵀ tanh(W s + U h) with the previous state s; the context enters the next state (Bahdanau et al. 2015).
    Additive,
    /// e = sᵀ h with the current state s (Luong et al. 2015, section 3.1). The context is used by the prediction only: there
    /// is no input feeding (their section 3.3).
    Dot,
    /// e = sᵀ W h; otherwise like `dot`.
    General,
}

/// Position of the norm around a sublayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormPosition {
    /// norm(x + sublayer(x)), as in the paper.
    Post,
    /// x + sublayer(norm(x)), with a final norm after each stack.
    Pre,
}

/// Kind of norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormKind {
    /// Layer normalization (Ba et al. 2016): gain and bias for each feature.
    Layer,
    /// Root mean square normalization (Zhang and Sennrich 2019): a gain for each feature.
    Rms,
    /// The tutorials' variant: one scalar gain and bias, (x − mean) / (unbiased standard deviation + ε).
    Scalar,
}

/// Position of dropout around a sublayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropoutPosition {
    /// On the sublayer's output, before the residual is added (paper, section 5.4).
    Sublayer,
    /// On the result of residual and norm.
    AfterNorm,
}

/// Activation function of the feed-forward networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationKind {
    /// max(0, x), as in the paper.
    Relu,
    /// x·Φ(x), the Gaussian error linear unit.
    Gelu,
    /// The tanh approximation of GELU (Hendrycks and Gimpel 2016), as in GPT-2.
    GeluTanh,
    /// x·σ(x), the sigmoid linear unit.
    Silu,
}

/// Encoding of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "cli", value(rename_all = "snake_case"))]
pub enum Positions {
    /// Sinusoids as in the paper (section 3.5): sine and cosine interleaved, exponent 2i/d.
    SinusoidalInterleaved,
    /// [sin | cos] with exponent 2i/d.
    SinusoidalConcatenated,
    /// [sin | cos] with exponent i/(d/2 − 1), as in Marian, fairseq and Tensor2Tensor.
    SinusoidalTensor2tensor,
    /// A learned vector for each position below `max_len`.
    Learned,
    /// Rotary (Su et al. 2021): queries and keys are rotated by an angle proportional to the position.
    Rotary,
    /// A learned bias of the attention scores for each head and bucket of distances (Raffel et al. 2020).
    Relative,
    /// Both a learned vector and a learned bias, as in MPNet (Song et al. 2020).
    LearnedRelative,
    /// No positions.
    None,
}

/// Sharing of embeddings and the output projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TieEmbeddings {
    /// Three separate matrices.
    None,
    /// The decoder's input embedding is the output projection (Press and Wolf 2017).
    Decoder,
    /// Source and target have the same input embedding; the output projection is another matrix (T5 version 1.1). Needs a
    /// shared vocabulary.
    Inputs,
    /// Both input embeddings are the output projection (paper, section 3.4); needs a shared vocabulary.
    All,
}

impl Positions {
    /// True if each position has a learned vector.
    pub fn are_learned(self) -> bool {
        matches!(self, Self::Learned | Self::LearnedRelative)
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Init {
    /// Xavier uniform for weight matrices, zero biases, embeddings N(0, 1/d_model).
    XavierUniform,
    /// PyTorch's `nn.Linear` and `nn.Embedding`: U(±1/√fan_in) for weights and biases, embeddings N(0, 1).
    Pytorch,
    /// N(0, 0.02²) for weights and embeddings, zero biases (BERT).
    Normal,
    /// Like `normal`, but N(0, 0.02²/n) for the last weight of each of the n sublayers of a Transformer stack (Radford et al.
    /// 2019, GPT-2, section 2.3).
    Gpt2,
}

/// The layer before the classifier of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelLayer {
    /// No layer: labels are predicted from the encoder's output.
    None,
    /// A linear map and tanh, as in BERT (Devlin et al. 2019).
    Tanh,
    /// A linear map and max(0, x), as in DistilBERT (Sanh et al. 2019).
    Relu,
}

/// Reduction of a sequence to one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean over all positions.
    Mean,
    /// The first position.
    First,
    /// The last position; for a recurrent encoder the final state of both directions.
    Last,
}
