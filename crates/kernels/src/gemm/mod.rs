//! Matrix products: packed, blocked and computed in register tiles.
//!
//! An output element is a sum of products in an order that depends on constants and on the instruction set alone. Nothing
//! else enters its value, so it is the same however many rows, columns and threads there are.
//!
//! Products of `f32` are `single`, those of bfloat16 by instructions that multiply pairs of them are `pairs`.

pub(crate) mod bf16;
mod isa;
mod micro;
mod pack;
#[cfg(target_arch = "x86_64")]
mod pairs;
mod single;
mod task;
mod view;

use std::ops::Range;

use crate::area::area;
use crate::tile::TileMut;
use isa::{Engine, Isa};
use single::Single;
pub use view::View;

/// What becomes of what the output holds already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accumulate {
    /// It is replaced.
    Overwrite,
    /// The product is added to it.
    Add,
}

/// How exactly the operands enter a product. Sums are always of `f32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// As they are.
    F32,
    /// Rounded to bfloat16, which some CPUs multiply much faster; on others the rounded operands are multiplied as `f32`.
    Bf16,
}

impl Precision {
    /// The faster of the two on this CPU.
    pub fn fastest() -> Self {
        match Engine::detect(Self::Bf16) {
            Engine::Pairs(_) => Self::Bf16,
            Engine::F32(_) | Engine::Rounded(_) => Self::F32,
        }
    }

    /// The instructions that multiply at this precision on this CPU, for a log.
    pub fn instructions(self) -> &'static str {
        Engine::detect(self).name()
    }
}

/// The sizes of a product of `[m, k]` and `[k, n]`.
#[derive(Clone, Copy, Debug)]
pub struct GemmShape {
    /// Rows of the first operand and of the output.
    pub m: usize,
    /// Columns of the second operand and of the output.
    pub n: usize,
    /// Products in each sum.
    pub k: usize,
}

/// What is applied to an output element at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activation {
    /// Nothing.
    Identity,
    /// max(0, y).
    Relu,
}

/// What is done to an output element after its last product.
#[derive(Clone, Copy)]
pub(crate) struct Epilogue<'a> {
    /// Added to each row, `[n]`.
    pub(crate) bias: Option<&'a [f32]>,
    /// Applied last.
    pub(crate) activation: Activation,
}

impl Epilogue<'_> {
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        bias: None,
        activation: Activation::Identity,
    };
}

/// `out` `[m, n]` = `a` `[m, k]` · `b` `[k, n]`, added to `out` if `accumulate` says so.
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

/// [`gemm`] into a rectangle.
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

/// [`gemm_into`] by an engine of this CPU.
fn gemm_on(
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
            Single::new(isa, Precision::F32).product(k, a, b, out, accumulate, epilogue)
        }
        Engine::Rounded(isa) => {
            Single::new(isa, Precision::Bf16).product(k, a, b, out, accumulate, epilogue)
        }
        #[cfg(target_arch = "x86_64")]
        Engine::Pairs(isa) => pairs::product(isa, k, a, b, out, accumulate, epilogue),
        #[cfg(not(target_arch = "x86_64"))]
        Engine::Pairs(_) => unreachable!("x86-64 instruction sets"),
    }
}

/// [`gemm`] of `f32` operands into a rectangle, on the calling thread.
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
    single.rectangle(k, a, b, out, accumulate, epilogue);
}

/// The output where there is nothing to multiply.
fn without_products(out: &mut TileMut<'_>, accumulate: Accumulate, epilogue: Epilogue<'_>) {
    let rows = out.rows();
    if accumulate == Accumulate::Overwrite {
        (0..rows).for_each(|row| out.row_mut(row).fill(0.0));
    }
    finish(out, 0..rows, epilogue);
}

/// Adds the bias and applies the activation.
fn finish(out: &mut TileMut<'_>, rows: Range<usize>, epilogue: Epilogue<'_>) {
    if epilogue.bias.is_none() && epilogue.activation == Activation::Identity {
        return;
    }
    for row in rows {
        finish_row(out.row_mut(row), epilogue);
    }
}

vectorised! {
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
