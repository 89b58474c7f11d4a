//! One direction of a recurrent layer, over whole sequences.

use attentive_kernels::linear::Affine;
pub use attentive_kernels::recurrent::{Cell, Direction};
use attentive_kernels::recurrent::{
    Recurrence as KernelRecurrence, RecurrentCall, RecurrentGradients, RecurrentResult,
    recurrent as kernel, recurrent_backward,
};

use super::Map;
use crate::kernel::{Context, Kept, Kernel, Mode, Output, apply};
use crate::{Buffer, Lengths, Precision, Value};

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
    precision: Precision,
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
    type Saved = Buffer;
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
        let mut states = Buffer::take(rows * self.cell.states() * d);
        let mut saved = match mode {
            Mode::Tracked => Some(Buffer::take(rows * self.cell.saved() * d)),
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

    fn backward(&self, context: Context<'_, Self>) -> RecurrentOperands<Option<Buffer>> {
        let inputs = context.inputs;
        let room = |input: &[f32]| Buffer::take(input.len());
        let gates = self.cell.gates() * self.d;
        let mut gradients = RecurrentOperands {
            projected: Buffer::take(self.lengths.positions() * gates),
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
            &context.grad,
            targets,
        );
        gradients.map(Some)
    }
}
