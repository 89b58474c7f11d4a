//! A recurrent layer that attends to another sequence at each position (Bahdanau et al. 2015, appendix A).

use attentive_device::{
    Affine, AttentiveRecurrentCall, AttentiveRecurrentGradients, AttentiveRecurrentInputs,
    AttentiveRecurrentResult, Recurrence, RecurrentCall, RecurrentGradients, current,
};

use super::{CellKind, Direction, TapeRecurrence};
use crate::op::{Context, Mode, OpOutput, OperandInfo, TapeOp, apply};
use crate::{Buffer, Float, Lengths, Value};

/// Parameters and context of the state update.
#[derive(Clone, Debug)]
pub struct AttentiveRecurrence {
    /// The recurrence of the layer itself.
    pub state: TapeRecurrence,
    /// `[d_key, d]`: projects the previous state to the query q.
    pub query: Value,
    /// `[1, d_key]`: v of the score vᵀ tanh(q + key).
    pub score: Value,
    /// `[gates · d, d_value]`: projects the context to the gates.
    pub context: Value,
    /// `[batch · src_len, d_key]`
    pub keys: Value,
    /// `[batch · src_len, d_value]`
    pub values: Value,
    /// Keys per sequence.
    pub src_lengths: Lengths,
}

/// Computes the states of all positions from left to right, and the contexts used by them; zero at padding.
/// The contexts of a sequence without visible keys are zero.
///
/// # Shapes
/// - `projected`: `[batch · len, gates · d]`, the projected inputs including their bias
/// - result: `[batch · len, states · d + d_value]`: h, then c if the cell has one, then the context
pub fn attentive_recurrent(
    cell: CellKind,
    lengths: &Lengths,
    projected: Value,
    recurrence: AttentiveRecurrence,
    precision: Float,
) -> Value {
    let [rows, width] = projected.shape();
    let AttentiveRecurrence { state, query, score, context, keys, values, src_lengths } = recurrence;
    let ([d_key, d], [_, d_value]) = (query.shape(), values.shape());
    assert_eq!(width, cell.gates() * d, "`projected` of a layer of width {d}");
    let op = AttentiveRecurrent { cell, lengths: lengths.clone(), d, d_key, d_value, src_lengths, precision };
    let (weight, bias) = state.hidden.map(|map| (map.weight, map.bias)).unzip();
    let operands = AttentiveOperands {
        projected,
        query,
        score,
        context,
        keys,
        values,
        weight,
        bias: bias.flatten(),
        initial: state.initial,
    };
    apply(op, operands, [rows, cell.states() * d + d_value])
}

operands! {
    struct AttentiveOperands {
        projected: One,
        query: One,
        score: One,
        context: One,
        keys: One,
        values: One,
        weight: Maybe,
        bias: Maybe,
        initial: Maybe,
    }
}

struct AttentiveRecurrent {
    cell: CellKind,
    lengths: Lengths,
    d: usize,
    d_key: usize,
    d_value: usize,
    src_lengths: Lengths,
    precision: Float,
}

/// Additional values read by the backward pass.
#[derive(Default)]
struct Saved {
    attention_weights: Buffer,
    gates: Buffer,
}

impl AttentiveRecurrent {
    fn call(&self) -> AttentiveRecurrentCall<'_> {
        AttentiveRecurrentCall {
            recurrent: RecurrentCall {
                cell: self.cell,
                direction: Direction::Forward,
                lengths: &self.lengths,
                d: self.d,
                precision: self.precision,
            },
            src_len: self.src_lengths.width(),
            d_key: self.d_key,
            d_value: self.d_value,
        }
    }

    fn inputs<'a>(
        &'a self,
        inputs: &AttentiveOperands<&'a Buffer>,
    ) -> AttentiveRecurrentInputs<'a, &'a Buffer> {
        AttentiveRecurrentInputs {
            query_weight: inputs.query,
            v: inputs.score,
            context_weight: inputs.context,
            keys: inputs.keys,
            values: inputs.values,
            src_lengths: Some(&self.src_lengths),
            recurrence: Recurrence {
                hidden: inputs.weight.map(|weight| Affine { weight, bias: inputs.bias }),
                initial: inputs.initial,
            },
        }
    }

    fn rows(&self) -> usize {
        self.lengths.positions()
    }
}

impl TapeOp for AttentiveRecurrent {
    const NAME: &'static str = "attentive recurrent";
    type Operands = AttentiveOperands<()>;
    type Saved = Saved;
    type Side = ();

    fn keeps(&self, operands: AttentiveOperands<OperandInfo>) -> AttentiveOperands<bool> {
        AttentiveOperands { projected: false, ..operands.map(|_| true) }
    }

    fn keeps_output(&self) -> bool {
        true
    }

    fn flops(&self) -> [f64; 2] {
        let positions = self.lengths.total();
        let (d, cell) = (self.d, self.cell);
        let weights = d * (cell.hidden_gates() * d + cell.gates() * self.d_value + self.d_key);
        let product = 2.0 * (positions * weights) as f64;
        [product, 2.0 * product]
    }

    fn forward(&self, inputs: AttentiveOperands<&Buffer>, mode: Mode<Self>) -> OpOutput<Self> {
        let call = self.call();
        let mut out = Buffer::take(self.rows() * call.out_cols());
        let mut saved = mode.map(|_| Saved {
            attention_weights: Buffer::take(self.rows() * self.src_lengths.width()),
            gates: Buffer::take(self.rows() * self.cell.saved() * self.d),
        });
        let kept = (saved.as_mut()).map(|saved| [&mut saved.attention_weights, &mut saved.gates]);
        let projected = inputs.projected;
        let inputs = self.inputs(&inputs);
        current().attentive_recurrent(call, inputs, projected, &mut out, kept);
        OpOutput::new(out, saved.unwrap_or_default())
    }

    fn backward(&self, context: Context<'_, Self>) -> AttentiveOperands<Option<Buffer>> {
        let operands = context.operands;
        let [mut projected, mut keys, mut values, mut score] =
            [operands.projected, operands.keys, operands.values, operands.score].map(OperandInfo::buffer);
        let mut gradients = operands.map(OperandInfo::room);
        let targets = AttentiveRecurrentGradients {
            recurrence: RecurrentGradients {
                projected: &mut projected,
                weight: gradients.weight.as_mut().and_then(Option::as_mut),
                bias: gradients.bias.as_mut().and_then(Option::as_mut),
                initial: gradients.initial.as_mut().and_then(Option::as_mut),
            },
            query_weight: gradients.query.as_mut(),
            context_weight: gradients.context.as_mut(),
            keys: &mut keys,
            values: &mut values,
            v: &mut score,
        };
        let result = AttentiveRecurrentResult {
            out: context.output,
            attention_weights: &context.saved.attention_weights,
            saved: &context.saved.gates,
        };
        let (call, inputs, grad) = (self.call(), self.inputs(&context.inputs), &context.grad);
        let mut room = Buffer::take(call.room());
        current().attentive_recurrent_backward(call, inputs, result, grad, targets, &mut room);
        AttentiveOperands {
            projected: Some(projected),
            keys: Some(keys),
            values: Some(values),
            score: Some(score),
            ..gradients
        }
    }
}
