//! Stored weight matrices.

use std::sync::Arc;

use attentive_kernels::packed::PackedF32Buf;
use burn::tensor::{DType, Device, Tensor};

use super::{Precision, fused};

/// A weight matrix `[d_out, d_in]`. Only the operations know how it is stored.
#[derive(Clone, Debug)]
pub enum Weight {
    /// Dense, in the type of the tensor.
    Dense(Tensor<2>),
    /// Packed once for products in `f32`, for inference.
    Packed {
        /// The same, for operations that need a dense matrix.
        dense: Tensor<2>,
        /// The packed one.
        packed: Arc<PackedF32Buf>,
    },
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
    /// `weight`, packed where that makes products faster: in `f32` on the CPU.
    pub fn packed(weight: Tensor<2>) -> Self {
        if !fused::applies(&weight) || weight.is_autodiff() {
            return Self::Dense(weight);
        }
        let [n, k] = weight.dims();
        let data = weight.to_data();
        let values = data.as_slice().expect("fused operations apply to f32");
        Self::Packed {
            packed: Arc::new(PackedF32Buf::pack(values, n, k)),
            dense: weight,
        }
    }

    /// d_out
    pub fn rows(&self) -> usize {
        self.dense().dims()[0]
    }

    /// d_in
    pub fn cols(&self) -> usize {
        self.dense().dims()[1]
    }

    /// The device of the weight.
    pub fn device(&self) -> Device {
        self.dense().device()
    }

    /// The dense matrix, for kernels that need one.
    pub(super) fn into_dense(self) -> Tensor<2> {
        match self {
            Self::Dense(weight) | Self::Packed { dense: weight, .. } => weight,
        }
    }

    /// x·Wᵀ using Burn's operations.
    pub(super) fn product(&self, x: Tensor<2>, precision: Precision) -> Tensor<2> {
        operand(x, precision).matmul(operand(self.dense().clone(), precision).transpose())
    }

    fn dense(&self) -> &Tensor<2> {
        match self {
            Self::Dense(weight) | Self::Packed { dense: weight, .. } => weight,
        }
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
