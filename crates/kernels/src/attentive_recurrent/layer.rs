//! The saved forward results that the backward pass needs.

use super::{AttentiveRecurrentCall, AttentiveRecurrentInputs};
use crate::recurrent::Schedule;

/// Results of [`super::attentive_recurrent`].
#[derive(Clone, Copy, Debug)]
pub struct AttentiveRecurrentResult<'a> {
    /// `[batch * len, states * d + d_value]`
    pub out: &'a [f32],
    /// `[batch * len, src_len]`
    pub attention_weights: &'a [f32],
    /// `[batch * len, saved * d]`
    pub saved: &'a [f32],
}

/// Everything the backward pass reads.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub(super) call: AttentiveRecurrentCall<'a>,
    pub(super) inputs: AttentiveRecurrentInputs<'a>,
    pub(super) result: AttentiveRecurrentResult<'a>,
    pub(super) grad_out: &'a [f32],
    pub(super) schedule: &'a Schedule<'a>,
}
