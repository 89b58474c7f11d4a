//! Linear maps.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::{Pass, Scope};
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
    /// The map at `scope`.
    pub fn new(bias: bool, scope: Scope<'_>) -> Self {
        Self {
            weight: scope.parameter("weight"),
            bias: bias.then(|| scope.parameter("bias")),
        }
    }

    /// # Shapes
    /// - `x`: `[rows, d_in]`
    /// - result: `[rows, d_out]`
    pub fn forward(&self, x: Tensor<2>, pass: &Pass<'_>) -> Tensor<2> {
        self.forward_with(x, Epilogue::plain(pass.precision()))
    }

    /// As [`Linear::forward`], followed by `epilogue`.
    pub fn forward_with(&self, x: Tensor<2>, epilogue: Epilogue) -> Tensor<2> {
        ops::linear(x, vec![self.as_map()], epilogue)
    }

    /// The results of several maps side by side, `[rows, Σ d_out]`.
    pub fn forward_all<const N: usize>(
        maps: [&Self; N],
        x: Tensor<2>,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let maps = maps.map(Self::as_map);
        let same = maps.iter().all(|map| map.d_out() == maps[0].d_out());
        let epilogue = Epilogue::plain(pass.precision());
        if same {
            return ops::linear(x, maps.into(), epilogue);
        }
        let parts = maps.map(|map| ops::linear(x.clone(), vec![map], epilogue));
        Tensor::cat(parts.into(), 1)
    }

    /// Weight and bias.
    pub fn as_map(&self) -> Map {
        Map {
            weight: self.weight.val(),
            bias: self.bias.as_ref().map(Param::val),
        }
    }
}
