//! A model's parameters as named vectors, for saving, loading, averaging and the optimizer.

use attentive_base::batch::TokenId;
use attentive_tape::{Buffer, Gradients, Param};

use super::Model;

/// A parameter, or values of the same shape, such as its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The field path of the parameter, for example `encoder.layers.0.self_attention.query.weight`.
    pub name: String,
    /// The dimensions.
    pub shape: Vec<usize>,
    /// The elements, row after row.
    pub values: Vec<f32>,
}

impl Parameter {
    /// Copies a parameter of a model.
    fn of(parameter: &Param) -> Self {
        Self {
            name: parameter.name().to_owned(),
            shape: parameter.shape().to_vec(),
            values: parameter.to_vec(),
        }
    }
}

/// Parts of a model, in the order of its parameters.
const PARTS: [&str; 5] = ["src", "tgt", "encoder", "decoder", "head"];

/// Orders parameters by [`PARTS`].
pub(super) fn in_order(mut parameters: Vec<Param>) -> Vec<Param> {
    let part = |parameter: &Param| {
        let (part, _) = parameter.name().split_once('.').unwrap_or_default();
        PARTS.iter().position(|name| *name == part).expect("a part of a model")
    };
    parameters.sort_by_key(part);
    parameters
}

impl Model {
    /// Returns copies of all parameters.
    pub fn copied(&self) -> Vec<Parameter> {
        self.parameters.iter().map(Parameter::of).collect()
    }

    /// Returns the parameters, trained and frozen ones.
    pub fn parameters(&self) -> &[Param] {
        &self.parameters
    }

    /// Returns the number of weights.
    pub fn n_weights(&self) -> usize {
        self.parameters.iter().map(Param::size).sum()
    }

    /// Returns the parameters that are not frozen, in the order of [`Model::parameters`].
    pub fn trained(&self) -> impl Iterator<Item = &Param> {
        self.parameters.iter().filter(|param| param.is_trained())
    }

    /// Returns the tables of embeddings of which an update reads nothing but the rows of its tokens: those
    /// that are not also the output projection.
    pub fn lookup_tables(&self) -> Vec<&Param> {
        let layers = &self.layers;
        let head = layers.head.as_ref();
        let projection = head.map(|_| layers.projection().weight.id());
        let inputs = [
            layers.body.encoder().map(|stack| &stack.input),
            layers.body.decoder().map(|stack| &stack.input),
        ];
        inputs
            .into_iter()
            .flatten()
            .filter_map(|input| input.table.as_ref())
            .filter(|table| Some(table.id()) != projection)
            .collect()
    }

    /// Computes no gradients any more of the parameters for which `is_frozen` returns true.
    pub fn freeze(&self, is_frozen: impl Fn(&str) -> bool) {
        let frozen = self.parameters.iter();
        let frozen = frozen.filter(|param| is_frozen(param.name()));
        frozen.for_each(Param::freeze);
    }

    /// Sets the embedding of the target token `start` to zero, and keeps it there in training.
    ///
    /// # Panics
    /// If the model has no embeddings of target tokens, or no such token.
    pub fn keep_start_at_zero(&self, start: TokenId) {
        self.layers.tgt_table().keep_at_zero(start as usize);
    }

    /// Removes the gradient of each of the [`Model::trained`] parameters from `gradients` and returns it;
    /// zeros if there is none.
    pub fn take_gradients(&self, gradients: &mut Gradients) -> Vec<Buffer> {
        self.trained().map(|param| gradients.take(param)).collect()
    }
}
