//! Linear maps as operands.

use burn::tensor::{DType, Tensor};

use super::Precision;

/// A linear layer: x·Wᵀ + b.
#[derive(Clone, Debug)]
pub struct Map {
    /// W, `[d_out, d_in]`.
    pub weight: Tensor<2>,
    /// b, `[d_out]`.
    pub bias: Option<Tensor<1>>,
}

impl Map {
    /// d_out
    pub fn d_out(&self) -> usize {
        self.weight.dims()[0]
    }

    /// x·Wᵀ + b using Burn's operations.
    pub(super) fn portable(&self, x: Tensor<2>, precision: Precision) -> Tensor<2> {
        let product = product(x, &self.weight, precision);
        match &self.bias {
            Some(bias) => product + bias.clone().unsqueeze(),
            None => product,
        }
    }
}

/// x·Wᵀ using Burn's operations.
pub(super) fn product(x: Tensor<2>, weight: &Tensor<2>, precision: Precision) -> Tensor<2> {
    operand(x, precision).matmul(operand(weight.clone(), precision).transpose())
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
