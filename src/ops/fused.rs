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

use super::buffers;
use super::profile::{Spent, timed};

/// An operation on some float tensors with passes of its own.
pub(crate) trait Kernel: Clone + Debug + Send + 'static {
    /// What a profile calls it.
    const NAME: &'static str;

    /// What the forward pass computes on the side for the backward pass.
    type Saved: Clone + Debug + Send + 'static;

    /// The output, and what the backward pass will want if one can follow (`Pass::Tracked`).
    fn forward(&self, inputs: &[&[f32]], pass: Pass) -> (Vec<f32>, Self::Saved);

    /// The gradient of each input; `None` is allowed where it is not wanted.
    fn backward(&self, context: Context<'_, Self::Saved>) -> Vec<Option<Vec<f32>>>;

    /// Whether the backward pass reads input number `input`; if not, it need not stay in memory.
    fn keeps_input(&self, _input: usize) -> bool {
        true
    }

    /// Whether the backward pass reads the output.
    fn keeps_output(&self) -> bool {
        false
    }

    /// Floating-point operations of the matrix products in a forward and in a backward pass.
    fn flops(&self) -> [f64; 2] {
        [0.0; 2]
    }
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
pub(crate) struct Context<'a, S> {
    /// The forward pass's inputs; empty where not kept (`keeps_input`).
    pub inputs: &'a [&'a [f32]],
    /// The forward pass's output; empty unless `keeps_output`.
    pub output: &'a [f32],
    /// What the forward pass saved.
    pub saved: S,
    /// The gradient of the output.
    pub grad: &'a [f32],
    /// Which inputs need a gradient.
    pub wanted: &'a [bool],
}

/// A float tensor whose rank the type no longer shows, so that operands of different rank fit in one list.
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
///
/// # Panics
/// With no operand or more than nine.
pub(crate) fn apply<const D: usize, K: Kernel>(
    kernel: K,
    operands: Vec<Operand>,
    shape: [usize; D],
) -> Tensor<D> {
    if operands.iter().any(|operand| operand.0.is_autodiff()) {
        let operands: Vec<_> = operands
            .into_iter()
            .map(|operand| on_cpu(operand.0.autodiff().try_into_primitive::<Autodiff<Flex>>()))
            .collect();
        let shape = shape.to_vec();
        // Burn knows the number of a rule's parents at compile time.
        let output = match operands.len() {
            1 => track::<1, K>(kernel, operands, shape),
            2 => track::<2, K>(kernel, operands, shape),
            3 => track::<3, K>(kernel, operands, shape),
            4 => track::<4, K>(kernel, operands, shape),
            5 => track::<5, K>(kernel, operands, shape),
            6 => track::<6, K>(kernel, operands, shape),
            7 => track::<7, K>(kernel, operands, shape),
            8 => track::<8, K>(kernel, operands, shape),
            9 => track::<9, K>(kernel, operands, shape),
            n => panic!("an operation on {n} tensors"),
        };
        Tensor::from_primitive::<Autodiff<Flex>>(output)
    } else {
        let inputs: Vec<_> = operands
            .into_iter()
            .map(|operand| contiguous(on_cpu(operand.0.try_into_primitive::<Flex>())))
            .collect();
        let (output, _) = forward(&kernel, &inputs, Pass::Plain);
        inputs.into_iter().for_each(recycle);
        Tensor::from_primitive::<Flex>(flex_tensor(output, shape.to_vec()))
    }
}

fn forward<K: Kernel>(kernel: &K, inputs: &[FlexTensor], pass: Pass) -> (Vec<f32>, K::Saved) {
    let book = |spent: &mut Spent, elapsed| {
        spent.calls += 1;
        spent.forward += elapsed;
        spent.flops += kernel.flops()[0];
    };
    timed(K::NAME, book, || kernel.forward(&slices(inputs), pass))
}

fn on_cpu<T, E: Debug>(primitive: Result<T, E>) -> T {
    primitive.expect("all operands of a fused operation live on the CPU")
}

fn track<const N: usize, K: Kernel>(
    kernel: K,
    operands: Vec<FloatTensor<Autodiff<Flex>>>,
    shape: Vec<usize>,
) -> FloatTensor<Autodiff<Flex>> {
    let nodes = std::array::from_fn(|i| operands[i].node());
    let inputs: Vec<_> = operands
        .into_iter()
        .map(|operand| contiguous(operand.into_primitive()))
        .collect();
    match Rule::<N, K>(kernel.clone())
        .prepare::<NoCheckpointing>(nodes)
        .compute_bound()
        .stateful()
    {
        OpsKind::Tracked(operation) => {
            let (output, saved) = forward(&kernel, &inputs, Pass::Tracked);
            let output = flex_tensor(output, shape);
            let shapes = inputs.iter().map(|input| input.layout().shape().clone());
            let shapes = shapes.collect();
            let keep = |(number, input): (usize, FlexTensor)| {
                if kernel.keeps_input(number) {
                    Some(input)
                } else {
                    recycle(input);
                    None
                }
            };
            let state = State {
                shapes,
                saved,
                inputs: inputs.into_iter().enumerate().map(keep).collect(),
                output: kernel.keeps_output().then(|| output.clone()),
            };
            operation.finish(state, output)
        }
        OpsKind::UnTracked(operation) => {
            let (output, _) = forward(&kernel, &inputs, Pass::Plain);
            operation.finish(flex_tensor(output, shape))
        }
    }
}

/// The backward rule of a kernel with `N` operands, as Burn's autodiff wants it.
#[derive(Debug)]
struct Rule<const N: usize, K>(K);

#[derive(Clone, Debug)]
struct State<S> {
    saved: S,
    shapes: Vec<Shape>,
    inputs: Vec<Option<FlexTensor>>,
    output: Option<FlexTensor>,
}

impl<const N: usize, K: Kernel> Backward<Flex, N> for Rule<N, K> {
    type State = State<K::Saved>;

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
        let context = Context {
            inputs: &inputs.iter().map(kept_slice).collect::<Vec<_>>(),
            output: kept_slice(&output),
            saved,
            grad: slice(&grad),
            wanted: &ops.parents.each_ref().map(Option::is_some),
        };
        let book = |spent: &mut Spent, elapsed| {
            spent.backward += elapsed;
            spent.flops += self.0.flops()[1];
        };
        let gradients = timed(K::NAME, book, || self.0.backward(context));
        let done = inputs.into_iter().flatten().chain(output).chain([grad]);
        done.for_each(recycle);
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

/// Keeps the memory of a tensor that nobody else holds.
fn recycle(tensor: FlexTensor) {
    if tensor.is_unique()
        && let Ok(buffer) = tensor.into_data().try_into_vec()
    {
        buffers::give(buffer);
    }
}

fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.as_slice::<f32>().is_some() {
        tensor
    } else {
        tensor.to_contiguous()
    }
}

fn slices(tensors: &[FlexTensor]) -> Vec<&[f32]> {
    tensors.iter().map(slice).collect()
}

fn kept_slice(tensor: &Option<FlexTensor>) -> &[f32] {
    tensor.as_ref().map_or(&[], slice)
}

fn slice(tensor: &FlexTensor) -> &[f32] {
    tensor
        .as_slice()
        .expect("`contiguous` made the tensor one slice of f32")
}
