//! Weights that can be trained.

use attentive_architecture as architecture;
use attentive_tape::{Buffer, Causality, Param, Rotary};

use super::DistanceBias;
use crate::nn::{ParameterDeclaration, Storage, WeightSource};

/// Weights as parameters of the tape.
#[derive(Clone, Copy, Debug)]
pub struct Trained;

/// The relative positions of a stack's self-attention.
#[derive(Clone, Debug, Default)]
pub struct RelativeEncoding {
    pub(crate) rotary: Option<Rotary>,
    pub(crate) bias: Option<DistanceBias>,
}

impl Storage for Trained {
    type Matrix = Param;
    type Vector = Param;
    type Relative = RelativeEncoding;

    fn relative(
        attention: &architecture::AttentionSpec,
        causality: Causality,
        _max_len: usize,
        table: Option<Param>,
    ) -> RelativeEncoding {
        RelativeEncoding {
            rotary: attention.frequencies().map(Rotary::with_frequencies),
            bias: DistanceBias::new(attention, causality, table),
        }
    }
}

/// Makes parameters from their initial values, and keeps them in the order in which they were made.
pub struct Parameters<'a> {
    values: &'a mut dyn FnMut(&ParameterDeclaration) -> Buffer,
    made: Vec<Param>,
}

impl<'a> Parameters<'a> {
    /// Makes parameters with the elements `values(declaration)`, row after row.
    pub fn new(values: &'a mut dyn FnMut(&ParameterDeclaration) -> Buffer) -> Self {
        Self { values, made: Vec::new() }
    }

    /// Returns all parameters made so far.
    pub fn into_made(self) -> Vec<Param> {
        self.made
    }

    fn make(&mut self, declaration: ParameterDeclaration) -> Param {
        let values = (self.values)(&declaration);
        let parameter = Param::new(declaration.name, declaration.shape, values);
        self.made.push(parameter.clone());
        parameter
    }
}

impl WeightSource<Trained> for Parameters<'_> {
    fn matrix(&mut self, declaration: ParameterDeclaration) -> Param {
        self.make(declaration)
    }

    fn vector(&mut self, declaration: ParameterDeclaration) -> Param {
        self.make(declaration)
    }
}
