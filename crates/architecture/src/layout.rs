//! Collects the parameters of an architecture in order, named by their path.

use super::{Parameter, Start};

/// Collects the parameters of an architecture.
#[derive(Debug, Default)]
pub(super) struct Layout {
    path: Vec<String>,
    parameters: Vec<Parameter>,
}

impl Layout {
    /// Calls `add` with `name` appended to the path.
    pub(super) fn at(&mut self, name: impl ToString, add: impl FnOnce(&mut Self)) {
        self.path.push(name.to_string());
        add(self);
        self.path.pop();
    }

    /// Adds the parameter `name` at the current path.
    pub(super) fn add<const D: usize>(&mut self, name: &str, shape: [usize; D], start: Start) {
        let path = self.path.iter().map(String::as_str).chain([name]);
        self.parameters.push(Parameter {
            name: path.collect::<Vec<_>>().join("."),
            shape: shape.into(),
            start,
        });
    }

    /// Adds the linear map `name` from `d_in` to `d_out` features.
    pub(super) fn linear(&mut self, name: &str, d_in: usize, d_out: usize, bias: bool) {
        self.map(name, d_in, d_out, bias, Start::Weight);
    }

    /// Adds a linear map whose output enters a residual connection, one of `n_sublayers` in its stack.
    pub(super) fn residual_linear(
        &mut self,
        name: &str,
        d_in: usize,
        d_out: usize,
        bias: bool,
        n_sublayers: usize,
    ) {
        self.map(name, d_in, d_out, bias, Start::ResidualWeight { n_sublayers });
    }

    fn map(&mut self, name: &str, d_in: usize, d_out: usize, bias: bool, start: Start) {
        self.at(name, |layout| {
            layout.add("weight", [d_out, d_in], start);
            if bias {
                layout.add("bias", [d_out], Start::Bias { d_in });
            }
        });
    }

    pub(super) fn into_parameters(self) -> Vec<Parameter> {
        self.parameters
    }
}
