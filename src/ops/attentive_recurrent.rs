//! A recurrent layer that attends to another sequence at each position (Bahdanau et al. 2015, appendix A).

use attentive_kernels::attentive_recurrent::{
    AttentiveRecurrentCall, AttentiveRecurrentGradients, AttentiveRecurrentInputs,
    AttentiveRecurrentResult, attentive_recurrent as kernel, attentive_recurrent_backward,
};
use attentive_kernels::linear::Affine;
use attentive_kernels::recurrent::{
    Recurrence as KernelRecurrence, RecurrentCall, RecurrentGradients,
};
use burn::tensor::activation::{softmax, tanh};
use burn::tensor::{Tensor, TensorData};

use super::fused::{self, Context, Kernel, Mode, Output};
use super::map::product;
use super::recurrent::{real_at, step};
use super::{Cell, Direction, Lengths, Precision, Recurrence, buffers};

/// Parameters and context of the state update.
#[derive(Clone, Debug)]
pub struct AttentiveRecurrence {
    /// The recurrence of the layer itself.
    pub state: Recurrence,
    /// `[d_key, d]`: projects the previous state to the query q.
    pub query: Tensor<2>,
    /// `[d_key]`: v of the score vᵀ tanh(q + key).
    pub score: Tensor<1>,
    /// `[gates · d, d_value]`: projects the context to the gates.
    pub context: Tensor<2>,
    /// `[batch · src_len, d_key]`
    pub keys: Tensor<2>,
    /// `[batch · src_len, d_value]`
    pub values: Tensor<2>,
    /// Keys per sequence.
    pub src_lengths: Lengths,
}

/// Computes the states of all positions from left to right, and the contexts used by them; zero at padding. The
/// contexts of a sequence without visible keys are zero.
///
/// # Shapes
/// - `projected`: `[batch · len, gates · d]`, the projected inputs including their bias
/// - result: `[batch · len, states · d + d_value]`: h, then c if the cell has one, then the context
pub fn attentive_recurrent(
    cell: Cell,
    lengths: &Lengths,
    projected: Tensor<2>,
    recurrence: AttentiveRecurrence,
    precision: Precision,
) -> Tensor<2> {
    if !fused::applies(&projected) {
        return portable(cell, lengths, projected, recurrence, precision);
    }
    let [rows, width] = projected.dims();
    let AttentiveRecurrence {
        state,
        query,
        score,
        context,
        keys,
        values,
        src_lengths,
    } = recurrence;
    let ([d_key, d], [_, d_value]) = (query.dims(), values.dims());
    assert_eq!(
        width,
        cell.gates() * d,
        "`projected` of a layer of width {d}"
    );
    let kernel = AttentiveRecurrent {
        cell,
        lengths: lengths.clone(),
        d,
        d_key,
        d_value,
        src_lengths,
        precision,
    };
    let (weight, bias) = state.hidden.map(|map| (map.weight, map.bias)).unzip();
    let operands = AttentiveOperands {
        projected: projected.into(),
        query: query.into(),
        score: score.into(),
        context: context.into(),
        keys: keys.into(),
        values: values.into(),
        weight: weight.map(Into::into),
        bias: bias.flatten().map(Into::into),
        initial: state.initial.map(Into::into),
    };
    fused::apply(kernel, operands, [rows, cell.states() * d + d_value])
}

pub(super) fn portable(
    cell: Cell,
    lengths: &Lengths,
    projected: Tensor<2>,
    recurrence: AttentiveRecurrence,
    precision: Precision,
) -> Tensor<2> {
    let [rows, width] = projected.dims();
    let (batch, len, d) = (lengths.rows(), lengths.width(), width / cell.gates());
    let options = (&projected.device(), projected.dtype());
    let d_value = recurrence.values.dims()[1];
    let mut state = recurrence
        .state
        .initial
        .clone()
        .unwrap_or_else(|| Tensor::zeros([batch, cell.states() * d], options));
    let inputs: Tensor<3> = projected.reshape([batch, len, width]);
    let mut outputs: Vec<Tensor<3>> = Vec::with_capacity(len);
    for position in 0..len {
        let real = real_at(lengths, position, &state);
        let hidden = state.clone().narrow(1, 0, d);
        let context = attend(&recurrence, hidden.clone(), precision);
        let x = inputs.clone().narrow(1, position, 1);
        let x: Tensor<2> = x.reshape([batch, width]);
        let x = x + product(context.clone(), &recurrence.context, precision);
        let product = recurrence.state.hidden.as_ref();
        let product = product.map(|map| map.portable(hidden, precision));
        let next = step(cell, x, product, state.clone(), d) * real.clone();
        let both = Tensor::cat(vec![next.clone(), context * real.clone()], 1);
        outputs.push(both.unsqueeze_dim(1));
        state = next + state * (-real + 1.0);
    }
    Tensor::cat(outputs, 1).reshape([rows, cell.states() * d + d_value])
}

/// The attention weights of [`attentive_recurrent`], zero at padded keys. For inspection; they are recomputed
/// position by position.
///
/// # Shapes
/// - `before`: `[batch, len, d]`, the h before each position
/// - result: `[batch, len, src_len]`
pub fn attentive_recurrent_weights(
    recurrence: &AttentiveRecurrence,
    before: Tensor<3>,
) -> Tensor<3> {
    let [batch, len, d] = before.dims();
    let at = |position| {
        let h: Tensor<3> = before.clone().narrow(1, position, 1);
        weights(recurrence, h.reshape([batch, d]), Precision::F32).unsqueeze_dim(1)
    };
    Tensor::cat((0..len).map(at).collect(), 1)
}

