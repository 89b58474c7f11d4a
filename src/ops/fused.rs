//! The infrastructure of all fused operations: slices in, slices out, with a backward rule for Burn's autodiff.

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
use super::completion::{self, Leaf};
use super::operands::Operands;
use super::profile::{Spent, timed};

/// An operation on float tensors with its own forward and backward pass.
pub(crate) trait Kernel: Clone + Debug + Send + 'static {
    /// Name used in profiles.
    const NAME: &'static str;

    /// The operands.
    type Operands: Operands;

    /// Values computed by the forward pass for the backward pass.
    type Saved: Clone + Debug + Send + 'static;

    /// Values computed by the forward pass for the caller.
    type Side;

    /// Computes the output and, in `Mode::Tracked`, the values for the backward pass.
    fn forward(&self, inputs: Of<Self, &[f32]>, mode: Mode) -> Output<Self>;

    /// Computes the gradient of each input; `None` is allowed if it is not wanted.
    fn backward(&self, context: Context<'_, Self>) -> Of<Self, Option<Vec<f32>>>;

    /// Inputs read by the backward pass; the others need not be kept.
    fn keeps(&self) -> Kept {
        Kept::All
    }

    /// Whether the backward pass reads the output.
    fn keeps_output(&self) -> bool {
        false
    }

    /// Floating-point operations of the matrix products in the forward and the backward pass.
    fn flops(&self) -> [f64; 2] {
        [0.0; 2]
    }
}

/// The operands of a kernel, with a `T` for each.
pub(crate) type Of<K, T> = <<K as Kernel>::Operands as Operands>::Of<T>;

/// Result of a forward pass.
pub(crate) struct Output<K: Kernel> {
    /// The output.
    pub values: Vec<f32>,
    /// Values for the backward pass.
    pub saved: K::Saved,
    /// Values for the caller.
    pub side: K::Side,
}

impl<K: Kernel<Side = ()>> Output<K> {
    /// An output without side values.
    pub(super) fn new(values: Vec<f32>, saved: K::Saved) -> Self {
        Self {
            values,
            saved,
            side: (),
        }
    }
}

/// Inputs kept for the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All.
    All,
    /// All but the first.
    AllButFirst,
    /// None.
    Nothing,
}

impl Kept {
    fn keeps(self, number: usize) -> bool {
        match self {
            Self::All => true,
            Self::AllButFirst => number > 0,
            Self::Nothing => false,
        }
    }
}

/// Whether a backward pass may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Inference only.
    Plain,
    /// A gradient may be requested.
    Tracked,
}

/// Inputs of a backward pass.
pub(crate) struct Context<'a, K: Kernel> {
    /// The inputs of the forward pass; empty unless kept ([`Kernel::keeps`]).
    pub inputs: Of<K, &'a [f32]>,
    /// The output of the forward pass; empty unless `keeps_output`.
    pub output: &'a [f32],
    /// Values saved by the forward pass.
    pub saved: K::Saved,
    /// The gradient of the output.
    pub grad: &'a [f32],
    /// Which inputs need a gradient.
    pub wanted: Of<K, bool>,
}

/// A float tensor with its rank erased, so that operands of different ranks fit into one list.
pub(crate) struct Operand(Tensor<1>);

impl<const D: usize> From<Tensor<D>> for Operand {
    fn from(tensor: Tensor<D>) -> Self {
        Self(Tensor::from_dispatch(tensor.into_dispatch()))
    }
}

/// Whether the fused implementation applies: `f32` on the CPU.
pub(crate) fn applies<const D: usize>(tensor: &Tensor<D>) -> bool {
    tensor.dtype() == DType::F32 && tensor.device() == Device::flex()
}

/// The node of `tensor` in the graph of Burn's autodiff on the CPU, if it has one.
pub(super) fn node<const D: usize>(tensor: Tensor<D>) -> Option<Leaf> {
    let Operand(tensor) = tensor.into();
    if !tensor.is_autodiff() {
        return None;
    }
    let primitive = tensor.autodiff().try_into_primitive::<Autodiff<Flex>>();
    Some(primitive.ok()?.node().id().value)
}

/// Runs `kernel` and records its backward rule if any operand is under autodiff.
///
/// # Panics
/// If there are no operands, or more than nine.
pub(crate) fn apply<const D: usize, K: Kernel<Side = ()>>(
    kernel: K,
    operands: Of<K, Operand>,
    shape: [usize; D],
) -> Tensor<D> {
    apply_with_side(kernel, operands, shape).0
}

