//! Where an engine finds the weights of a model.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use super::Precision;
use super::linear::Linear;
use super::matrix::Matrix;
use crate::model::Parameter;

/// The weights of a model, by the names of [`attentive_architecture::Architecture::parameters`]. Each is asked for once.
pub trait Weights {
    /// The number type of all matrices.
    fn precision(&self) -> Precision;

    /// The matrix `name`.
    fn matrix(&mut self, name: &str) -> Arc<Matrix>;

    /// The vector `name`.
    fn vector(&mut self, name: &str) -> Vec<f32>;
}

/// A place in the tree of layers, named by its path, for example `encoder.layers.0`.
pub(super) struct Scope<'a> {
    path: String,
    weights: &'a mut dyn Weights,
}

impl<'a> Scope<'a> {
    pub(super) fn root(weights: &'a mut dyn Weights) -> Self {
        Self {
            path: String::new(),
            weights,
        }
    }

    /// The place `name` below this one.
    pub(super) fn at(&mut self, name: impl Display) -> Scope<'_> {
        Scope {
            path: self.below(name),
            weights: &mut *self.weights,
        }
    }

    /// The matrix `name` at this place.
    pub(super) fn matrix(&mut self, name: &str) -> Arc<Matrix> {
        let name = self.below(name);
        self.weights.matrix(&name)
    }

    /// The vector `name` at this place.
    pub(super) fn vector(&mut self, name: &str) -> Vec<f32> {
        let name = self.below(name);
        self.weights.vector(&name)
    }

    /// The linear map `name` at this place.
    pub(super) fn linear(&mut self, name: &str, bias: bool) -> Linear {
        let mut scope = self.at(name);
        Linear {
            weight: scope.matrix("weight"),
            bias: bias.then(|| scope.vector("bias")),
        }
    }

    fn below(&self, name: impl Display) -> String {
        match self.path.as_str() {
            "" => name.to_string(),
            path => format!("{path}.{name}"),
        }
    }
}

/// A weight of an engine.
#[derive(Clone, Debug)]
pub enum Weight {
    /// A matrix.
    Matrix(Arc<Matrix>),
    /// Anything else, row after row.
    Vector(Vec<f32>),
}

/// Keeps all weights that are asked for, by name.
pub(super) struct Recorder<'a> {
    weights: &'a mut dyn Weights,
    pub(super) all: Vec<(String, Weight)>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(weights: &'a mut dyn Weights) -> Self {
        Self {
            weights,
            all: Vec::new(),
        }
    }
}

impl Weights for Recorder<'_> {
    fn precision(&self) -> Precision {
        self.weights.precision()
    }

    fn matrix(&mut self, name: &str) -> Arc<Matrix> {
        let matrix = self.weights.matrix(name);
        self.all
            .push((name.to_owned(), Weight::Matrix(matrix.clone())));
        matrix
    }

    fn vector(&mut self, name: &str) -> Vec<f32> {
        let vector = self.weights.vector(name);
        self.all
            .push((name.to_owned(), Weight::Vector(vector.clone())));
        vector
    }
}

/// Weights in single precision, each dropped once it was asked for.
#[derive(Debug, Default)]
pub struct Dense {
    precision: Precision,
    parameters: HashMap<String, Parameter>,
}

impl Dense {
    /// These weights, whose matrices become `precision`.
    pub fn new(precision: Precision, parameters: impl IntoIterator<Item = Parameter>) -> Self {
        let named = |parameter: Parameter| (parameter.name.clone(), parameter);
        Self {
            precision,
            parameters: parameters.into_iter().map(named).collect(),
        }
    }

    fn take(&mut self, name: &str) -> Parameter {
        let found = self.parameters.remove(name);
        found.unwrap_or_else(|| panic!("parameter `{name}` of the architecture"))
    }
}

impl Weights for Dense {
    fn precision(&self) -> Precision {
        self.precision
    }

    fn matrix(&mut self, name: &str) -> Arc<Matrix> {
        let Parameter { shape, values, .. } = self.take(name);
        Arc::new(Matrix::new(self.precision, &values, shape[0], shape[1]))
    }

    fn vector(&mut self, name: &str) -> Vec<f32> {
        self.take(name).values
    }
}
