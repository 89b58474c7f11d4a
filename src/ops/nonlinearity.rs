//! The activation functions of feed-forward networks, plain and gated.

pub use attentive_kernels::nonlinearity::Nonlinearity;
use attentive_kernels::nonlinearity::{
    gated as gated_kernel, gated_backward, nonlinear as kernel, nonlinear_backward,
};
use burn::tensor::Tensor;
use burn::tensor::activation::{gelu, relu, sigmoid, tanh};

use super::buffers;
use super::fused::{self, Context, Kernel, Mode, Output};

/// f(`x`), element by element.
pub fn nonlinear(f: Nonlinearity, x: Tensor<2>) -> Tensor<2> {
    match f {
        // Burn's implementations are as good, and give the same numbers as earlier versions.
        Nonlinearity::Relu | Nonlinearity::Gelu => portable(f, x),
        Nonlinearity::GeluTanh | Nonlinearity::Silu if fused::applies(&x) => {
            let shape = x.dims();
            fused::apply(Function(f), FunctionOperands { x: x.into() }, shape)
        }
        _ => portable(f, x),
    }
}

/// Gated linear unit (Shazeer 2020): f(a) ⊙ b, where a and b are the halves of each row of `x`.
///
/// # Shapes
/// - `x`: `[rows, 2 · d]`
/// - result: `[rows, d]`
pub fn gated(f: Nonlinearity, x: Tensor<2>) -> Tensor<2> {
    if !fused::applies(&x) {
        return gated_portable(f, x);
    }
    let [rows, width] = x.dims();
    let d = width / 2;
    fused::apply(Gate { f, d }, FunctionOperands { x: x.into() }, [rows, d])
}

pub(super) fn portable(f: Nonlinearity, x: Tensor<2>) -> Tensor<2> {
    match f {
        Nonlinearity::Relu => relu(x),
        Nonlinearity::Gelu => gelu(x),
        Nonlinearity::GeluTanh => {
            let cube = x.clone() * x.clone() * x.clone();
            let sum = (x.clone() + cube * 0.044715) * (2.0 / std::f64::consts::PI).sqrt();
            x * (tanh(sum) + 1.0) * 0.5
        }
        Nonlinearity::Silu => x.clone() * sigmoid(x),
    }
}

pub(super) fn gated_portable(f: Nonlinearity, x: Tensor<2>) -> Tensor<2> {
    let d = x.dims()[1] / 2;
    portable(f, x.clone().narrow(1, 0, d)) * x.narrow(1, d, d)
}

operands! {
    struct FunctionOperands {
        x: One,
    }
}

#[derive(Clone, Debug)]
struct Function(Nonlinearity);

impl Kernel for Function {
    const NAME: &'static str = "activation";
    type Operands = FunctionOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: FunctionOperands<&[f32]>, _mode: Mode) -> Output<Self> {
        let mut out = buffers::take(inputs.x.len());
        kernel(self.0, inputs.x, &mut out);
        Output::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> FunctionOperands<Option<Vec<f32>>> {
        let x = context.inputs.x;
        let mut dx = buffers::take(x.len());
        nonlinear_backward(self.0, x, context.grad, &mut dx);
        FunctionOperands { x: Some(dx) }
    }
}

#[derive(Clone, Debug)]
struct Gate {
    f: Nonlinearity,
    d: usize,
}

impl Kernel for Gate {
    const NAME: &'static str = "gate";
    type Operands = FunctionOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: FunctionOperands<&[f32]>, _mode: Mode) -> Output<Self> {
        let mut out = buffers::take(inputs.x.len() / 2);
        gated_kernel(self.f, self.d, inputs.x, &mut out);
        Output::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> FunctionOperands<Option<Vec<f32>>> {
        let x = context.inputs.x;
        let mut dx = buffers::take(x.len());
        gated_backward(self.f, self.d, x, context.grad, &mut dx);
        FunctionOperands { x: Some(dx) }
    }
}