/// Like [`apply`], and also returns the values that the forward pass computed for the caller.
///
/// # Panics
/// See [`apply`].
pub(crate) fn apply_with_side<const D: usize, K: Kernel>(
    kernel: K,
    operands: Of<K, Operand>,
    shape: [usize; D],
) -> (Tensor<D>, K::Side) {
    let call = Call {
        kernel,
        layout: K::Operands::layout(&operands),
    };
    let operands = K::Operands::list(operands);
    if operands.iter().any(|operand| operand.0.is_autodiff()) {
        let operands: Vec<_> = operands
            .into_iter()
            .map(|operand| on_cpu(operand.0.autodiff().try_into_primitive::<Autodiff<Flex>>()))
            .collect();
        let shape = shape.to_vec();
        // Burn requires the number of parents of a rule at compile time.
        macro_rules! track {
            ($($count:literal)*) => {
                match operands.len() {
                    $($count => track::<$count, K>(call, operands, shape),)*
                    count => panic!("unsupported number of operands: {count}"),
                }
            };
        }
        let (output, side) = track!(1 2 3 4 5 6 7 8 9);
        (Tensor::from_primitive::<Autodiff<Flex>>(output), side)
    } else {
        let inputs: Vec<_> = operands
            .into_iter()
            .map(|operand| contiguous(on_cpu(operand.0.try_into_primitive::<Flex>())))
            .collect();
        let Output { values, side, .. } = call.forward(&inputs, Mode::Plain);
        inputs.into_iter().for_each(recycle);
        let output = Tensor::from_primitive::<Flex>(flex_tensor(values, shape.to_vec()));
        (output, side)
    }
}

/// A kernel and the layout of its operands.
#[derive(Clone, Debug)]
struct Call<K: Kernel> {
    kernel: K,
    layout: K::Operands,
}

impl<K: Kernel> Call<K> {
    fn forward(&self, inputs: &[FlexTensor], mode: Mode) -> Output<K> {
        let kernel = &self.kernel;
        let book = |spent: &mut Spent, elapsed| {
            spent.calls += 1;
            spent.forward += elapsed;
            spent.flops += kernel.flops()[0];
        };
        let inputs = self.layout.named(inputs.iter().map(slice).collect());
        timed(K::NAME, book, || kernel.forward(inputs, mode))
    }
}

fn on_cpu<T, E: Debug>(primitive: Result<T, E>) -> T {
    primitive.expect("all operands of a fused operation must be on the CPU")
}

fn track<const N: usize, K: Kernel>(
    call: Call<K>,
    operands: Vec<FloatTensor<Autodiff<Flex>>>,
    shape: Vec<usize>,
) -> (FloatTensor<Autodiff<Flex>>, K::Side) {
    let nodes: [_; N] = std::array::from_fn(|i| operands[i].node());
    for node in &nodes {
        completion::used(node.id().value);
    }
    let inputs: Vec<_> = operands
        .into_iter()
        .map(|operand| contiguous(operand.into_primitive()))
        .collect();
    match Rule::<N, K>(call.clone())
        .prepare::<NoCheckpointing>(nodes)
        .compute_bound()
        .stateful()
    {
        OpsKind::Tracked(operation) => {
            let Output {
                values,
                saved,
                side,
            } = call.forward(&inputs, Mode::Tracked);
            let output = flex_tensor(values, shape);
            let shapes = inputs.iter().map(|input| input.layout().shape().clone());
            let shapes = shapes.collect();
            let keep = |(number, input): (usize, FlexTensor)| {
                if call.kernel.keeps().keeps(number) {
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
                output: call.kernel.keeps_output().then(|| output.clone()),
            };
            (operation.finish(state, output), side)
        }
        OpsKind::UnTracked(operation) => {
            let Output { values, side, .. } = call.forward(&inputs, Mode::Plain);
            (operation.finish(flex_tensor(values, shape)), side)
        }
    }
}

/// The backward rule of a kernel with `N` operands for Burn's autodiff.
#[derive(Debug)]
struct Rule<const N: usize, K: Kernel>(Call<K>);

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
        let Call { kernel, layout } = self.0;
        let context = Context {
            inputs: layout.named(inputs.iter().map(kept_slice).collect()),
            output: kept_slice(&output),
            saved,
            grad: slice(&grad),
            wanted: layout.named(ops.parents.iter().map(Option::is_some).collect()),
        };
        let book = |spent: &mut Spent, elapsed| {
            spent.backward += elapsed;
            spent.flops += kernel.flops()[1];
        };
        let gradients = timed(K::NAME, book, || kernel.backward(context));
        let gradients = K::Operands::list(gradients);
        let done = inputs.into_iter().flatten().chain(output).chain([grad]);
        done.for_each(recycle);
        for ((parent, gradient), shape) in ops.parents.into_iter().zip(gradients).zip(shapes) {
            if let (Some(parent), Some(gradient)) = (parent, gradient) {
                grads.register::<Flex>(parent.id, flex_tensor(gradient, shape));
                let leaf = parent.id.value;
                if parent.order == 0 && completion::contributed(leaf) {
                    let gradient = contiguous(grads.consume::<Flex>(&parent));
                    completion::show(leaf, slice(&gradient));
                }
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

/// Returns the buffer of a tensor to the pool if there are no other references to it.
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

fn kept_slice(tensor: &Option<FlexTensor>) -> &[f32] {
    tensor.as_ref().map_or(&[], slice)
}

fn slice(tensor: &FlexTensor) -> &[f32] {
    tensor
        .as_slice()
        .expect("`contiguous` made the tensor one slice of f32")
}
