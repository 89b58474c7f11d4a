//! One direction of a recurrent layer, over whole sequences.

use attentive_device::{
    Affine, Recurrence as KernelRecurrence, RecurrentCall, RecurrentGradients, RecurrentResult,
    current,
};
pub use attentive_kernels::recurrent::{Cell, Direction};

use super::Map;
use crate::kernel::{Context, Kernel, Mode, Operand, Output, apply};
use crate::{Buffer, Float, Lengths, Value};

/// Recurrent weights and initial states.
#[derive(Clone, Debug)]
pub struct Recurrence {
    /// Projection from the hidden state to the gates: weight `[gates · d, d]` and bias `[gates · d]`. `None` for a
    /// cell whose gates do not depend on the state.
    pub hidden: Option<Map>,
    /// The states before the first position, `[batch, states · d]`; `None` means zeros.
    pub initial: Option<Value>,
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
    projected: Value,
    recurrence: Recurrence,
    precision: Float,
) -> Value {
    let [rows, width] = projected.shape();
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
        projected,
        weight,
        bias: bias.flatten(),
        initial: recurrence.initial,
    };
    apply(kernel, operands, [rows, states])
}

operands! {
    struct RecurrentOperands {
        projected: One,
        weight: Maybe,
        bias: Maybe,
        initial: Maybe,
    }
}

struct Recurrent {
    cell: Cell,
    direction: Direction,
    lengths: Lengths,
    d: usize,
    precision: Float,
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

impl<'a> RecurrentOperands<&'a Buffer> {
    fn recurrence(&self) -> KernelRecurrence<&'a Buffer> {
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
    type Saved = Buffer;
    type Side = ();

    fn keeps(&self, operands: RecurrentOperands<Operand>) -> RecurrentOperands<bool> {
        RecurrentOperands {
            projected: false,
            ..operands.map(|_| true)
        }
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

    fn forward(&self, inputs: RecurrentOperands<&Buffer>, mode: Mode<Self>) -> Output<Self> {
        let (rows, d) = (self.lengths.positions(), self.d);
        let mut states = Buffer::take(rows * self.cell.states() * d);
        let mut saved = mode.map(|_| Buffer::take(rows * self.cell.saved() * d));
        let (recurrence, to_saved) = (inputs.recurrence(), saved.as_mut());
        let projected = inputs.projected;
        current().recurrent(self.call(), recurrence, projected, &mut states, to_saved);
        Output::new(states, saved.unwrap_or_default())
    }

    fn backward(&self, context: Context<'_, Self>) -> RecurrentOperands<Option<Buffer>> {
        let mut projected = context.operands.projected.buffer();
        let mut gradients = context.operands.map(Operand::room);
        let targets = RecurrentGradients {
            projected: &mut projected,
            weight: gradients.weight.as_mut().and_then(Option::as_mut),
            bias: gradients.bias.as_mut().and_then(Option::as_mut),
            initial: gradients.initial.as_mut().and_then(Option::as_mut),
        };
        let result = RecurrentResult {
            states: context.output,
            saved: &context.saved,
        };
        let (recurrence, grad) = (context.inputs.recurrence(), &context.grad);
        let call = self.call();
        let mut room = Buffer::take(call.room());
        current().recurrent_backward(call, recurrence, result, grad, targets, &mut room);
        RecurrentOperands {
            projected: Some(projected),
            ..gradients
        }
    }
}
