//! A linear map with its parameters.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::Initializer;
use crate::ops::{self, Activation};

/// y = x·Wᵀ + b.
#[derive(Module, Debug)]
pub struct Linear {
    /// `[d_out, d_in]`
    pub weight: Param<Tensor<2>>,
    /// `[d_out]`
    pub bias: Option<Param<Tensor<1>>>,
}

impl Linear {
    /// A map from `d_in` to `d_out` features.
    pub fn new(d_in: usize, d_out: usize, bias: bool, init: &mut Initializer) -> Self {
        Self {
            weight: init.weight(d_in, d_out),
            bias: bias.then(|| init.bias(d_in, d_out)),
        }
    }

    /// # Shapes
    /// - `x`: `[rows, d_in]`
    /// - result: `[rows, d_out]`
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.forward_activated(x, Activation::Identity)
    }

    /// The same with an activation on top.
    pub fn forward_activated(&self, x: Tensor<2>, activation: Activation) -> Tensor<2> {
        let bias = self.bias.as_ref().map(Param::val);
        ops::linear(x, self.weight.val(), bias, activation)
    }
}
