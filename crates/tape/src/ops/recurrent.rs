//! Recurrent layers over whole sequences, in one direction or in several at once.

use attentive_device::{
    Affine, Recurrence, RecurrentBackward, RecurrentCall, RecurrentForward, RecurrentGradients, current,
};
pub use attentive_kernels::recurrent::{CellKind, Direction};

use super::AffineMap;
use crate::op::{Context, Mode, OpOutput, OperandInfo, TapeOp, apply};
use crate::{Buffer, Float, Lengths, Value};

/// Recurrent weights and initial states.
#[derive(Clone, Debug)]
pub struct TapeRecurrence {
    /// Projection from the hidden state to the gates: weight `[gates · d, d]` and bias `[gates · d]`. `None`
    /// for a cell whose gates do not depend on the state.
    pub hidden: Option<AffineMap>,
    /// The states before the first position, `[batch, states · d]`; `None` means zeros.
    pub initial: Option<Value>,
}

/// One direction of a layer.
#[derive(Clone, Debug)]
pub struct RecurrentDirection {
    /// The direction in which the sequences are read.
    pub direction: Direction,
    /// The projected inputs including their bias, `[batch · len, gates · d]`.
    pub projected: Value,
    /// Recurrent weights and initial states.
    pub recurrence: TapeRecurrence,
}

/// Computes the states of all positions; see [`CellKind`] for the formulas. States never depend on padding.
///
/// # Shapes
/// - result: `[batch · len, directions · states · d]`: of each direction h, then c if the cell has one; zero
///   at padding
///
/// # Panics
/// If there is no direction, or the directions differ in shape, in having a bias, or in having initial
/// states.
pub fn recurrent(
    cell: CellKind,
    lengths: &Lengths,
    directions: Vec<RecurrentDirection>,
    precision: Float,
) -> Value {
    let [rows, width] = directions[0].projected.shape();
    let op = Recurrent {
        cell,
        directions: directions.iter().map(|one| one.direction).collect(),
        lengths: lengths.clone(),
        d: width / cell.gates(),
        precision,
    };
    let states = directions.len() * op.state_cols();
    let (mut projected, mut weights) = (Vec::new(), Vec::new());
    let (mut biases, mut initials) = (Vec::new(), Vec::new());
    for one in directions {
        assert_eq!(one.projected.shape(), [rows, width], "all directions");
        let TapeRecurrence { hidden, initial } = one.recurrence;
        let (weight, bias) = hidden.map(|map| (map.weight, map.bias)).unzip();
        projected.push(one.projected);
        weights.push(weight);
        biases.push(bias.flatten());
        initials.push(initial);
    }
    let operands = RecurrentOperands {
        projected,
        weights: all_or_none(weights),
        biases: all_or_none(biases),
        initials: all_or_none(initials),
    };
    apply(op, operands, [rows, states])
}

/// The operands of all directions, or none.
fn all_or_none(operands: Vec<Option<Value>>) -> Vec<Value> {
    let count = operands.len();
    let found: Vec<Value> = operands.into_iter().flatten().collect();
    assert!(found.is_empty() || found.len() == count, "all directions of a layer have the same operands");
    found
}

operands! {
    /// One for each direction; none of those that the directions do not have.
    struct RecurrentOperands {
        projected: Many,
        weights: Many,
        biases: Many,
        initials: Many,
    }
}

struct Recurrent {
    cell: CellKind,
    directions: Vec<Direction>,
    lengths: Lengths,
    d: usize,
    precision: Float,
}

impl Recurrent {
    fn calls(&self) -> impl Iterator<Item = RecurrentCall<'_>> {
        self.directions.iter().map(|&direction| RecurrentCall {
            cell: self.cell,
            direction,
            lengths: &self.lengths,
            d: self.d,
            precision: self.precision,
        })
    }

    fn state_cols(&self) -> usize {
        self.cell.states() * self.d
    }

    /// A buffer with `width` vectors of d columns for each position.
    fn buffer(&self, width: usize) -> Buffer {
        Buffer::take(self.lengths.positions() * width * self.d)
    }
}

impl<'a> RecurrentOperands<&'a Buffer> {
    /// The recurrence of direction `number`.
    fn recurrence(&self, number: usize) -> Recurrence<&'a Buffer> {
        let of = |operands: &[&'a Buffer]| operands.get(number).copied();
        Recurrence {
            hidden: of(&self.weights).map(|weight| Affine { weight, bias: of(&self.biases) }),
            initial: of(&self.initials),
        }
    }
}

impl TapeOp for Recurrent {
    const NAME: &'static str = "recurrent";
    type Operands = RecurrentOperands<()>;
    /// The gates of each direction.
    type Saved = Vec<Buffer>;
    type Side = ();

    fn keeps(&self, operands: RecurrentOperands<OperandInfo>) -> RecurrentOperands<bool> {
        RecurrentOperands { projected: vec![false; self.directions.len()], ..operands.map(|_| true) }
    }

    fn keeps_output(&self) -> bool {
        true
    }

    fn flops(&self) -> [f64; 2] {
        let positions = self.directions.len() * self.lengths.total();
        let products = self.cell.hidden_gates() * self.d * self.d;
        let product = 2.0 * (positions * products) as f64;
        [product, 2.0 * product]
    }

    fn forward(&self, inputs: RecurrentOperands<&Buffer>, mode: Mode<Self>) -> OpOutput<Self> {
        let mut states = self.buffer(self.directions.len() * self.cell.states());
        let mut saved: Vec<Buffer> = match mode {
            Some(_) => (self.calls().map(|_| self.buffer(self.cell.saved()))).collect(),
            None => Vec::new(),
        };
        let mut to_saved = saved.iter_mut();
        let calls = self.calls().enumerate();
        let directions = calls.map(|(number, call)| RecurrentForward {
            call,
            recurrence: inputs.recurrence(number),
            projected: inputs.projected[number],
            saved: to_saved.next(),
        });
        current().recurrent(directions.collect(), &mut states);
        OpOutput::new(states, saved)
    }

    fn backward(&self, context: Context<'_, Self>) -> RecurrentOperands<Option<Buffer>> {
        let mut gradients = context.operands.map(OperandInfo::room);
        let mut rooms: Vec<Buffer> = (self.calls()).map(|call| Buffer::take(call.room())).collect();
        let RecurrentOperands { projected, weights, biases, initials } = &mut gradients;
        let [mut projected, mut weights, mut biases, mut initials] =
            [projected, weights, biases, initials].map(|gradients| gradients.iter_mut());
        let calls = self.calls().zip(&mut rooms).enumerate();
        let directions = calls.map(|(number, (call, room))| RecurrentBackward {
            call,
            recurrence: context.inputs.recurrence(number),
            saved: &context.saved[number],
            gradients: RecurrentGradients {
                projected: (projected.next().expect("one for each direction"))
                    .get_or_insert_with(|| self.buffer(self.cell.gates())),
                weight: weights.next().and_then(Option::as_mut),
                bias: biases.next().and_then(Option::as_mut),
                initial: initials.next().and_then(Option::as_mut),
            },
            room,
        });
        current().recurrent_backward(directions.collect(), context.output, &context.grad);
        gradients
    }
}
