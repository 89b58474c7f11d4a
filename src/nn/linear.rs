//! A linear map with its parameters.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::{Initializer, Pass};
use crate::ops::{self, Epilogue, Map};

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

    /// A map, with a bias if `bias`, whose result a residual connection adds up, as one of `n_sublayers` of a stack.
    pub fn residual(
        d_in: usize,
        d_out: usize,
        bias: bool,
        n_sublayers: usize,
        init: &mut Initializer,
    ) -> Self {
        Self {
            weight: init.residual_weight(d_in, d_out, n_sublayers),
            bias: bias.then(|| init.bias(d_in, d_out)),
        }
    }

    /// # Shapes
    /// - `x`: `[rows, d_in]`
    /// - result: `[rows, d_out]`
    pub fn forward(&self, x: Tensor<2>, pass: &Pass<'_>) -> Tensor<2> {
        self.forward_finished(x, Epilogue::plain(pass.precision()))
    }

    /// The same with what `epilogue` says on top.
    pub fn forward_finished(&self, x: Tensor<2>, epilogue: Epilogue) -> Tensor<2> {
        ops::linear(x, vec![self.as_map()], epilogue)
    }

    /// The results of several maps side by side, `[rows, N · d_out]`.
    pub fn forward_all<const N: usize>(
        maps: [&Self; N],
        x: Tensor<2>,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let maps = maps.map(Self::as_map).into();
        ops::linear(x, maps, Epilogue::plain(pass.precision()))
    }

    /// Weight and bias.
    pub fn as_map(&self) -> Map {
        Map::dense(self.weight.val(), self.bias.as_ref().map(Param::val))
    }
}
