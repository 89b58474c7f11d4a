//! Fused dropout and residual sum.

use attentive_kernels::dropout::{Dropout, dropout_add as kernel};
use burn::tensor::{Tensor, TensorData};

use super::buffers;
use super::fused::{self, Context, Kept, Kernel, Mode, Output};

/// `residual + dropout(x)`, element-wise, for tensors of equal shape.
///
/// The mask is a function of (seed, micro-batch, site, element), so the backward pass recomputes it instead of
/// storing it.
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
            let operands = DropoutOperands {
                x: x.into(),
                residual: None,
            };
            fused::apply(DropoutAdd(dropout), operands, shape)
        }
        (Some(dropout), Some(residual)) if fused::applies(&x) => {
            let shape = x.dims();
            let operands = DropoutOperands {
                x: x.into(),
                residual: Some(residual.into()),
            };
            fused::apply(DropoutAdd(dropout), operands, shape)
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

operands! {
    struct DropoutOperands {
        x: One,
        residual: Maybe,
    }
}

#[derive(Clone, Debug)]
struct DropoutAdd(Dropout);

impl Kernel for DropoutAdd {
    const NAME: &'static str = "dropout";
    type Operands = DropoutOperands<()>;
    type Saved = ();
    type Side = ();

    fn keeps(&self) -> Kept {
        Kept::Nothing
    }

    fn forward(&self, inputs: DropoutOperands<&[f32]>, _mode: Mode) -> Output<Self> {
        let DropoutOperands { x, residual } = inputs;
        let mut out = buffers::take(x.len());
        kernel(0, x, residual, Some(self.0), &mut out);
        Output::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> DropoutOperands<Option<Vec<f32>>> {
        let through = |dropout| {
            let mut gradient = buffers::take(context.grad.len());
            kernel(0, context.grad, None, dropout, &mut gradient);
            gradient
        };
        DropoutOperands {
            x: context.wanted.x.then(|| through(Some(self.0))),
            residual: (context.wanted.residual).map(|wanted| wanted.then(|| through(None))),
        }
    }
}
