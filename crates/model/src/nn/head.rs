//! Heads, which turn the last layer into predictions.

use attentive_architecture::{self as architecture, ActivationKind, LabelLayer};
use attentive_tape::{self as tape, Map, Param, Value};

use super::feed_forward::nonlinearity;
use super::{Dropout, Embedding, Linear, Norm, Pass, Scope};

/// The output projection, which may be an embedding's table (Press and Wolf 2017).
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Applied to the last layer first, in masked language models.
    pub transform: Option<Transform>,
    /// `[vocab, d_model]`; absent if tied with an embedding.
    pub weight: Option<Param>,
    /// `[vocab]`
    pub bias: Option<Param>,
    scale: f64,
}

/// norm(activation(Wx + b)): the first part of BERT's head of masked language models (Devlin et al. 2019).
#[derive(Clone, Debug)]
pub struct Transform {
    /// `[d_model, d_model]`
    pub linear: Linear,
    /// Of the activation.
    pub norm: Norm,
    activation: ActivationKind,
}

/// A linear classifier, possibly behind another layer.
#[derive(Clone, Debug)]
pub struct Labels {
    /// `[d_in, d_in]`, applied to the input first.
    pub layer: Option<Linear>,
    /// `[labels, d_in]`
    pub weight: Param,
    /// `[labels]`
    pub bias: Param,
    function: LabelLayer,
    dropout: Dropout,
}

impl Vocabulary {
    /// The projection at `scope`.
    pub fn new(head: &architecture::Vocabulary, scope: Scope<'_>) -> Self {
        let transform = head.transform.as_ref();
        Self {
            transform: transform.map(|value| Transform::new(value, scope.at("transform"))),
            weight: (!head.tied).then(|| scope.parameter("weight")),
            bias: head.bias.then(|| scope.parameter("bias")),
            scale: head.scale,
        }
    }

    /// The input of the projection: the last layer, transformed if the head has a transform, times the scale.
    pub fn prepared(&self, x: Value, pass: &Pass<'_>) -> Value {
        let x = match &self.transform {
            Some(transform) => transform.forward(x, pass),
            None => x,
        };
        match self.scale {
            1.0 => x,
            scale => tape::scale(x, scale as f32),
        }
    }

    /// The linear map to logits, which uses `embedding` if tied.
    pub fn as_map(&self, embedding: Option<&Embedding>, pass: &Pass<'_>) -> Map {
        let tied = embedding.map(|embedding| &embedding.weight);
        let weight = self.weight.as_ref().or(tied);
        let weight = weight.expect("a tied projection needs an embedding");
        Map {
            weight: pass.read(weight),
            bias: self.bias.as_ref().map(|bias| pass.read(bias)),
        }
    }
}

impl Transform {
    fn new(transform: &architecture::Transform, scope: Scope<'_>) -> Self {
        Self {
            linear: Linear::new(true, scope.at("linear")),
            norm: Norm::new(&transform.norm, scope.at("norm")),
            activation: transform.activation,
        }
    }

    /// Maps rows `[rows, d_model]` to rows of the same shape.
    fn forward(&self, x: Value, pass: &Pass<'_>) -> Value {
        let x = self.linear.forward(x, pass);
        let x = tape::nonlinear(nonlinearity(self.activation), x);
        self.norm.forward(x, pass)
    }
}

impl Labels {
    /// The classifier at `scope`.
    pub fn new(labels: &architecture::Labels, scope: Scope<'_>) -> Self {
        let has_layer = labels.layer != LabelLayer::None;
        Self {
            layer: has_layer.then(|| Linear::new(true, scope.at("layer"))),
            weight: scope.parameter("weight"),
            bias: scope.parameter("bias"),
            function: labels.layer,
            dropout: scope.dropout(labels.dropout),
        }
    }

    /// The input of the classifier: `x` after the other layer, if there is one, and dropout.
    pub fn prepared(&self, x: Value, pass: &Pass<'_>) -> Value {
        let x = match &self.layer {
            Some(layer) => self.function(layer.forward(x, pass)),
            None => x,
        };
        tape::dropout_add(x, None, pass.dropout(self.dropout))
    }

    fn function(&self, x: Value) -> Value {
        match self.function {
            LabelLayer::None => x,
            LabelLayer::Tanh => tape::tanh(x),
            LabelLayer::Relu => tape::nonlinear(nonlinearity(ActivationKind::Relu), x),
        }
    }

    /// The linear map to logits.
    pub fn as_map(&self, pass: &Pass<'_>) -> Map {
        Map {
            weight: pass.read(&self.weight),
            bias: Some(pass.read(&self.bias)),
        }
    }
}
