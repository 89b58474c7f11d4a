//! The choices that make variants, as a configuration names them.

use serde::{Deserialize, Serialize};

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
    /// Simpler simple recurrent unit (Kim et al. 2019, section 3.2): no hidden weights, so that training needs no product
    /// in time.
    Ssru,
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
    /// GELU by its tanh approximation (Hendrycks and Gimpel 2016), as in GPT-2.
    GeluTanh,
    /// x·σ(x), the sigmoid linear unit.
    Silu,
}

/// How a position is told to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "cli", value(rename_all = "snake_case"))]
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
    /// A learned bias of the attention scores for each head and bucket of distances (Raffel et al. 2020).
    Relative,
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

/// How one vector is made of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean over all positions.
    Mean,
    /// The first position.
    First,
    /// The last position; of a recurrent encoder its final state, both directions.
    Last,
}
