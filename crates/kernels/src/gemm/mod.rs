//! Matrix products: packed, blocked, and computed in register tiles.
//!
//! The summation order of an output element depends only on constants and the instruction set, so its value is the
//! same for any number of rows, columns and threads.
//!
//! `single` computes `f32` products; `pairs` uses instructions that multiply pairs of bfloat16 numbers, and `int8` those that
//! multiply bytes.

#[cfg(target_arch = "x86_64")]
mod amx;
pub(crate) mod bf16;
pub(crate) mod int8;
mod isa;
mod micro;
mod pack;
#[cfg(target_arch = "x86_64")]
pub(crate) mod pairs;
mod product;
mod single;
mod task;
mod view;

pub(crate) use isa::{Engine, Isa, PairIsa};
pub(crate) use product::Epilogue;
pub use product::{Activation, Product};
pub(crate) use single::{Right, Single};
pub(crate) use task::{Grain, for_each_rectangle, wanted_tasks};
pub use view::View;

/// Matmul precision: how operands are rounded. Sums are always `f32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// Operands are used unchanged.
    F32,
    /// Operands are rounded to bfloat16, which some CPUs multiply much faster; other CPUs multiply the rounded
    /// operands as `f32`.
    Bf16,
}

impl Precision {
    /// The faster precision on this CPU.
    pub fn fastest() -> Self {
        match Engine::detect(Self::Bf16) {
            Engine::Pairs(_) => Self::Bf16,
            Engine::F32(_) | Engine::Rounded(_) => Self::F32,
        }
    }

    /// Name of the instructions used at this precision on this CPU, for logs.
    pub fn instructions(self) -> &'static str {
        Engine::detect(self).name()
    }
}

#[cfg(test)]
mod tests;
