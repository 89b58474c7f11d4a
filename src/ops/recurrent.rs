//! One direction of one recurrent layer, over whole sequences.

pub use attentive_kernels::recurrent::{Cell, Direction};
use attentive_kernels::recurrent::{
    Recurrence as KernelRecurrence, RecurrentCall, RecurrentGradients, RecurrentResult,
    recurrent as kernel, recurrent_backward,
};
use burn::tensor::activation::{sigmoid, tanh};
use burn::tensor::{Tensor, TensorData};

use super::fused::{self, Context, Kernel, Operand, Pass};
use super::{Lengths, Precision, buffers};

/// What makes a state from the one before.
#[derive(Clone, Debug)]
pub struct Recurrence {
    /// `[gates · d, d]`
    pub weight: Tensor<2>,
    /// `[gates · d]`
    pub bias: Option<Tensor<1>>,
    /// The states before the first position, `[batch, states · d]`; zeros if there are none.
    pub initial: Option<Tensor<2>>,
}

/// The states of all positions; see [`Cell`] for the formulas. Padding never enters a state.
///
/// # Shapes
/// - `projected`: `[batch · len, gates · d]`, the inputs' projections with their bias
/// - result: `[batch · len, states · d]`: h, and c behind it where the cell has one; zeros at padding
pub fn recurrent(
    cell: Cell,
    direction: Direction,
    lengths: &Lengths,
    projected: Tensor<2>,
    recurrence: Recurrence,
    precision: Precision,
) -> Tensor<2> {
    if !fused::applies(&projected) {
        return portable(cell, direction, lengths, projected, recurrence);
    }
    let [rows, width] = projected.dims();
    let Recurrence {
        weight,
        bias,
        initial,
    } = recurrence;
    let kernel = Recurrent {
        cell,
        direction,
        lengths: lengths.clone(),
        d: width / cell.gates(),
        precision,
        has_bias: bias.is_some(),
    };
    let states = cell.states() * kernel.d;
    let mut operands = vec![projected.into(), weight.into()];
    operands.extend(bias.map(Operand::from));
    operands.extend(initial.map(Operand::from));
    fused::apply(kernel, operands, [rows, states])
}

pub(super) fn portable(
    cell: Cell,
    direction: Direction,
    lengths: &Lengths,
    projected: Tensor<2>,
    recurrence: Recurrence,
) -> Tensor<2> {
    let [rows, width] = projected.dims();
    let (batch, len, d) = (lengths.rows(), lengths.width(), width / cell.gates());
    let options = (&projected.device(), projected.dtype());
    let states = cell.states() * d;
    let mut state = match recurrence.initial {
        Some(initial) => initial,
        None => Tensor::zeros([batch, states], options),
    };
    let inputs: Tensor<3> = projected.reshape([batch, len, width]);
    let mut outputs = vec![Tensor::<3>::zeros([batch, 1, states], options); len];
    let order: Vec<usize> = match direction {
        Direction::Forward => (0..len).collect(),
        Direction::Backward => (0..len).rev().collect(),
    };
    for position in order {
        let real = real_at(lengths, position, &state);
        let x: Tensor<2> = inputs
            .clone()
            .narrow(1, position, 1)
            .reshape([batch, width]);
        let hidden = state.clone().narrow(1, 0, d);
        let product = hidden.matmul(recurrence.weight.clone().transpose());
        let product = match &recurrence.bias {
            Some(bias) => product + bias.clone().unsqueeze(),
            None => product,
        };
        let next = step(cell, x, product, state.clone(), d) * real.clone();
        outputs[position] = next.clone().unsqueeze_dim(1);
        state = next + state * (-real + 1.0);
    }
    Tensor::cat(outputs, 1).reshape([rows, states])
}

/// 1 for each sequence that has `position`, else 0: `[batch, 1]`.
pub(super) fn real_at(lengths: &Lengths, position: usize, like: &Tensor<2>) -> Tensor<2> {
    let real: Vec<f64> = lengths.real_at(position).map(f64::from).collect();
    let data = TensorData::new(real, [lengths.rows(), 1]).convert_dtype(like.dtype());
    Tensor::from_data(data, (&like.device(), like.dtype()))
}

