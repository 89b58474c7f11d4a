//! Operands that are packed once for several products, which have the same bits as products with the operands
//! themselves.

use super::pairs::{self, OperandSide, PairsOperand};
use super::{Float, FloatKernel, Product, RightOperand, Single, View};
use crate::packed::PackedF32;
use crate::tile::TileMut;

/// The right operand `[k, n]` of several products.
#[derive(Clone, Copy)]
pub(crate) struct PreparedRight<'a> {
    k: usize,
    n: usize,
    values: Values<'a>,
}

#[derive(Clone, Copy)]
enum Values<'a> {
    /// Rounded if the precision asks for it.
    Single(Single, PackedF32<'a>),
    Pairs(super::isa::PairIsa, &'a [pairs::PairBlock]),
}

/// Calls `work` with `b` `[k, n]`, packed for products at `precision`.
///
/// # Panics
/// If `b` is too small.
pub(crate) fn with_prepared_right<R>(
    precision: Float,
    b: View<'_>,
    [k, n]: [usize; 2],
    work: impl FnOnce(PreparedRight<'_>) -> R,
) -> R {
    b.assert_holds("b", k, n);
    match FloatKernel::detect(precision) {
        FloatKernel::F32(isa) | FloatKernel::Rounded(isa) => {
            let single = Single::new(isa, precision);
            single.with_panels(b, [k, n], |panels| {
                let values = Values::Single(single, panels);
                work(PreparedRight { k, n, values })
            })
        }
        FloatKernel::Pairs(isa) => pairs::with_packed(OperandSide::Right, b.t(), [n, k], |blocks| {
            let values = Values::Pairs(isa, blocks);
            work(PreparedRight { k, n, values })
        }),
    }
}

/// [`with_prepared_right`] if there is an operand.
pub(crate) fn with_prepared_right_if_any<R>(
    precision: Float,
    b: Option<View<'_>>,
    shape: [usize; 2],
    work: impl FnOnce(Option<PreparedRight<'_>>) -> R,
) -> R {
    match b {
        Some(b) => with_prepared_right(precision, b, shape, |b| work(Some(b))),
        None => work(None),
    }
}

impl PreparedRight<'_> {
    /// The columns of the operand.
    pub(crate) fn n(self) -> usize {
        self.n
    }
}

impl Product<'_, View<'_>, PreparedRight<'_>> {
    /// Computes `out` `[m, n]`.
    ///
    /// # Panics
    /// If an operand does not fit.
    pub(crate) fn write_to(&self, out: &mut TileMut<'_>) {
        let PreparedRight { k, n, values } = self.b;
        assert_eq!((k, n), (self.k, out.cols()), "the prepared operand");
        self.a.assert_holds("a", out.rows(), k);
        match values {
            Values::Single(single, panels) => {
                single.product(&self.with(self.a, RightOperand::F32(panels, 0)), out);
            }
            Values::Pairs(isa, blocks) => {
                let (a, b) = (PairsOperand::Plain(self.a), PairsOperand::Packed(blocks));
                pairs::product(isa, &self.with(a, b), out);
            }
        }
    }
}

/// The left operand `[m, k]` of several products at a precision.
#[derive(Clone, Copy)]
pub(crate) struct PreparedLeft<'a> {
    precision: Float,
    view: View<'a>,
    /// The same for instructions that multiply pairs.
    pairs: Option<(super::isa::PairIsa, &'a [pairs::PairBlock])>,
}

impl<'a> PreparedLeft<'a> {
    /// An operand that each product packs, if it reads it packed.
    pub(crate) fn plain(precision: Float, view: View<'a>) -> Self {
        Self { precision, view, pairs: None }
    }
}

/// Calls `work` with `a` `[m, k]`, packed for products at `precision` if they read it packed.
///
/// # Panics
/// If `a` is too small.
pub(crate) fn with_prepared_left<R>(
    precision: Float,
    a: View<'_>,
    [m, k]: [usize; 2],
    work: impl FnOnce(PreparedLeft<'_>) -> R,
) -> R {
    a.assert_holds("a", m, k);
    let plain = PreparedLeft::plain(precision, a);
    match FloatKernel::detect(precision) {
        FloatKernel::Pairs(isa) => pairs::with_packed(OperandSide::Left, a, [m, k], |blocks| {
            let pairs = Some((isa, blocks));
            work(PreparedLeft { pairs, ..plain })
        }),
        _ => work(plain),
    }
}

impl Product<'_, PreparedLeft<'_>, View<'_>> {
    /// Computes `out` `[m, n]`.
    ///
    /// # Panics
    /// If an operand does not fit.
    pub(crate) fn write_to(&self, out: &mut TileMut<'_>) {
        if let Some((isa, blocks)) = self.a.pairs {
            self.b.assert_holds("b", self.k, out.cols());
            assert_eq!(blocks.len(), pairs::n_blocks(out.rows(), self.k), "the prepared operand");
            let (a, b) = (PairsOperand::Packed(blocks), PairsOperand::Plain(self.b));
            return pairs::product(isa, &self.with(a, b), out);
        }
        self.with(self.a.view, self.b).write_to(self.a.precision, out);
    }
}
