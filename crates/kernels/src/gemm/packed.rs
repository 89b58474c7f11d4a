//! Matrices that are packed once for many products.

use super::View;
use super::isa::Isa;
use super::pack::{self, KC};
use crate::area::area;

/// The right operand `[k, n]` of products, in the order in which the microkernels read it.
#[derive(Clone, Debug)]
pub struct Packed {
    isa: Isa,
    k: usize,
    n: usize,
    /// One block of panels after the other, from the first `KC` rows to the last.
    panels: Vec<f32>,
}

impl Packed {
    /// Packs the transpose of `weight` `[n, k]`, the weight of a linear layer from k to n columns.
    ///
    /// # Panics
    /// If `weight` does not have n · k elements.
    pub fn transposed(weight: &[f32], n: usize, k: usize) -> Self {
        assert_eq!(weight.len(), area(n, k), "`weight` is [{n}, {k}]");
        let isa = Isa::detect();
        let width = n.next_multiple_of(isa.nr());
        let mut panels = vec![0.0; area(width, k)];
        let weight = View::transposed(weight, k);
        for start in (0..k).step_by(KC) {
            let depth = KC.min(k - start);
            let block = &mut panels[start * width..][..depth * width];
            pack::pack_b(isa, weight.from(start, 0), depth, n, block);
        }
        Self { isa, k, n, panels }
    }

    /// Rows.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Columns.
    pub fn n(&self) -> usize {
        self.n
    }

    pub(super) fn isa(&self) -> Isa {
        self.isa
    }

    /// The panels of rows `start..start + depth`, a whole block, from column `col` on, which starts a panel.
    pub(super) fn panels(&self, start: usize, depth: usize, col: usize) -> &[f32] {
        let width = self.n.next_multiple_of(self.isa.nr());
        debug_assert_eq!(col % self.isa.nr(), 0, "columns in front of a panel");
        &self.panels[start * width..][..depth * width][depth * col..]
    }
}
