//! Stored matrices that rows are multiplied by.

use burn::tensor::{DType, Device, Tensor};

use super::Precision;

/// A matrix `[d_out, d_in]` that operations multiply rows by. How it is stored is known to them alone.
#[derive(Clone, Debug)]
pub enum Weight {
    /// Numbers of the tensor's type.
    Dense(Tensor<2>),
}

/// A linear map: x·Wᵀ + b.
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

    /// Where it lives.
    pub fn device(&self) -> Device {
        match self {
            Self::Dense(weight) => weight.device(),
        }
    }

    /// The matrix itself, for kernels of dense ones.
    pub(super) fn into_dense(self) -> Tensor<2> {
        match self {
            Self::Dense(weight) => weight,
        }
    }

    /// x·Wᵀ by Burn's operations.
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
    /// A map by a dense matrix.
    pub fn dense(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        Self {
            weight: weight.into(),
            bias,
        }
    }

    /// Weight and bias as tensors, for kernels of dense matrices.
    pub(super) fn into_parts(self) -> (Tensor<2>, Option<Tensor<1>>) {
        (self.weight.into_dense(), self.bias)
    }

    /// x·Wᵀ + b by Burn's operations.
    pub(super) fn portable(&self, x: Tensor<2>, precision: Precision) -> Tensor<2> {
        let product = self.weight.product(x, precision);
        match &self.bias {
            Some(bias) => product + bias.clone().unsqueeze(),
            None => product,
        }
    }
}

/// What a product at `precision` sees of an operand.
fn operand(x: Tensor<2>, precision: Precision) -> Tensor<2> {
    match precision {
        Precision::F32 => x,
        Precision::Bf16 => {
            let dtype = x.dtype();
            x.cast(DType::BF16).cast(dtype)
        }
    }
}
