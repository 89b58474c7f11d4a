//! Matrix products: packed, blocked, and computed in register tiles.
//!
//! The summation order of an output element depends only on constants and the instruction set, so its value
//! is the same for any number of rows, columns and threads.
//!
//! `single` computes `f32` products; `pairs` uses instructions that multiply pairs of bfloat16 numbers, and
//! `int8` those that multiply bytes.

#[cfg(target_arch = "x86_64")]
mod amx;
pub mod bf16;
mod float;
pub(crate) mod int8;
mod isa;
mod micro;
#[cfg(target_arch = "aarch64")]
mod mmla;
mod pack;
pub(crate) mod pairs;
mod prepared;
mod product;
mod single;
mod task;
mod view;
mod widened;

pub use float::Float;
pub(crate) use isa::{FloatKernel, Isa, PairIsa};
pub(crate) use prepared::{
    PreparedLeft, PreparedRight, with_prepared_left, with_prepared_right, with_prepared_right_if_any,
};
pub(crate) use product::Epilogue;
pub use product::{Activation, Product};
pub(crate) use single::{RightOperand, Single};
pub(crate) use task::{Grain, for_each_rectangle, wanted_tasks};
pub use view::View;

#[cfg(test)]
mod tests;
