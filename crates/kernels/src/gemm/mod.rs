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
mod single;
mod task;
mod view;

use std::ops::Range;

use crate::area::area;
use crate::tile::TileMut;
pub(crate) use isa::{Engine, Isa, PairIsa};
pub(crate) use single::{Right, Single};
pub(crate) use task::{Grain, for_each_rectangle, wanted_tasks};
pub use view::View;

/// Whether a product replaces the output or is added to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accumulate {
    /// Replaces the output.
    Overwrite,
    /// Adds to the output.
    Add,
}

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

/// The dimensions of a product `[m, k]` · `[k, n]`.
#[derive(Clone, Copy, Debug)]
pub struct GemmShape {
    /// Rows of the first operand and of the output.
    pub m: usize,
    /// Columns of the second operand and of the output.
    pub n: usize,
    /// The inner dimension.
    pub k: usize,
}

/// Activation function fused into a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activation {
    /// No activation.
    Identity,
    /// max(0, y).
    Relu,
}

/// Operations applied to an output element after its last product.
#[derive(Clone, Copy)]
pub(crate) struct Epilogue<'a> {
    /// Bias added to each row, `[n]`.
    pub(crate) bias: Option<&'a [f32]>,
    /// Applied after the bias.
    pub(crate) activation: Activation,
}

impl Epilogue<'_> {
    /// Leaves the output unchanged.
    pub(crate) const NONE: Self = Self {
        bias: None,
        activation: Activation::Identity,
    };
}

/// `out` `[m, n]` = `a` `[m, k]` · `b` `[k, n]`, plus the previous `out` if `accumulate` is [`Accumulate::Add`].
///
/// # Panics
/// If a slice is too short for its shape.
pub fn gemm(
    shape: GemmShape,
    a: View<'_>,
    b: View<'_>,
    out: &mut [f32],
    accumulate: Accumulate,
    precision: Precision,
) {
    let GemmShape { m, n, k } = shape;
    assert_eq!(out.len(), area(m, n), "`out` is [{m}, {n}]");
    let mut out = TileMut::new(out, m, n, n);
    gemm_into(k, a, b, &mut out, accumulate, precision, Epilogue::NONE);
}

/// [`gemm`] into a tile.
pub(crate) fn gemm_into(
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    precision: Precision,
    epilogue: Epilogue<'_>,
) {
    let engine = Engine::detect(precision);
    gemm_on(engine, k, a, b, out, accumulate, epilogue);
}

/// [`gemm_into`] with a given engine, which this CPU must support.
pub(crate) fn gemm_on(
    engine: Engine,
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    a.assert_holds("a", m, k);
    b.assert_holds("b", k, n);
    if m == 0 || n == 0 || k == 0 {
        return without_products(out, accumulate, epilogue);
    }
    match engine {
        Engine::F32(isa) => {
            let single = Single::new(isa, Precision::F32);
            single.product(k, a, Right::Plain(b), out, accumulate, epilogue)
        }
        Engine::Rounded(isa) => {
            let single = Single::new(isa, Precision::Bf16);
            single.product(k, a, Right::Plain(b), out, accumulate, epilogue)
        }
        #[cfg(target_arch = "x86_64")]
        Engine::Pairs(isa) => pairs::product(isa, k, a, b, out, accumulate, epilogue),
        #[cfg(not(target_arch = "x86_64"))]
        Engine::Pairs(_) => unreachable!("x86-64 instruction sets"),
    }
}

/// [`gemm`] of `f32` operands into a tile, on the calling thread.
pub(crate) fn gemm_tile(
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    a.assert_holds("a", m, k);
    b.assert_holds("b", k, n);
    if m == 0 || n == 0 || k == 0 {
        return without_products(out, accumulate, epilogue);
    }
    let single = Single::new(Isa::detect(), Precision::F32);
    single.rectangle(k, a, Right::Plain(b), out, accumulate, epilogue);
}

/// The output for an inner dimension of 0.
pub(crate) fn without_products(
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    let rows = out.rows();
    if accumulate == Accumulate::Overwrite {
        (0..rows).for_each(|row| out.row_mut(row).fill(0.0));
    }
    finish(out, 0..rows, epilogue);
}

/// Applies the epilogue.
fn finish(out: &mut TileMut<'_>, rows: Range<usize>, epilogue: Epilogue<'_>) {
    if epilogue.bias.is_none() && epilogue.activation == Activation::Identity {
        return;
    }
    for row in rows {
        finish_row(out.row_mut(row), epilogue);
    }
}

vectorized! {
    fn finish_row(row: &mut [f32], epilogue: Epilogue<'_>) {
        if let Some(bias) = epilogue.bias {
            for (x, &bias) in row.iter_mut().zip(bias) {
                *x += bias;
            }
        }
        if epilogue.activation == Activation::Relu {
            for x in row {
                *x = if *x < 0.0 { 0.0 } else { *x };
            }
        }
    }
}

#[cfg(test)]
mod tests;
