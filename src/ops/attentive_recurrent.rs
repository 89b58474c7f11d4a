//! A recurrent layer that attends to another sequence at each position (Bahdanau et al. 2015, appendix A).

use attentive_kernels::attentive_recurrent::{
    AttentiveRecurrentCall, AttentiveRecurrentGradients, AttentiveRecurrentInputs,
    AttentiveRecurrentResult, attentive_recurrent as kernel, attentive_recurrent_backward,
};
use attentive_kernels::recurrent::{
    Recurrence as KernelRecurrence, RecurrentCall, RecurrentGradients,
};
use burn::tensor::activation::{softmax, tanh};
use burn::tensor::{Tensor, TensorData};

use super::fused::{self, Context, Kernel, Operand, Pass};
use super::recurrent::{real_at, step};
use super::{Cell, Direction, Lengths, Precision, Recurrence, buffers};

/// What makes a state, and the context that enters it, from the state before.
#[derive(Clone, Debug)]
pub struct AttentiveRecurrence {
    /// The layer's own.
    pub state: Recurrence,
    /// `[d_key, d]`: makes the query q of the state before.
    pub query: Tensor<2>,
    /// `[d_key]`: v of the score vᵀ tanh(q + key).
    pub score: Tensor<1>,
    /// `[gates · d, d_value]`: the context's share of the gates.
    pub context: Tensor<2>,
    /// `[batch · src_len, d_key]`
    pub keys: Tensor<2>,
    /// `[batch · src_len, d_value]`
    pub values: Tensor<2>,
    /// The keys of each sequence.
    pub src_lengths: Lengths,
}

/// The states of all positions from the left, and the contexts that entered them; zeros at padding. A sequence that sees no
/// key has contexts of zeros.
///
/// # Shapes
/// - `projected`: `[batch · len, gates · d]`, the inputs' projections with their bias
/// - result: `[batch · len, states · d + d_value]`: h, c behind it where the cell has one, and the context
pub fn attentive_recurrent(
    cell: Cell,
    lengths: &Lengths,
    projected: Tensor<2>,
    recurrence: AttentiveRecurrence,
    precision: Precision,
) -> Tensor<2> {
    if !fused::applies(&projected) {
        return portable(cell, lengths, projected, recurrence);
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
        has_bias: state.bias.is_some(),
    };
    let mut operands: Vec<Operand> = vec![
        projected.into(),
        query.into(),
        score.into(),
        context.into(),
        keys.into(),
        values.into(),
        state.weight.into(),
    ];
    operands.extend(state.bias.map(Operand::from));
    operands.extend(state.initial.map(Operand::from));
    fused::apply(kernel, operands, [rows, cell.states() * d + d_value])
}

pub(super) fn portable(
    cell: Cell,
    lengths: &Lengths,
    projected: Tensor<2>,
    recurrence: AttentiveRecurrence,
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
        let context = attend(&recurrence, hidden.clone());
        let x = inputs.clone().narrow(1, position, 1);
        let x: Tensor<2> = x.reshape([batch, width]);
        let x = x + context
            .clone()
            .matmul(recurrence.context.clone().transpose());
        let product = hidden.matmul(recurrence.state.weight.clone().transpose());
        let product = match &recurrence.state.bias {
            Some(bias) => product + bias.clone().unsqueeze(),
            None => product,
        };
        let next = step(cell, x, product, state.clone(), d) * real.clone();
        let both = Tensor::cat(vec![next.clone(), context * real.clone()], 1);
        outputs.push(both.unsqueeze_dim(1));
        state = next + state * (-real + 1.0);
    }
    Tensor::cat(outputs, 1).reshape([rows, cell.states() * d + d_value])
}

/// The weights by which [`attentive_recurrent`] gathers contexts: zeros at keys that are padding. To look at; they are
/// computed anew, position by position.
///
/// # Shapes
/// - `before`: `[batch, len, d]`, the h that each position finds
/// - result: `[batch, len, src_len]`
pub fn attentive_recurrent_weights(
    recurrence: &AttentiveRecurrence,
    before: Tensor<3>,
) -> Tensor<3> {
    let [batch, len, d] = before.dims();
    let at = |position| {
        let h: Tensor<3> = before.clone().narrow(1, position, 1);
        weights(recurrence, h.reshape([batch, d])).unsqueeze_dim(1)
    };
    Tensor::cat((0..len).map(at).collect(), 1)
}

