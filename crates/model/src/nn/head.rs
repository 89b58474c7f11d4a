//! Heads, which turn the last layer into predictions.

use attentive_architecture::{self as architecture, ActivationKind, LabelLayer};

use super::{Backend, Dropout, Linear, Norm, ParameterInit, Scope, Storage};

/// The output layer.
#[derive(Clone, Debug)]
pub enum Head<S: Storage> {
    /// A token for every position.
    Vocabulary(OutputProjection<S>),
    /// A label for every position.
    Positions(Labels<S>),
    /// A label for the whole sequence.
    Sequence(Labels<S>),
}

/// The output projection, which may be an embedding's table (Press and Wolf 2017).
#[derive(Clone, Debug)]
pub struct OutputProjection<S: Storage> {
    /// Applied to the last layer first, in masked language models.
    pub transform: Option<Transform<S>>,
    /// `[vocab, d_model]`; absent if tied with an embedding.
    pub weight: Option<S::Matrix>,
    /// `[vocab]`
    pub bias: Option<S::Vector>,
    /// A factor of the last layer.
    pub scale: f64,
}

/// norm(activation(Wx + b)): the first part of BERT's head of masked language models (Devlin et al. 2019).
#[derive(Clone, Debug)]
pub struct Transform<S: Storage> {
    /// `[d_model, d_model]`
    pub linear: Linear<S>,
    /// The norm of the activation.
    pub norm: Norm<S>,
    activation: ActivationKind,
}

/// A linear classifier, possibly behind another layer.
#[derive(Clone, Debug)]
pub struct Labels<S: Storage> {
    /// `[d_in, d_in]`, applied to the input first.
    pub layer: Option<Linear<S>>,
    /// `[labels, d_in]` and `[labels]`
    pub map: Linear<S>,
    pub(crate) function: LabelLayer,
    pub(crate) dropout: Dropout,
}

impl<S: Storage> Head<S> {
    /// Makes the head at `scope`; `None` if the model predicts nothing.
    pub fn new(head: &architecture::HeadSpec, scope: Scope<'_, S>) -> Option<Self> {
        Some(match head {
            architecture::HeadSpec::Vocabulary(head) => Self::Vocabulary(OutputProjection::new(head, scope)),
            architecture::HeadSpec::Positions(labels) => Self::Positions(Labels::new(labels, scope)),
            architecture::HeadSpec::Sequence { labels, .. } => Self::Sequence(Labels::new(labels, scope)),
            architecture::HeadSpec::Vector { .. } => return None,
        })
    }
}

impl<S: Storage> OutputProjection<S> {
    /// Makes the projection at `scope`.
    pub fn new(head: &architecture::VocabularySpec, scope: Scope<'_, S>) -> Self {
        let (transform, d_in) = (head.transform.as_ref(), head.d_model);
        Self {
            transform: transform.map(|value| Transform::new(value, scope.at("transform"))),
            weight: (!head.tied).then(|| scope.matrix("weight", [head.size, d_in], ParameterInit::Weight)),
            bias: head.bias.then(|| scope.vector("bias", [head.size], ParameterInit::Bias { d_in })),
            scale: head.scale,
        }
    }

    /// Returns the linear map to logits, which uses `table` if tied.
    ///
    /// # Panics
    /// If it is tied and there is no table.
    pub fn map(&self, table: Option<&S::Matrix>) -> Linear<S> {
        let weight = self.weight.as_ref().or(table);
        Linear {
            weight: weight.expect("a tied projection needs an embedding").clone(),
            bias: self.bias.clone(),
        }
    }
}

impl<S: Storage> Transform<S> {
    fn new(transform: &architecture::TransformSpec, scope: Scope<'_, S>) -> Self {
        let d = transform.d;
        Self {
            linear: Linear::new(d, d, true, &scope.at("linear")),
            norm: Norm::new(&transform.norm, d, &scope.at("norm")),
            activation: transform.activation,
        }
    }

    /// Maps rows `[rows, d_model]` to rows of the same shape.
    pub fn forward<B: Backend<Storage = S>>(&self, x: &B::Value, backend: &mut B) -> B::Value {
        let x = backend.activated(x, &self.linear, self.activation, None);
        self.norm.forward(&x, backend)
    }
}

impl<S: Storage> Labels<S> {
    /// Makes the classifier at `scope`.
    pub fn new(labels: &architecture::LabelsSpec, scope: Scope<'_, S>) -> Self {
        let (has_layer, d) = (labels.layer != LabelLayer::None, labels.d_in);
        Self {
            layer: has_layer.then(|| Linear::new(d, d, true, &scope.at("layer"))),
            map: Linear::new(d, labels.size, true, &scope),
            function: labels.layer,
            dropout: scope.dropout(labels.dropout),
        }
    }
}
