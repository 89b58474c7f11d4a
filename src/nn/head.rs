//! Heads, which turn the last layer into predictions.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::feed_forward::nonlinearity;
use super::{Dropout, Embedding, Linear, Norm, Pass, Scope};
use crate::architecture::{self, ActivationKind, LabelLayer};
use crate::ops::{self, Map};

/// The output projection, which may be an embedding's table (Press and Wolf 2017).
#[derive(Module, Debug)]
pub struct Vocabulary {
    /// Applied to the last layer first, in masked language models.
    pub transform: Option<Transform>,
    /// `[vocab, d_model]`; absent if tied with an embedding.
    pub weight: Option<Param<Tensor<2>>>,
    /// `[vocab]`
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    scale: f64,
}

/// norm(activation(Wx + b)): the first part of BERT's head of masked language models (Devlin et al. 2019).
#[derive(Module, Debug)]
pub struct Transform {
    /// `[d_model, d_model]`
    pub linear: Linear,
    /// Of the activation.
    pub norm: Norm,
    #[module(skip)]
    activation: ActivationKind,
}

/// A linear classifier, possibly behind another layer.
#[derive(Module, Debug)]
pub struct Labels {
    /// `[d_in, d_in]`, applied to the input first.
    pub layer: Option<Linear>,
    /// `[labels, d_in]`
    pub weight: Param<Tensor<2>>,
    /// `[labels]`
    pub bias: Param<Tensor<1>>,
    #[module(skip)]
    function: LabelLayer,
    #[module(skip)]
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
    pub fn prepared(&self, x: Tensor<2>, pass: &Pass<'_>) -> Tensor<2> {
        let x = match &self.transform {
            Some(transform) => transform.forward(x, pass),
            None => x,
        };
        match self.scale {
            1.0 => x,
            scale => x * scale,
        }
    }

    /// The linear map to logits, which uses `embedding` if tied.
    pub fn as_map(&self, embedding: Option<&Embedding>) -> Map {
        let tied = embedding.map(|embedding| &embedding.weight);
        let weight = self.weight.as_ref().or(tied);
        let weight = weight.expect("a tied projection needs an embedding");
        Map {
            weight: weight.val(),
            bias: self.bias.as_ref().map(Param::val),
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
    fn forward(&self, x: Tensor<2>, pass: &Pass<'_>) -> Tensor<2> {
        let x = self.linear.forward(x, pass);
        self.norm
            .forward(ops::nonlinear(nonlinearity(self.activation), x))
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
    pub fn prepared(&self, x: Tensor<2>, pass: &Pass<'_>) -> Tensor<2> {
        let x = match &self.layer {
            Some(layer) => self.function(layer.forward(x, pass)),
            None => x,
        };
        ops::dropout_add(x, None, pass.dropout(self.dropout))
    }

    fn function(&self, x: Tensor<2>) -> Tensor<2> {
        match self.function {
            LabelLayer::None => x,
            LabelLayer::Tanh => x.tanh(),
            LabelLayer::Relu => ops::nonlinear(nonlinearity(ActivationKind::Relu), x),
        }
    }

    /// The linear map to logits.
    pub fn as_map(&self) -> Map {
        Map {
            weight: self.weight.val(),
            bias: Some(self.bias.val()),
        }
    }
}
