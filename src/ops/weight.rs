//! Stored weight matrices.

use burn::tensor::{DType, Device, Tensor};

use super::Precision;

/// A weight matrix `[d_out, d_in]`. Only the operations know how it is stored.
#[derive(Clone, Debug)]
pub enum Weight {
    /// Dense, in the type of the tensor.
    Dense(Tensor<2>),
}

/// A linear layer: x·Wᵀ + b.
#[derive(Clone, Debug)]
pub struct Map {
    /// W, `[d_out, d_in]`.
    pub weight: Weight,
    /// b, `[d_out]`.
    pub bias: Option<Tensor<1>>,
}

impl Weight {
    /// d_out
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense(weight) => weight.dims()[0],
        }
    }

    /// d_in
    pub fn cols(&self) -> usize {
        match self {
            Self::Dense(weight) => weight.dims()[1],
        }
    }

    /// The device of the weight.
    pub fn device(&self) -> Device {
        match self {
            Self::Dense(weight) => weight.device(),
        }
    }

    /// The dense matrix, for kernels that need one.
    pub(super) fn into_dense(self) -> Tensor<2> {
        match self {
            Self::Dense(weight) => weight,
        }
    }

    /// x·Wᵀ using Burn's operations.
    pub(super) fn product(&self, x: Tensor<2>, precision: Precision) -> Tensor<2> {
        let Self::Dense(weight) = self;
        operand(x, precision).matmul(operand(weight.clone(), precision).transpose())
    }
}

impl From<Tensor<2>> for Weight {
    fn from(weight: Tensor<2>) -> Self {
        Self::Dense(weight)
    }
}

impl Map {
    /// A layer with a dense weight.
    pub fn dense(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        Self {
            weight: weight.into(),
            bias,
        }
    }

    /// Weight and bias as tensors, for kernels that need dense matrices.
    pub(super) fn into_parts(self) -> (Tensor<2>, Option<Tensor<1>>) {
        (self.weight.into_dense(), self.bias)
    }

    /// x·Wᵀ + b using Burn's operations.
    pub(super) fn portable(&self, x: Tensor<2>, precision: Precision) -> Tensor<2> {
        let product = self.weight.product(x, precision);
        match &self.bias {
            Some(bias) => product + bias.clone().unsqueeze(),
            None => product,
        }
    }
}

/// Rounds an operand to `precision`.
fn operand(x: Tensor<2>, precision: Precision) -> Tensor<2> {
    match precision {
        Precision::F32 => x,
        Precision::Bf16 => {
            let dtype = x.dtype();
            x.cast(DType::BF16).cast(dtype)
        }
    }
}
