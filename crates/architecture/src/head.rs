//! The head of a model, which makes predictions from the last layer.

use super::{ActivationKind, LabelLayer, NormSpec, Pooling};

/// The part of a model that turns the last layer into predictions.
#[derive(Clone, Debug, PartialEq)]
pub enum HeadSpec {
    /// A distribution over tokens at every position.
    Vocabulary(VocabularySpec),
    /// A label for every position of the encoder.
    Positions(LabelsSpec),
    /// A label for the whole sequence, from one vector of the encoder.
    Sequence {
        /// Reduction of the sequence to that vector.
        pooling: Pooling,
        labels: LabelsSpec,
    },
    /// No prediction: a vector for the whole sequence.
    Vector {
        /// Reduction of the sequence to that vector.
        pooling: Pooling,
        /// Width of the vector.
        d: usize,
        /// True if the vector is scaled to length 1.
        unit: bool,
    },
}

/// The output projection.
#[derive(Clone, Debug, PartialEq)]
pub struct VocabularySpec {
    /// Number of tokens.
    pub size: usize,
    /// The layer before the projection, in masked language models.
    pub transform: Option<TransformSpec>,
    /// Width of the last layer.
    pub d_model: usize,
    /// True if the projection's matrix is the target embeddings (Press and Wolf 2017).
    pub tied: bool,
    /// True if logits have a bias.
    pub bias: bool,
    /// Factor of the last layer's output before the projection; 1 for none.
    pub scale: f64,
}

/// norm(activation(Wx + b)): the first part of BERT's head of masked language models (Devlin et al. 2019).
#[derive(Clone, Debug, PartialEq)]
pub struct TransformSpec {
    /// Width of input and output.
    pub d: usize,
    /// Activation function.
    pub activation: ActivationKind,
    pub norm: NormSpec,
}

/// A linear classifier, possibly behind another layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelsSpec {
    /// Number of labels, including the special tokens of their vocabulary.
    pub size: usize,
    /// Width of the input.
    pub d_in: usize,
    /// The layer before the classifier: a linear map of this width and its activation function.
    pub layer: LabelLayer,
    /// Dropout on the input of the classifier.
    pub dropout: f64,
}

impl HeadSpec {
    /// Returns the number of tokens or labels.
    pub fn n_classes(&self) -> usize {
        match self {
            Self::Vocabulary(head) => head.size,
            Self::Positions(labels) | Self::Sequence { labels, .. } => labels.size,
            Self::Vector { .. } => 0,
        }
    }

    /// Returns the width of the head's input.
    pub fn d_in(&self) -> usize {
        match self {
            Self::Vocabulary(head) => head.d_model,
            Self::Positions(labels) | Self::Sequence { labels, .. } => labels.d_in,
            Self::Vector { d, .. } => *d,
        }
    }
}
