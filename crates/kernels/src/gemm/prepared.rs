//! Operands that are packed once for several products, which have the same bits as products with the operands themselves.

use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::pairs::{self, Given, Side};
use super::{Engine, Float, Product, Right, Single, View, bf16, pack};
use crate::area::area;
use crate::packed::{PANEL, PackedF32, with_lines};
use crate::parallel::is_large;
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
    /// In panels of `PANEL` columns, rounded if the precision asks for it.
    Single(Single, &'a [f32]),
    #[cfg(target_arch = "x86_64")]
    Pairs(super::isa::PairIsa, &'a [pairs::Block]),
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
    match Engine::detect(precision) {
        Engine::F32(isa) | Engine::Rounded(isa) => {
            with_lines(area(n.next_multiple_of(PANEL), k), |values| {
                pack_panels(precision, b, [k, n], values);
                let values = Values::Single(Single::new(isa, precision), values);
                work(PreparedRight { k, n, values })
            })
        }
        #[cfg(target_arch = "x86_64")]
        Engine::Pairs(isa) => pairs::with_packed(Side::Right, b.t(), [n, k], |blocks| {
            let values = Values::Pairs(isa, blocks);
            work(PreparedRight { k, n, values })
        }),
        #[cfg(not(target_arch = "x86_64"))]
        Engine::Pairs(_) => unreachable!("x86-64 instruction sets"),
    }
}

/// Packs and rounds `b` `[k, n]` into `panels` `[n / PANEL, k, PANEL]`, on several threads if that is faster.
fn pack_panels(precision: Float, b: View<'_>, [k, n]: [usize; 2], panels: &mut [f32]) {
    if k == 0 || n == 0 {
        return;
    }
    let group = pack::GROUP * PANEL;
    let pack = |(number, panels): (usize, &mut [f32])| {
        let first = number * group;
        pack::pack_b(b.from(0, first), k, group.min(n - first), panels);
        if precision == Float::Bf16 {
            bf16::round_all(panels);
        }
    };
    let len = area(group, k);
    match is_large(area(k, n)) {
        true => panels.par_chunks_mut(len).enumerate().for_each(pack),
        false => panels.chunks_mut(len).enumerate().for_each(pack),
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
            Values::Single(single, values) => {
                let right = PackedF32::new(n, k, values).expect("whole panels");
                single.product(&self.with(self.a, Right::F32(right, 0)), out);
            }
            #[cfg(target_arch = "x86_64")]
            Values::Pairs(isa, blocks) => {
                let (a, b) = (Given::Plain(self.a), Given::Packed(blocks));
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
    #[cfg(target_arch = "x86_64")]
    pairs: Option<(super::isa::PairIsa, &'a [pairs::Block])>,
}

impl<'a> PreparedLeft<'a> {
    /// An operand that each product packs, if it reads it packed.
    pub(crate) fn plain(precision: Float, view: View<'a>) -> Self {
        Self {
            precision,
            view,
            #[cfg(target_arch = "x86_64")]
            pairs: None,
        }
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
    match Engine::detect(precision) {
        #[cfg(target_arch = "x86_64")]
        Engine::Pairs(isa) => pairs::with_packed(Side::Left, a, [m, k], |blocks| {
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
        #[cfg(target_arch = "x86_64")]
        if let Some((isa, blocks)) = self.a.pairs {
            self.b.assert_holds("b", self.k, out.cols());
            assert_eq!(
                blocks.len(),
                pairs::n_blocks(out.rows(), self.k),
                "the prepared operand"
            );
            let (a, b) = (Given::Packed(blocks), Given::Plain(self.b));
            return pairs::product(isa, &self.with(a, b), out);
        }
        self.with(self.a.view, self.b)
            .write_to(self.a.precision, out);
    }
}
