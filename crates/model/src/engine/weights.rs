//! Where an engine finds the weights of a model.

use std::collections::HashMap;
use std::sync::Arc;

use attentive_architecture::Architecture;

use super::Precision;
use super::input_probe::InputProbe;
use super::matrix::Matrix;
use super::packed::Packed;
use crate::model::Parameter;
use crate::nn::{Blueprint, ParameterDeclaration, WeightSource};

/// The weights of a model, by the names of its [`Blueprint`](crate::nn::Blueprint). Each is asked for once.
pub trait Weights {
    /// The number type of all matrices.
    fn precision(&self) -> Precision;

    fn matrix(&mut self, name: &str) -> Arc<Matrix>;

    fn vector(&mut self, name: &str) -> Vec<f32>;
}

/// A weight of an engine.
#[derive(Clone, Debug)]
pub enum Weight {
    Matrix(Arc<Matrix>),
    /// Anything else, row after row.
    Vector(Arc<Vec<f32>>),
}

/// These weights as `f32`, in the order of `architecture`; those of an engine in `f32` equal the ones that it
/// was built from.
pub fn parameters(weights: &[(String, Weight)], architecture: &Architecture) -> Vec<Parameter> {
    let weights: HashMap<&str, &Weight> =
        weights.iter().map(|(name, weight)| (name.as_str(), weight)).collect();
    let declared = Blueprint::new(architecture).into_parameters().into_iter();
    let with_values = |ParameterDeclaration { name, shape, .. }| {
        let values = match weights[&*name] {
            Weight::Matrix(matrix) => matrix.unpacked(),
            Weight::Vector(values) => values.to_vec(),
        };
        Parameter { name, shape, values }
    };
    declared.map(with_values).collect()
}

/// Keeps all weights that are asked for, by name.
pub(super) struct Recorder<'a> {
    weights: &'a mut dyn Weights,
    pub(super) all: Vec<(String, Weight)>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(weights: &'a mut dyn Weights) -> Self {
        Self { weights, all: Vec::new() }
    }
}

impl WeightSource<Packed> for Recorder<'_> {
    fn matrix(&mut self, ParameterDeclaration { name, .. }: ParameterDeclaration) -> Arc<Matrix> {
        let matrix = self.weights.matrix(&name);
        self.all.push((name, Weight::Matrix(matrix.clone())));
        matrix
    }

    fn vector(&mut self, ParameterDeclaration { name, .. }: ParameterDeclaration) -> Arc<Vec<f32>> {
        let vector = Arc::new(self.weights.vector(&name));
        self.all.push((name, Weight::Vector(vector.clone())));
        vector
    }
}

/// Weights in single precision, each dropped once it was asked for.
#[derive(Debug, Default)]
pub struct Dense {
    precision: Precision,
    parameters: HashMap<String, Parameter>,
    probes: HashMap<String, Arc<InputProbe>>,
}

impl Dense {
    /// These weights, whose matrices become `precision`.
    pub fn new(precision: Precision, parameters: impl IntoIterator<Item = Parameter>) -> Self {
        let named = |parameter: Parameter| (parameter.name.clone(), parameter);
        Self { precision, parameters: parameters.into_iter().map(named).collect(), probes: HashMap::new() }
    }

    /// The same weights. Products with matrices that have a probe, by name, measure or round their inputs.
    pub fn probed(self, probes: HashMap<String, Arc<InputProbe>>) -> Self {
        Self { probes, ..self }
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
        let matrix = Matrix::new(self.precision, &values, shape[0], shape[1]);
        Arc::new(matrix.probed(self.probes.remove(name)))
    }

    fn vector(&mut self, name: &str) -> Vec<f32> {
        self.take(name).values
    }
}
