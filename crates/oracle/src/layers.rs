//! Recurrent layers, whose backward pass computes the states again, so that what it keeps are the projected
//! inputs; and the gradients of layers.

use attentive_kernels::reference::{AttentiveRecurrent, Recurrent, ReferenceAdditiveAttention};

use crate::columns::{copied, written};
use crate::memory::{elements, elements_mut, put, put_if};
use attentive_device::Buffer;
use attentive_device::*;

/// The states of all directions side by side.
pub(super) fn recurrent_forward(
    directions: Vec<RecurrentForward<'_, &Buffer, &mut Buffer>>,
    states: &mut [f64],
) {
    let width = directions.iter().map(|one| state_cols(one.call)).sum();
    let mut first = 0;
    for RecurrentForward { call, recurrence, projected, saved } in directions {
        let projected = elements(projected);
        let found = recurrent(call, recurrence.map(elements), projected).forward();
        let cols = state_cols(call);
        written(states, width, first, &found, cols);
        first += cols;
        if let Some(saved) = saved {
            *elements_mut(saved) = projected.to_vec();
        }
    }
}

/// The gradients of all directions given those of their states side by side.
pub(super) fn recurrent_backward(directions: Vec<RecurrentBackward<'_, &Buffer, &mut Buffer>>, grad: &[f64]) {
    let width = directions.iter().map(|one| state_cols(one.call)).sum();
    let mut first = 0;
    for one in directions {
        let cols = state_cols(one.call);
        let grad = copied(grad, width, first, cols);
        first += cols;
        let layer = recurrent(one.call, one.recurrence.map(elements), elements(one.saved));
        put_gradients(one.gradients, layer.backward(&grad));
    }
}

/// The columns of the states of one direction.
fn state_cols(call: RecurrentCall<'_>) -> usize {
    call.cell.states() * call.d
}

fn recurrent<'a>(
    call: RecurrentCall<'a>,
    recurrence: Recurrence<&'a [f64]>,
    projected: &'a [f64],
) -> Recurrent<'a> {
    Recurrent {
        call,
        projected,
        weight: recurrence.hidden.map(|hidden| hidden.weight),
        bias: recurrence.hidden.and_then(|hidden| hidden.bias),
        initial: recurrence.initial,
    }
}

pub(super) fn additive<'a>(
    shape: AdditiveAttentionShape,
    inputs: AdditiveAttentionInputs<'a, &'a [f64]>,
) -> ReferenceAdditiveAttention<'a> {
    let AdditiveAttentionInputs { queries, keys, values, lengths, v } = inputs;
    ReferenceAdditiveAttention { shape, queries, keys, values, lens: lengths.map(Lengths::lens), v }
}

pub(super) fn attentive<'a>(
    call: AttentiveRecurrentCall<'a>,
    inputs: AttentiveRecurrentInputs<'a, &'a [f64]>,
    projected: &'a [f64],
) -> AttentiveRecurrent<'a> {
    AttentiveRecurrent {
        recurrent: recurrent(call.recurrent, inputs.recurrence, projected),
        attention: ReferenceAdditiveAttention {
            shape: AdditiveAttentionShape {
                rows: call.recurrent.lengths.rows(),
                src_len: call.src_len,
                d_key: call.d_key,
                d_value: call.d_value,
            },
            queries: &[],
            keys: inputs.keys,
            values: inputs.values,
            lens: inputs.src_lengths.map(Lengths::lens),
            v: inputs.v,
        },
        query_weight: inputs.query_weight,
        context_weight: inputs.context_weight,
    }
}

/// Writes the gradients of projections, weight, bias and initial states.
pub(super) fn put_gradients(
    gradients: RecurrentGradients<&mut Buffer>,
    [projected, weight, bias, initial]: [Vec<f64>; 4],
) {
    put(gradients.projected, projected);
    put_if(gradients.weight, weight);
    put_if(gradients.bias, bias);
    put_if(gradients.initial, initial);
}

/// Writes the gradients in the order of the reference.
pub(super) fn put_attentive_gradients(
    gradients: AttentiveRecurrentGradients<&mut Buffer>,
    found: [Vec<f64>; 9],
) {
    let [projected, weight, bias, initial, query, context, keys, values, v] = found;
    put_gradients(gradients.recurrence, [projected, weight, bias, initial]);
    put_if(gradients.query_weight, query);
    put_if(gradients.context_weight, context);
    put(gradients.keys, keys);
    put(gradients.values, values);
    put(gradients.v, v);
}

/// Writes the gradients of the input, the gain and the bias of a norm.
pub(super) fn put_norm_gradients(gradients: NormGradients<&mut Buffer>, [x, gain, bias]: [Vec<f64>; 3]) {
    put(gradients.x, x);
    put(gradients.gain, gain);
    put_if(gradients.bias, bias);
}