/// The contexts of the states h, `[batch, d_value]`.
fn attend(recurrence: &AttentiveRecurrence, h: Tensor<2>, precision: Precision) -> Tensor<2> {
    let [batch, _] = h.dims();
    let [rows, d_value] = recurrence.values.dims();
    let values = recurrence.values.clone();
    let values: Tensor<3> = values.reshape([batch, rows / batch, d_value]);
    let weights: Tensor<3> = weights(recurrence, h, precision).unsqueeze_dim(2);
    (weights * values).sum_dim(1).reshape([batch, d_value])
}

/// softmax over j of vᵀ tanh(W h + key j), excluding padded keys: `[batch, src_len]`.
fn weights(recurrence: &AttentiveRecurrence, h: Tensor<2>, precision: Precision) -> Tensor<2> {
    let [batch, _] = h.dims();
    let [rows, d_key] = recurrence.keys.dims();
    let src_len = rows / batch;
    let options = (&h.device(), h.dtype());
    let query: Tensor<3> = product(h, &recurrence.query, precision).unsqueeze_dim(1);
    let keys: Tensor<3> = recurrence.keys.clone().reshape([batch, src_len, d_key]);
    let v: Tensor<3> = recurrence.score.clone().reshape([1, 1, d_key]);
    let scores: Tensor<2> = (tanh(keys + query) * v)
        .sum_dim(2)
        .reshape([batch, src_len]);
    let mask = recurrence.src_lengths.mask();
    let seen: Vec<f64> = mask.map(|pad| f64::from(!pad)).collect();
    let data = TensorData::new(seen, [batch, src_len]).convert_dtype(options.1);
    let seen = Tensor::<2>::from_data(data, options);
    let hidden = (seen.clone() - 1.0) * 1e9;
    softmax(scores + hidden, 1) * seen
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

#[derive(Clone, Debug)]
struct AttentiveRecurrent {
    cell: Cell,
    lengths: Lengths,
    d: usize,
    d_key: usize,
    d_value: usize,
    src_lengths: Lengths,
    precision: Precision,
}

/// Additional values read by the backward pass.
#[derive(Clone, Debug)]
struct Saved {
    attention_weights: Vec<f32>,
    gates: Vec<f32>,
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

    fn inputs<'a>(&'a self, inputs: &AttentiveOperands<&'a [f32]>) -> AttentiveRecurrentInputs<'a> {
        AttentiveRecurrentInputs {
            projected: inputs.projected,
            query_weight: inputs.query,
            v: inputs.score,
            context_weight: inputs.context,
            keys: inputs.keys,
            values: inputs.values,
            src_lengths: Some(&self.src_lengths),
            recurrence: KernelRecurrence {
                hidden: inputs.weight.map(|weight| Affine {
                    weight,
                    bias: inputs.bias,
                }),
                initial: inputs.initial,
            },
        }
    }

    fn rows(&self) -> usize {
        self.lengths.positions()
    }
}

impl Kernel for AttentiveRecurrent {
    const NAME: &'static str = "attentive recurrent";
    type Operands = AttentiveOperands<()>;
    type Saved = Saved;
    type Side = ();

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

    fn forward(&self, inputs: AttentiveOperands<&[f32]>, mode: Mode) -> Output<Self> {
        let call = self.call();
        let mut out = buffers::take(self.rows() * call.out_cols());
        let mut saved = match mode {
            Mode::Tracked => Some(Saved {
                attention_weights: buffers::take(self.rows() * self.src_lengths.width()),
                gates: buffers::take(self.rows() * self.cell.saved() * self.d),
            }),
            Mode::Plain => None,
        };
        let (weights, gates) = match &mut saved {
            Some(Saved {
                attention_weights,
                gates,
            }) => (Some(&mut attention_weights[..]), Some(&mut gates[..])),
            None => (None, None),
        };
        kernel(call, self.inputs(&inputs), &mut out, weights, gates);
        let nothing = Saved {
            attention_weights: Vec::new(),
            gates: Vec::new(),
        };
        Output::new(out, saved.unwrap_or(nothing))
    }

    fn backward(&self, context: Context<'_, Self>) -> AttentiveOperands<Option<Vec<f32>>> {
        let inputs = self.inputs(&context.inputs);
        let mut gradients = context.inputs.map(|input| buffers::take(input.len()));
        let targets = AttentiveRecurrentGradients {
            recurrence: RecurrentGradients {
                projected: &mut gradients.projected,
                weight: gradients.weight.as_deref_mut(),
                bias: gradients.bias.as_deref_mut(),
                initial: gradients.initial.as_deref_mut(),
            },
            query_weight: Some(&mut gradients.query),
            context_weight: Some(&mut gradients.context),
            keys: &mut gradients.keys,
            values: &mut gradients.values,
            v: &mut gradients.score,
        };
        let result = AttentiveRecurrentResult {
            out: context.output,
            attention_weights: &context.saved.attention_weights,
            saved: &context.saved.gates,
        };
        let (call, grad) = (self.call(), context.grad);
        attentive_recurrent_backward(call, inputs, result, grad, targets);
        buffers::give(context.saved.attention_weights);
        buffers::give(context.saved.gates);
        gradients.map(Some)
    }
}
