//! The one mechanism behind every fused operation: slices in, slices out, with a backward rule for Burn's autodiff.

use std::fmt::Debug;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Flex};
use burn::tensor::{DType, Device, Tensor};
use burn_flex::{FlexTensor, Layout};
use burn_std::{Bytes, Shape};

/// An operation on `N` float tensors with passes of its own.
pub(crate) trait Kernel<const N: usize>: Clone + Debug + Send + 'static {
    /// What the forward pass computes on the side for the backward pass.
    type Saved: Clone + Debug + Send + 'static;

    /// The output, and what the backward pass will want if one can follow (`Pass::Tracked`).
    fn forward(&self, inputs: [&[f32]; N], pass: Pass) -> (Vec<f32>, Self::Saved);

    /// The gradient of each wanted input.
    fn backward(&self, context: Context<'_, N, Self::Saved>) -> [Option<Vec<f32>>; N];

    /// Whether the backward pass reads the inputs; if not, they need not stay in memory.
    const KEEPS_INPUTS: bool = true;
    /// Whether the backward pass reads the output.
    const KEEPS_OUTPUT: bool = false;
}

/// Whether a backward pass can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Inference.
    Plain,
    /// A gradient may be asked for.
    Tracked,
}

/// What a backward pass works on.
pub(crate) struct Context<'a, const N: usize, S> {
    /// The forward pass's inputs; empty unless `KEEPS_INPUTS`.
    pub inputs: [&'a [f32]; N],
    /// The forward pass's output; empty unless `KEEPS_OUTPUT`.
    pub output: &'a [f32],
    /// What the forward pass saved.
    pub saved: S,
    /// The gradient of the output.
    pub grad: &'a [f32],
    /// Which inputs need a gradient.
    pub wanted: [bool; N],
}

/// A float tensor whose rank the type no longer shows, so that operands of different rank fit in one array.
pub(crate) struct Operand(Tensor<1>);

impl<const D: usize> From<Tensor<D>> for Operand {
    fn from(tensor: Tensor<D>) -> Self {
        Self(Tensor::from_dispatch(tensor.into_dispatch()))
    }
}

/// Whether the fused form applies: `f32` on the CPU.
pub(crate) fn applies<const D: usize>(tensor: &Tensor<D>) -> bool {
    tensor.dtype() == DType::F32 && tensor.device() == Device::flex()
}

/// Runs `kernel` and records its backward rule if any operand is under autodiff.
pub(crate) fn apply<const N: usize, const D: usize, K: Kernel<N>>(
    kernel: K,
    operands: [Operand; N],
    shape: [usize; D],
) -> Tensor<D> {
    if operands.iter().any(|operand| operand.0.is_autodiff()) {
        let operands = operands
            .map(|operand| on_cpu(operand.0.autodiff().try_into_primitive::<Autodiff<Flex>>()));
        Tensor::from_primitive::<Autodiff<Flex>>(track(kernel, operands, shape.to_vec()))
    } else {
        let inputs =
            operands.map(|operand| contiguous(on_cpu(operand.0.try_into_primitive::<Flex>())));
        let (output, _) = kernel.forward(inputs.each_ref().map(slice), Pass::Plain);
        Tensor::from_primitive::<Flex>(flex_tensor(output, shape.to_vec()))
    }
}

fn on_cpu<T, E: Debug>(primitive: Result<T, E>) -> T {
    primitive.expect("all operands of a fused operation live on the CPU")
}

fn track<const N: usize, K: Kernel<N>>(
    kernel: K,
    operands: [FloatTensor<Autodiff<Flex>>; N],
    shape: Vec<usize>,
) -> FloatTensor<Autodiff<Flex>> {
    let nodes = operands.each_ref().map(|operand| operand.node());
    let inputs = operands.map(|operand| contiguous(operand.into_primitive()));
    match Rule(kernel.clone())
        .prepare::<NoCheckpointing>(nodes)
        .compute_bound()
        .stateful()
    {
        OpsKind::Tracked(operation) => {
            let (output, saved) = kernel.forward(inputs.each_ref().map(slice), Pass::Tracked);
            let output = flex_tensor(output, shape);
            let state = State {
                shapes: inputs
                    .each_ref()
                    .map(|input| input.layout().shape().clone()),
                saved,
                inputs: K::KEEPS_INPUTS.then_some(inputs),
                output: K::KEEPS_OUTPUT.then(|| output.clone()),
            };
            operation.finish(state, output)
        }
        OpsKind::UnTracked(operation) => {
            let (output, _) = kernel.forward(inputs.each_ref().map(slice), Pass::Plain);
            operation.finish(flex_tensor(output, shape))
        }
    }
}

/// The backward rule of a kernel, as Burn's autodiff wants it.
#[derive(Debug)]
struct Rule<K>(K);

#[derive(Clone, Debug)]
struct State<const N: usize, S> {
    saved: S,
    shapes: [Shape; N],
    inputs: Option<[FlexTensor; N]>,
    output: Option<FlexTensor>,
}

impl<const N: usize, K: Kernel<N>> Backward<Flex, N> for Rule<K> {
    type State = State<N, K::Saved>;

    fn backward(
        self,
        ops: Ops<Self::State, N>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let grad = contiguous(grads.consume::<Flex>(&ops.node));
        let State {
            saved,
            shapes,
            inputs,
            output,
        } = ops.state;
        let gradients = self.0.backward(Context {
            inputs: match &inputs {
                Some(inputs) => inputs.each_ref().map(slice),
                None => [&[]; N],
            },
            output: output.as_ref().map_or(&[], slice),
            saved,
            grad: slice(&grad),
            wanted: ops.parents.each_ref().map(Option::is_some),
        });
        for ((parent, gradient), shape) in ops.parents.into_iter().zip(gradients).zip(shapes) {
            if let (Some(parent), Some(gradient)) = (parent, gradient) {
                grads.register::<Flex>(parent.id, flex_tensor(gradient, shape));
            }
        }
    }
}

fn flex_tensor(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::new(
        Bytes::from_elems(values),
        Layout::contiguous(shape.into()),
        DType::F32,
    )
}

fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.as_slice::<f32>().is_some() {
        tensor
    } else {
        tensor.to_contiguous()
    }
}

fn slice(tensor: &FlexTensor) -> &[f32] {
    tensor
        .as_slice()
        .expect("`contiguous` made the tensor one slice of f32")
}
