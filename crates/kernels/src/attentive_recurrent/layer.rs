//! The saved forward results that the backward pass needs.

use super::{AttentiveRecurrentCall, AttentiveRecurrentInputs};
use crate::recurrent::RecurrentSchedule;

/// Results of [`super::attentive_recurrent`].
#[derive(Clone, Copy, Debug)]
pub struct AttentiveRecurrentResult<T> {
    /// `[batch * len, states * d + d_value]`
    pub out: T,
    /// `[batch * len, src_len]`
    pub attention_weights: T,
    /// `[batch * len, saved * d]`
    pub saved: T,
}

impl<T> AttentiveRecurrentResult<T> {
    /// Applies `f` to each result.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> AttentiveRecurrentResult<U> {
        AttentiveRecurrentResult {
            out: f(self.out),
            attention_weights: f(self.attention_weights),
            saved: f(self.saved),
        }
    }
}

/// Everything the backward pass reads.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub(super) call: AttentiveRecurrentCall<'a>,
    pub(super) inputs: AttentiveRecurrentInputs<'a, &'a [f32]>,
    pub(super) result: AttentiveRecurrentResult<&'a [f32]>,
    pub(super) grad_out: &'a [f32],
    pub(super) schedule: &'a RecurrentSchedule<'a>,
}
