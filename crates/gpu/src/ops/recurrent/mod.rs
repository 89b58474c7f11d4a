//! Recurrent layers.
//!
//! The steps of a sequence are its positions in the order in which they are read. Sequences are sorted from
//! the longest to the shortest, so that those that have a step come first, and their products are one
//! product. The backward pass writes what the gradients of weights need on tapes: matrices with a row for
//! each step of each sequence, step by step.

mod backward;
mod forward;
mod schedule;

pub(crate) use backward::recurrent_backward;
pub(super) use backward::{Retreat, Tapes};
pub(super) use forward::Advance;
pub(crate) use forward::recurrent;
use schedule::states_width;
pub(super) use schedule::{GpuRecurrentSchedule, GpuRecurrentStates};

use std::borrow::Cow;

/// The kernels of cells.
fn source(_: usize) -> Cow<'static, str> {
    concat!(include_str!("../../wgsl/steps.wgsl"), include_str!("../../wgsl/recurrent.wgsl")).into()
}
