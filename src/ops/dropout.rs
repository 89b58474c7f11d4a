//! Dropout and the residual sum behind it.

use attentive_kernels::dropout::{Dropout, dropout_add as kernel};
use burn::tensor::{Tensor, TensorData};

use super::buffers;
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
            fused::apply(DropoutAdd(dropout), vec![x.into()], shape)
        }
        (Some(dropout), Some(residual)) if fused::applies(&x) => {
            let shape = x.dims();
            fused::apply(DropoutAdd(dropout), vec![x.into(), residual.into()], shape)
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

/// Inputs: x and, if there is one, the residual.
#[derive(Clone, Debug)]
struct DropoutAdd(Dropout);

impl Kernel for DropoutAdd {
    const NAME: &'static str = "dropout";
    type Saved = ();

    fn keeps_input(&self, _input: usize) -> bool {
        false
    }

    fn forward(&self, inputs: &[&[f32]], _pass: Pass) -> (Vec<f32>, ()) {
        let mut out = buffers::take(inputs[0].len());
        kernel(0, inputs[0], inputs.get(1).copied(), Some(self.0), &mut out);
        (out, ())
    }

    fn backward(&self, context: Context<'_, ()>) -> Vec<Option<Vec<f32>>> {
        let through = |dropout| {
            let mut gradient = buffers::take(context.grad.len());
            kernel(0, context.grad, None, dropout, &mut gradient);
            gradient
        };
        let masks = [Some(self.0), None];
        let wanted = context.wanted.iter().zip(masks);
        wanted
            .map(|(wanted, mask)| wanted.then(|| through(mask)))
            .collect()
    }
}
