//! From the last layer to predictions.

use super::Pooling;
use super::Start;
use super::layout::Layout;

/// What stands on the last layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Head {
    /// A distribution over tokens at every position.
    Vocabulary(Vocabulary),
    /// A label for every position of the encoder.
    Positions(Labels),
    /// A label for the whole sequence, from one vector of the encoder.
    Sequence {
        /// How that vector is made.
        pooling: Pooling,
        /// The labels.
        labels: Labels,
    },
}

/// The output projection.
#[derive(Clone, Debug, PartialEq)]
pub struct Vocabulary {
    /// Tokens.
    pub size: usize,
    /// Width of the last layer.
    pub d_model: usize,
    /// Takes the embedding table of what it predicts in place of an own matrix (Press and Wolf 2017).
    pub tied: bool,
    /// Whether logits have a bias.
    pub bias: bool,
    /// Multiplies the last layer before the projection; 1 for none.
    pub scale: f64,
}

/// A linear classifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// Labels, special tokens of their vocabulary counted.
    pub size: usize,
    /// Width of what they are predicted from.
    pub d_in: usize,
    /// Dropout on that.
    pub dropout: f64,
}

impl Head {
    /// Classes that it tells apart.
    pub fn n_classes(&self) -> usize {
        match self {
            Self::Vocabulary(head) => head.size,
            Self::Positions(labels) | Self::Sequence { labels, .. } => labels.size,
        }
    }
}

impl Vocabulary {
    pub(super) fn lay_out(&self, layout: &mut Layout) {
        if !self.tied {
            layout.add("weight", [self.size, self.d_model], Start::Weight);
        }
        if self.bias {
            layout.add("bias", [self.size], Start::Bias { d_in: self.d_model });
        }
    }
}

impl Labels {
    pub(super) fn lay_out(&self, layout: &mut Layout) {
        layout.add("weight", [self.size, self.d_in], Start::Weight);
        layout.add("bias", [self.size], Start::Bias { d_in: self.d_in });
    }
}
