//! Dropout and the residual sum behind it.

use attentive_kernels::dropout::{Dropout, dropout_add as kernel, dropout_backward};
use burn::tensor::{Tensor, TensorData};

use super::fused::{self, Context, Kernel, Pass};

/// `residual + dropout(x)`, element by element, for tensors of any one shape.
///
/// The mask is a function of (seed, step, site, element), so it is computed again in the backward pass instead of stored.
pub fn dropout_add<const D: usize>(
    x: Tensor<D>,
    residual: Option<Tensor<D>>,
    dropout: Option<Dropout>,
) -> Tensor<D> {
    match (dropout, residual) {
        (None, None) => x,
        (None, Some(residual)) => residual + x,
        (Some(dropout), None) if fused::applies(&x) => {
            let shape = x.dims();
            fused::apply(DropoutAdd(dropout), [x.into()], shape)
        }
        (Some(dropout), Some(residual)) if fused::applies(&x) => {
            let shape = x.dims();
            fused::apply(DropoutAdd(dropout), [x.into(), residual.into()], shape)
        }
        (Some(dropout), None) => portable(x, dropout),
        (Some(dropout), Some(residual)) => residual + portable(x, dropout),
    }
}

pub(super) fn portable<const D: usize>(x: Tensor<D>, dropout: Dropout) -> Tensor<D> {
    let shape = x.shape();
    let mut scales = vec![0.0f32; shape.num_elements()];
    dropout.scales(0, &mut scales);
    let data = TensorData::new(scales, shape).convert_dtype(x.dtype());
    x.clone() * Tensor::from_data(data, (&x.device(), x.dtype()))
}

/// Inputs: x and, with `N` = 2, the residual.
#[derive(Clone, Debug)]
struct DropoutAdd(Dropout);

impl<const N: usize> Kernel<N> for DropoutAdd {
    type Saved = ();
    const KEEPS_INPUTS: bool = false;

    fn forward(&self, inputs: [&[f32]; N], _pass: Pass) -> (Vec<f32>, ()) {
        let mut out = vec![0.0; inputs[0].len()];
        kernel(inputs[0], inputs.get(1).copied(), Some(self.0), &mut out);
        (out, ())
    }

    fn backward(&self, context: Context<'_, N, ()>) -> [Option<Vec<f32>>; N] {
        std::array::from_fn(|input| {
            context.wanted[input].then(|| match input {
                0 => {
                    let mut dx = vec![0.0; context.grad.len()];
                    dropout_backward(context.grad, self.0, &mut dx);
                    dx
                }
                _ => context.grad.to_vec(),
            })
        })
    }
}
