//! Recurrent layers, whose backward pass computes the states again, so that what it keeps are the projected inputs; and the
//! gradients of layers.

use attentive_kernels::reference::{
    AdditiveAttention, AdditiveAttentionShape, AttentiveRecurrent, Recurrent,
};

use super::memory::{put, put_if};
use crate::Buffer;
use crate::operands::*;

pub(super) fn recurrent<'a>(
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

pub(super) fn attentive<'a>(
    call: AttentiveRecurrentCall<'a>,
    inputs: AttentiveRecurrentInputs<'a, &'a [f64]>,
    projected: &'a [f64],
) -> AttentiveRecurrent<'a> {
    AttentiveRecurrent {
        recurrent: recurrent(call.recurrent, inputs.recurrence, projected),
        attention: AdditiveAttention {
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
    let [
        projected,
        weight,
        bias,
        initial,
        query,
        context,
        keys,
        values,
        v,
    ] = found;
    put_gradients(gradients.recurrence, [projected, weight, bias, initial]);
    put_if(gradients.query_weight, query);
    put_if(gradients.context_weight, context);
    put(gradients.keys, keys);
    put(gradients.values, values);
    put(gradients.v, v);
}

/// Writes the gradients of the input, the gain and the bias of a norm.
pub(super) fn put_norm_gradients(
    gradients: NormGradients<&mut Buffer>,
    [x, gain, bias]: [Vec<f64>; 3],
) {
    put(gradients.x, x);
    put(gradients.gain, gain);
    put_if(gradients.bias, bias);
}
