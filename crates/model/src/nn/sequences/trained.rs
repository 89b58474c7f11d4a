//! Weights that can be trained.

use attentive_architecture as architecture;
use attentive_tape::{Buffer, Causality, Param, Rotary};

use super::DistanceBias;
use crate::nn::{Scope, Source, Storage};

/// Weights as parameters of the tape.
#[derive(Clone, Copy, Debug)]
pub struct Trained;

/// The relative positions of a stack's self-attention.
#[derive(Clone, Debug, Default)]
pub struct Relative {
    pub(crate) rotary: Option<Rotary>,
    pub(crate) bias: Option<DistanceBias>,
}

impl Storage for Trained {
    type Matrix = Param;
    type Vector = Param;
    type Relative = Relative;

    fn relative(
        attention: &architecture::Attention,
        causality: Causality,
        _max_len: usize,
        scope: &Scope<'_, Self>,
    ) -> Relative {
        Relative {
            rotary: attention.frequencies().map(Rotary::with_frequencies),
            bias: DistanceBias::new(attention, causality, scope.at("distance_bias")),
        }
    }
}

/// The initial elements of a parameter.
#[derive(Clone, Debug)]
pub struct Initial {
    /// One or two dimensions.
    pub shape: Vec<usize>,
    /// The elements, row after row.
    pub values: Buffer,
}

/// How layers use a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// They multiply with it, or look up its rows.
    Matrix,
    /// They add it, scale by it, or anything else.
    Vector,
}

/// Makes parameters from their initial values, and keeps them in the order in which they were made.
pub struct Parameters<'a> {
    values: &'a mut dyn FnMut(&str, ParameterKind) -> Initial,
    made: Vec<Param>,
}

impl<'a> Parameters<'a> {
    /// Makes parameters whose elements are `values(name, kind)`.
    pub fn new(values: &'a mut dyn FnMut(&str, ParameterKind) -> Initial) -> Self {
        Self { values, made: Vec::new() }
    }

    /// Returns all parameters made so far.
    pub fn into_made(self) -> Vec<Param> {
        self.made
    }

    fn make(&mut self, name: &str, kind: ParameterKind) -> Param {
        let Initial { shape, values } = (self.values)(name, kind);
        let parameter = Param::new(name, shape, values);
        self.made.push(parameter.clone());
        parameter
    }
}

impl Source<Trained> for Parameters<'_> {
    fn matrix(&mut self, name: &str) -> Param {
        self.make(name, ParameterKind::Matrix)
    }

    fn vector(&mut self, name: &str) -> Param {
        self.make(name, ParameterKind::Vector)
    }
}
