//! Products and what becomes of them.

use std::ops::Range;

use super::pairs;
use super::{Float, FloatKernel, Isa, RightOperand, Single, View};
use crate::area::assert_shape;
use crate::tile::TileMut;

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

impl<'a> Epilogue<'a> {
    /// Adds `bias` `[n]` to each row.
    pub(crate) fn bias(bias: Option<&'a [f32]>) -> Self {
        Self { bias, activation: Activation::Identity }
    }

    /// The operations for the columns from `col` on.
    pub(crate) fn from(self, col: usize) -> Self {
        Self { bias: self.bias.map(|bias| &bias[col..]), ..self }
    }

    /// Applies the operations to some rows.
    pub(super) fn finish(self, out: &mut TileMut<'_>, rows: Range<usize>) {
        if self.bias.is_none() && self.activation == Activation::Identity {
            return;
        }
        for row in rows {
            finish_row(out.row_mut(row), self);
        }
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

/// The product of `a` `[m, k]` and `b` `[k, n]`, which replaces an output `[m, n]` or is added to it.
#[derive(Clone, Copy)]
pub struct Product<'a, A = View<'a>, B = View<'a>> {
    pub(super) k: usize,
    pub(super) a: A,
    pub(super) b: B,
    /// Whether the product is added to the previous output.
    is_added: bool,
    pub(super) epilogue: Epilogue<'a>,
}

impl<'a, A, B> Product<'a, A, B> {
    /// The product of `a` and `b`, which replaces the output.
    pub fn new(k: usize, a: A, b: B) -> Self {
        Self { k, a, b, is_added: false, epilogue: Epilogue::bias(None) }
    }

    /// The product, added to the previous output.
    pub fn added(self) -> Self {
        Self { is_added: true, ..self }
    }

    /// The product, followed by other operations.
    pub(crate) fn then(self, epilogue: Epilogue<'a>) -> Self {
        Self { epilogue, ..self }
    }

    /// Completes an output for which there is nothing to multiply, and returns whether that is so.
    pub(super) fn write_empty(&self, out: &mut TileMut<'_>) -> bool {
        let rows = out.rows();
        let is_empty = rows == 0 || out.cols() == 0 || self.k == 0;
        if is_empty {
            if !self.is_added {
                (0..rows).for_each(|row| out.row_mut(row).fill(0.0));
            }
            self.epilogue.finish(out, 0..rows);
        }
        is_empty
    }

    /// The same with other operands.
    pub(super) fn with<C, D>(&self, a: C, b: D) -> Product<'a, C, D> {
        Product { is_added: self.is_added, epilogue: self.epilogue, ..Product::new(self.k, a, b) }
    }

    /// Whether the product is added to the output from depth `start` on.
    pub(super) fn adds(&self, start: usize) -> bool {
        start > 0 || self.is_added
    }
}

impl Product<'_> {
    /// Computes `out` `[m, n]`.
    ///
    /// # Panics
    /// If a slice is too short for its shape.
    pub fn write(&self, precision: Float, [m, n]: [usize; 2], out: &mut [f32]) {
        assert_shape("out", out, [m, n]);
        self.write_to(precision, &mut TileMut::new(out, m, n, n));
    }

    /// [`Self::write`] to a tile.
    pub(crate) fn write_to(&self, precision: Float, out: &mut TileMut<'_>) {
        self.write_with(FloatKernel::detect(precision), out);
    }

    /// [`Self::write_to`] with a given kernel, which this CPU must support.
    pub(crate) fn write_with(&self, kernel: FloatKernel, out: &mut TileMut<'_>) {
        self.check(out);
        let plain = self.with(self.a, RightOperand::Plain(self.b));
        match kernel {
            FloatKernel::F32(isa) => Single::new(isa, Float::F32).product(&plain, out),
            FloatKernel::Rounded(isa) => Single::new(isa, Float::Bf16).product(&plain, out),
            FloatKernel::Pairs(isa) => {
                let (a, b) = (pairs::PairsOperand::Plain(self.a), pairs::PairsOperand::Plain(self.b));
                pairs::product(isa, &self.with(a, b), out);
            }
        }
    }

    /// [`Self::write_to`] of `f32` operands, on the calling thread.
    pub(crate) fn write_here(&self, out: &mut TileMut<'_>) {
        self.check(out);
        let plain = self.with(self.a, RightOperand::Plain(self.b));
        Single::new(Isa::detect(), Float::F32).rectangle(&plain, out);
    }

    fn check(&self, out: &TileMut<'_>) {
        self.a.assert_holds("a", out.rows(), self.k);
        self.b.assert_holds("b", self.k, out.cols());
    }
}
