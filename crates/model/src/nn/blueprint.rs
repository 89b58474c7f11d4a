//! A model whose weights are left out.

use attentive_architecture::{Architecture, AttentionSpec, HeadSpec};
use attentive_tape::Causality;

use super::{ParameterDeclaration, Stacks, Storage, WeightSource};

/// The parameters that the layers of a model declare, in the order in which random numbers are drawn for
/// them. The order for an existing architecture must not change.
#[derive(Clone, Debug, PartialEq)]
pub struct Blueprint {
    parameters: Vec<ParameterDeclaration>,
}

impl Blueprint {
    /// Builds the layers of `architecture` without weights, and keeps what they declare.
    pub fn new(architecture: &Architecture) -> Self {
        let mut declarations = Declarations(Vec::new());
        Stacks::new(architecture, &mut declarations);
        let Declarations(mut parameters) = declarations;
        let is_drawn_early = matches!(architecture.head, HeadSpec::Vocabulary(_));
        parameters.sort_by_key(|parameter| draw_rank(&parameter.name, is_drawn_early));
        Self { parameters }
    }

    /// Returns all parameters.
    pub fn parameters(&self) -> &[ParameterDeclaration] {
        &self.parameters
    }

    /// Returns all parameters.
    pub fn into_parameters(self) -> Vec<ParameterDeclaration> {
        self.parameters
    }

    /// Returns the number of weights.
    pub fn n_weights(&self) -> usize {
        self.parameters.iter().map(ParameterDeclaration::size).sum()
    }
}

/// Returns when random numbers are drawn for the part of the model that has the parameter `name`: first for
/// the tables of embeddings, and for the head behind them if it `is_drawn_early`, as projections to a
/// vocabulary are.
fn draw_rank(name: &str, is_drawn_early: bool) -> usize {
    let (part, rest) = name.split_once('.').unwrap_or((name, ""));
    match (part, rest) {
        ("src" | "tgt", "embedding.weight") => 0,
        ("head", _) if is_drawn_early => 1,
        ("src" | "tgt", _) => 2,
        ("encoder", _) => 3,
        ("decoder", _) => 4,
        _ => 5,
    }
}

/// Weights that are left out.
#[derive(Clone, Copy, Debug)]
struct Weightless;

impl Storage for Weightless {
    type Matrix = ();
    type Vector = ();
    type Relative = ();

    fn relative(_: &AttentionSpec, _: Causality, _max_len: usize, _table: Option<()>) {}
}

/// The declarations so far.
struct Declarations(Vec<ParameterDeclaration>);

impl WeightSource<Weightless> for Declarations {
    fn matrix(&mut self, declaration: ParameterDeclaration) {
        self.0.push(declaration);
    }

    fn vector(&mut self, declaration: ParameterDeclaration) {
        self.0.push(declaration);
    }
}

#[cfg(test)]
mod tests;