/// The contexts of the states h, `[batch, d_value]`.
fn attend(recurrence: &AttentiveRecurrence, h: Tensor<2>) -> Tensor<2> {
    let [batch, _] = h.dims();
    let [rows, d_value] = recurrence.values.dims();
    let values = recurrence.values.clone();
    let values: Tensor<3> = values.reshape([batch, rows / batch, d_value]);
    let weights: Tensor<3> = weights(recurrence, h).unsqueeze_dim(2);
    (weights * values).sum_dim(1).reshape([batch, d_value])
}

/// softmax over j of vᵀ tanh(W h + key j), without the keys of padding: `[batch, src_len]`.
fn weights(recurrence: &AttentiveRecurrence, h: Tensor<2>) -> Tensor<2> {
    let [batch, _] = h.dims();
    let [rows, d_key] = recurrence.keys.dims();
    let src_len = rows / batch;
    let options = (&h.device(), h.dtype());
    let query: Tensor<3> = h
        .matmul(recurrence.query.clone().transpose())
        .unsqueeze_dim(1);
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

/// Inputs: projected, query, score, context, keys, values, hidden weight, and bias and initial states if there are any.
#[derive(Clone, Debug)]
struct AttentiveRecurrent {
    cell: Cell,
    lengths: Lengths,
    d: usize,
    d_key: usize,
    d_value: usize,
    src_lengths: Lengths,
    precision: Precision,
    has_bias: bool,
}

/// What the backward pass reads besides.
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

    fn inputs<'a>(&'a self, inputs: &[&'a [f32]]) -> AttentiveRecurrentInputs<'a> {
        AttentiveRecurrentInputs {
            projected: inputs[0],
            query_weight: inputs[1],
            v: inputs[2],
            context_weight: inputs[3],
            keys: inputs[4],
            values: inputs[5],
            src_lengths: Some(&self.src_lengths),
            recurrence: KernelRecurrence {
                weight: inputs[6],
                bias: self.has_bias.then(|| inputs[7]),
                initial: inputs.get(7 + usize::from(self.has_bias)).copied(),
            },
        }
    }

    fn rows(&self) -> usize {
        self.lengths.positions()
    }
}

impl Kernel for AttentiveRecurrent {
    const NAME: &'static str = "attentive recurrent";
    type Saved = Saved;

    fn keeps_output(&self) -> bool {
        true
    }

    fn flops(&self) -> [f64; 2] {
        let positions = self.lengths.total();
        let gates = self.cell.gates() * self.d;
        let weights = gates * (self.d + self.d_value) + self.d_key * self.d;
        let product = 2.0 * (positions * weights) as f64;
        [product, 2.0 * product]
    }

    fn forward(&self, inputs: &[&[f32]], pass: Pass) -> (Vec<f32>, Saved) {
        let call = self.call();
        let mut out = buffers::take(self.rows() * call.out_cols());
        let mut saved = match pass {
            Pass::Tracked => Some(Saved {
                attention_weights: buffers::take(self.rows() * self.src_lengths.width()),
                gates: buffers::take(self.rows() * self.cell.saved() * self.d),
            }),
            Pass::Plain => None,
        };
        let (weights, gates) = match &mut saved {
            Some(Saved {
                attention_weights,
                gates,
            }) => (Some(&mut attention_weights[..]), Some(&mut gates[..])),
            None => (None, None),
        };
        kernel(call, self.inputs(inputs), &mut out, weights, gates);
        let nothing = Saved {
            attention_weights: Vec::new(),
            gates: Vec::new(),
        };
        (out, saved.unwrap_or(nothing))
    }

    fn backward(&self, context: Context<'_, Saved>) -> Vec<Option<Vec<f32>>> {
        let inputs = context.inputs;
        let mut gradients: Vec<_> = inputs
            .iter()
            .map(|input| buffers::take(input.len()))
            .collect();
        let mut parts = gradients.iter_mut().map(Vec::as_mut_slice);
        let mut next = || parts.next().expect("a gradient for each input");
        let [projected, query, v, context_weight, keys, values, weight] =
            std::array::from_fn(|_| next());
        let bias = self.has_bias.then(next);
        let gradients_to = AttentiveRecurrentGradients {
            recurrence: RecurrentGradients {
                projected,
                weight: Some(weight),
                bias,
                initial: parts.next(),
            },
            query_weight: Some(query),
            context_weight: Some(context_weight),
            keys,
            values,
            v,
        };
        let result = AttentiveRecurrentResult {
            out: context.output,
            attention_weights: &context.saved.attention_weights,
            saved: &context.saved.gates,
        };
        let (call, grad) = (self.call(), context.grad);
        attentive_recurrent_backward(call, self.inputs(inputs), result, grad, gradients_to);
        buffers::give(context.saved.attention_weights);
        buffers::give(context.saved.gates);
        gradients.into_iter().map(Some).collect()
    }
}
