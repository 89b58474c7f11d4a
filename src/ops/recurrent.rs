//! One direction of a recurrent layer, over whole sequences.

use attentive_kernels::linear::Affine;
pub use attentive_kernels::recurrent::{Cell, Direction};
use attentive_kernels::recurrent::{
    Recurrence as KernelRecurrence, RecurrentCall, RecurrentGradients, RecurrentResult,
    recurrent as kernel, recurrent_backward,
};
use burn::tensor::activation::{relu, sigmoid, tanh};
use burn::tensor::{Tensor, TensorData};

use super::fused::{self, Context, Kept, Kernel, Mode, Output};
use super::{Lengths, Map, Precision, buffers};

/// Recurrent weights and initial states.
#[derive(Clone, Debug)]
pub struct Recurrence {
    /// Projection from the hidden state to the gates: weight `[gates · d, d]` and bias `[gates · d]`. `None` for a
    /// cell whose gates do not depend on the state.
    pub hidden: Option<Map>,
    /// The states before the first position, `[batch, states · d]`; `None` means zeros.
    pub initial: Option<Tensor<2>>,
}

/// Computes the states of all positions; see [`Cell`] for the formulas. States never depend on padding.
///
/// # Shapes
/// - `projected`: `[batch · len, gates · d]`, the projected inputs including their bias
/// - result: `[batch · len, states · d]`: h, then c if the cell has one; zero at padding
pub fn recurrent(
    cell: Cell,
    direction: Direction,
    lengths: &Lengths,
    projected: Tensor<2>,
    recurrence: Recurrence,
    precision: Precision,
) -> Tensor<2> {
    if !fused::applies(&projected) {
        return portable(cell, direction, lengths, projected, recurrence, precision);
    }
    let [rows, width] = projected.dims();
    let kernel = Recurrent {
        cell,
        direction,
        lengths: lengths.clone(),
        d: width / cell.gates(),
        precision,
    };
    let states = cell.states() * kernel.d;
    let (weight, bias) = recurrence.hidden.map(|map| (map.weight, map.bias)).unzip();
    let operands = RecurrentOperands {
        projected: projected.into(),
        weight: weight.map(Into::into),
        bias: bias.flatten().map(Into::into),
        initial: recurrence.initial.map(Into::into),
    };
    fused::apply(kernel, operands, [rows, states])
}

pub(super) fn portable(
    cell: Cell,
    direction: Direction,
    lengths: &Lengths,
    projected: Tensor<2>,
    recurrence: Recurrence,
    precision: Precision,
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
        let product = (recurrence.hidden.as_ref()).map(|map| map.portable(hidden, precision));
        let next = step(cell, x, product, state.clone(), d) * real.clone();
        outputs[position] = next.clone().unsqueeze_dim(1);
        state = next + state * (-real + 1.0);
    }
    Tensor::cat(outputs, 1).reshape([rows, states])
}

/// 1 for each sequence that has `position`, otherwise 0: `[batch, 1]`.
pub(super) fn real_at(lengths: &Lengths, position: usize, like: &Tensor<2>) -> Tensor<2> {
    let real: Vec<f64> = lengths.real_at(position).map(f64::from).collect();
    let data = TensorData::new(real, [lengths.rows(), 1]).convert_dtype(like.dtype());
    Tensor::from_data(data, (&like.device(), like.dtype()))
}

/// The next states from the projected input and, if the cell has one, the hidden projection.
pub(super) fn step(
    cell: Cell,
    x: Tensor<2>,
    product: Option<Tensor<2>>,
    state: Tensor<2>,
    d: usize,
) -> Tensor<2> {
    let gate = |x: &Tensor<2>, number: usize| x.clone().narrow(1, number * d, d);
    let Some(product) = product else {
        let forget = sigmoid(gate(&x, 0));
        let cell_state = forget.clone() * state.narrow(1, d, d) + (-forget + 1.0) * gate(&x, 1);
        return Tensor::cat(vec![relu(cell_state.clone()), cell_state], 1);
    };
    match cell {
        Cell::Ssru => unreachable!("SSRU gates do not depend on the hidden state"),
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
            let cell_state = forget * state.narrow(1, d, d) + input * candidate;
            Tensor::cat(vec![output * tanh(cell_state.clone()), cell_state], 1)
        }
    }
}

operands! {
    struct RecurrentOperands {
        projected: One,
        weight: Maybe,
        bias: Maybe,
        initial: Maybe,
    }
}

#[derive(Clone, Debug)]
struct Recurrent {
    cell: Cell,
    direction: Direction,
    lengths: Lengths,
    d: usize,
    precision: Precision,
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
}

impl<'a> RecurrentOperands<&'a [f32]> {
    fn recurrence(&self) -> KernelRecurrence<'a> {
        KernelRecurrence {
            hidden: self.weight.map(|weight| Affine {
                weight,
                bias: self.bias,
            }),
            initial: self.initial,
        }
    }
}

impl Kernel for Recurrent {
    const NAME: &'static str = "recurrent";
    type Operands = RecurrentOperands<()>;
    /// The gates.
    type Saved = Vec<f32>;
    type Side = ();

    /// The backward pass does not read the projections.
    fn keeps(&self) -> Kept {
        Kept::AllButFirst
    }

    fn keeps_output(&self) -> bool {
        true
    }

    fn flops(&self) -> [f64; 2] {
        let positions = self.lengths.total();
        let products = self.cell.hidden_gates() * self.d * self.d;
        let product = 2.0 * (positions * products) as f64;
        [product, 2.0 * product]
    }

    fn forward(&self, inputs: RecurrentOperands<&[f32]>, mode: Mode) -> Output<Self> {
        let (rows, d) = (self.lengths.positions(), self.d);
        let mut states = buffers::take(rows * self.cell.states() * d);
        let mut saved = match mode {
            Mode::Tracked => Some(buffers::take(rows * self.cell.saved() * d)),
            Mode::Plain => None,
        };
        kernel(
            self.call(),
            inputs.recurrence(),
            inputs.projected,
            &mut states,
            saved.as_deref_mut(),
        );
        Output::new(states, saved.unwrap_or_default())
    }

    fn backward(&self, context: Context<'_, Self>) -> RecurrentOperands<Option<Vec<f32>>> {
        let inputs = context.inputs;
        let room = |input: &[f32]| buffers::take(input.len());
        let gates = self.cell.gates() * self.d;
        let mut gradients = RecurrentOperands {
            projected: buffers::take(self.lengths.positions() * gates),
            weight: inputs.weight.map(room),
            bias: inputs.bias.map(room),
            initial: inputs.initial.map(room),
        };
        let targets = RecurrentGradients {
            projected: &mut gradients.projected,
            weight: gradients.weight.as_deref_mut(),
            bias: gradients.bias.as_deref_mut(),
            initial: gradients.initial.as_deref_mut(),
        };
        let result = RecurrentResult {
            states: context.output,
            saved: &context.saved,
        };
        recurrent_backward(
            self.call(),
            inputs.recurrence(),
            result,
            context.grad,
            targets,
        );
        buffers::give(context.saved);
        gradients.map(Some)
    }
}