/// The next states from the input's and the hidden state's share of the gates.
pub(super) fn step(
    cell: Cell,
    x: Tensor<2>,
    product: Tensor<2>,
    state: Tensor<2>,
    d: usize,
) -> Tensor<2> {
    let gate = |x: &Tensor<2>, number: usize| x.clone().narrow(1, number * d, d);
    match cell {
        Cell::Rnn => tanh(x + product),
        Cell::Gru => {
            let sum = x.clone() + product.clone();
            let (reset, update) = (sigmoid(gate(&sum, 0)), sigmoid(gate(&sum, 1)));
            let new = tanh(gate(&x, 2) + reset * gate(&product, 2));
            new.clone() + update * (state - new)
        }
        Cell::Lstm | Cell::CoupledLstm => {
            let sum = x + product;
            let (input, forget, others) = if cell == Cell::Lstm {
                (sigmoid(gate(&sum, 0)), sigmoid(gate(&sum, 1)), 2)
            } else {
                let forget = sigmoid(gate(&sum, 0));
                (-forget.clone() + 1.0, forget, 1)
            };
            let candidate = tanh(gate(&sum, others));
            let output = sigmoid(gate(&sum, others + 1));
            let memory = forget * state.narrow(1, d, d) + input * candidate;
            Tensor::cat(vec![output * tanh(memory.clone()), memory], 1)
        }
    }
}

/// Inputs: projected, weight, and bias and initial states if there are any.
#[derive(Clone, Debug)]
struct Recurrent {
    cell: Cell,
    direction: Direction,
    lengths: Lengths,
    d: usize,
    precision: Precision,
    has_bias: bool,
}

impl Recurrent {
    fn call(&self) -> RecurrentCall<'_> {
        RecurrentCall {
            cell: self.cell,
            direction: self.direction,
            lengths: &self.lengths,
            d: self.d,
            precision: self.precision,
        }
    }

    fn recurrence<'a>(&self, inputs: &[&'a [f32]]) -> KernelRecurrence<'a> {
        KernelRecurrence {
            weight: inputs[1],
            bias: self.has_bias.then(|| inputs[2]),
            initial: inputs.get(2 + usize::from(self.has_bias)).copied(),
        }
    }

    fn rows(&self) -> usize {
        self.lengths.positions()
    }
}

impl Kernel for Recurrent {
    const NAME: &'static str = "recurrent";
    /// The gates.
    type Saved = Vec<f32>;

    fn keeps_input(&self, input: usize) -> bool {
        input > 0
    }

    fn keeps_output(&self) -> bool {
        true
    }

    fn flops(&self) -> [f64; 2] {
        let positions = self.lengths.total();
        let product = 2.0 * (positions * self.cell.gates() * self.d * self.d) as f64;
        [product, 2.0 * product]
    }

    fn forward(&self, inputs: &[&[f32]], pass: Pass) -> (Vec<f32>, Vec<f32>) {
        let (rows, d) = (self.rows(), self.d);
        let mut states = buffers::take(rows * self.cell.states() * d);
        let mut saved = match pass {
            Pass::Tracked => Some(buffers::take(rows * self.cell.saved() * d)),
            Pass::Plain => None,
        };
        let recurrence = self.recurrence(inputs);
        kernel(
            self.call(),
            recurrence,
            inputs[0],
            &mut states,
            saved.as_deref_mut(),
        );
        (states, saved.unwrap_or_default())
    }

    fn backward(&self, context: Context<'_, Vec<f32>>) -> Vec<Option<Vec<f32>>> {
        let inputs = context.inputs;
        let mut projected = buffers::take(self.rows() * self.cell.gates() * self.d);
        let mut others: Vec<_> = inputs[1..]
            .iter()
            .map(|input| buffers::take(input.len()))
            .collect();
        let mut parts = others.iter_mut().map(Vec::as_mut_slice);
        let weight = parts.next();
        let bias = if self.has_bias { parts.next() } else { None };
        let gradients = RecurrentGradients {
            projected: &mut projected,
            weight,
            bias,
            initial: parts.next(),
        };
        let result = RecurrentResult {
            states: context.output,
            saved: &context.saved,
        };
        recurrent_backward(
            self.call(),
            self.recurrence(inputs),
            result,
            context.grad,
            gradients,
        );
        buffers::give(context.saved);
        std::iter::once(projected).chain(others).map(Some).collect()
    }
}
