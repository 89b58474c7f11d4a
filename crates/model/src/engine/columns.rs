//! The columns of the output projection that the shortlists of sentences ask for.

use std::sync::{Arc, Mutex};

use attentive_base::batch::TokenId;
use attentive_kernels::packed::{PackedColumns, PackedWeight};

use super::linear::PackedLinear;
use crate::incremental::Candidates;

/// The candidates of each row, and the copied columns of a search.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) rows: Vec<Candidates>,
    pub(super) columns: Arc<Mutex<Columns>>,
}

/// Columns of the output projection, copied side by side when a sentence first asks for them. Which ones are
/// there affects time only: all sentences share one product, in which a column does not depend on the others.
#[derive(Debug)]
pub(super) struct Columns {
    weight: PackedColumns,
    bias: Option<Vec<f32>>,
    /// The index of each token's column, or [`MISSING`].
    indices: Vec<u32>,
    /// The number of columns once those that no sentence asked for any more had been dropped.
    fresh: usize,
}

const MISSING: u32 = u32::MAX;

impl Columns {
    /// No columns of `map` yet.
    pub(super) fn new(map: &PackedLinear) -> Self {
        let weight = map.weight.view();
        Self {
            weight: PackedColumns::new(weight.precision(), weight.k()),
            bias: map.bias.is_some().then(Vec::new),
            indices: vec![MISSING; weight.n()],
            fresh: 0,
        }
    }

    /// Copies the columns of `map` that `rows` lack. Once there are half as many again as were needed, those
    /// that no row needs are dropped.
    pub(super) fn provide(&mut self, rows: &[Candidates], map: &PackedLinear) {
        let lists = || rows.chunk_by(Arc::ptr_eq).map(|same| &same[0]);
        let lacks = |list: &Candidates| list.iter().any(|&token| self.index(token) == MISSING);
        if !lists().any(lacks) {
            return;
        }
        let renewed = self.len() == 0 || self.len() > self.fresh + self.fresh / 2;
        if renewed {
            *self = Self::new(map);
        }
        lists().for_each(|list| self.copy(list, map));
        if renewed {
            self.fresh = self.len();
        }
    }

    fn copy(&mut self, list: &[TokenId], map: &PackedLinear) {
        let weight = map.weight.view();
        for &token in list {
            let column = token as usize;
            if self.indices[column] == MISSING {
                self.indices[column] = self.len() as u32;
                self.weight.push(weight, column);
                if let (Some(all), Some(bias)) = (&mut self.bias, &map.bias) {
                    all.push(bias[column]);
                }
            }
        }
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        self.weight.view().n()
    }

    /// The columns and their biases.
    pub(super) fn view(&self) -> (PackedWeight<'_>, Option<&[f32]>) {
        (self.weight.view(), self.bias.as_deref())
    }

    /// The index of the column of `token`.
    pub(super) fn index(&self, token: TokenId) -> u32 {
        self.indices[token as usize]
    }
}
