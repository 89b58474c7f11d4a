//! The verdict on an update: whether its gradients are finite, and the factor by which they are clipped.

use crate::Buffer;

/// The elements of a verdict: the factor by which clipping multiplies gradients, and 1 if this or an earlier
/// update was damaged by a NaN or infinite loss or gradient, otherwise 0. A damaged update changes nothing.
pub const VERDICT: usize = 2;

/// What a verdict depends on.
#[derive(Clone, Copy, Debug)]
pub struct VerdictCall<'a> {
    /// The norm to which the average gradient per token is clipped; 0 for no clipping.
    pub clip_norm: f32,
    /// The tokens over which the average is taken.
    pub n_tokens: f32,
    /// `[1]`: the loss. Only whether it is finite matters.
    pub loss: &'a Buffer,
    /// The squares that [`Device::squares`](crate::Device::squares) sums.
    pub squares: &'a Buffer,
    /// The verdict on the update before.
    pub before: Option<&'a Buffer>,
}

/// The verdict in single precision.
pub fn verdict(call: VerdictCall<'_>, loss: f32, squares: &[f32], before: Option<&[f32]>) -> [f32; VERDICT] {
    let norm = squares.iter().sum::<f32>().sqrt() / call.n_tokens;
    let was_damaged = before.is_some_and(is_damaged);
    let damaged = was_damaged || !loss.is_finite() || !norm.is_finite();
    let factor = if call.clip_norm > 0.0 && norm > call.clip_norm { call.clip_norm / norm } else { 1.0 };
    [factor, f32::from(u8::from(damaged))]
}

/// True if this or an earlier update was damaged.
pub fn is_damaged(verdict: &[f32]) -> bool {
    verdict[1] != 0.0
}

/// The factor of gradients; `None` for an update that changes nothing.
pub fn factor(verdict: &[f32]) -> Option<f32> {
    (!is_damaged(verdict)).then_some(verdict[0])
}
