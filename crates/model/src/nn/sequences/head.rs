//! What heads do to the last layer before they predict.

use attentive_architecture::LabelLayer;
use attentive_tape::{self as tape, ActivationKind, Value};

use super::{Sequences, Trained};
use crate::nn::{Head, Labels, OutputProjection};

impl OutputProjection<Trained> {
    /// The input of the projection: the last layer, transformed if the head has a transform, times the scale.
    pub(crate) fn prepared(&self, x: Value, sequences: &mut Sequences<'_>) -> Value {
        let x = match &self.transform {
            Some(transform) => transform.forward(&x, sequences),
            None => x,
        };
        match self.scale {
            1.0 => x,
            scale => tape::scale(x, scale as f32),
        }
    }
}

impl Head<Trained> {
    /// The input of the linear map to logits, from the output `x` of the last layer.
    pub(crate) fn prepared(&self, x: Value, sequences: &mut Sequences<'_>) -> Value {
        match self {
            Self::Vocabulary(head) => head.prepared(x, sequences),
            Self::Positions(labels) | Self::Sequence(labels) => labels.prepared(x, sequences),
        }
    }
}

impl Labels<Trained> {
    /// The input of the classifier: `x` after the other layer, if there is one, and dropout.
    pub(crate) fn prepared(&self, x: Value, sequences: &mut Sequences<'_>) -> Value {
        let x = match &self.layer {
            Some(layer) => self.function(layer.forward(&x, sequences)),
            None => x,
        };
        tape::dropout_add(x, None, sequences.pass.dropout(self.dropout))
    }

    fn function(&self, x: Value) -> Value {
        match self.function {
            LabelLayer::None => x,
            LabelLayer::Tanh => tape::tanh(x),
            LabelLayer::Relu => tape::nonlinear(ActivationKind::Relu, x),
        }
    }
}
