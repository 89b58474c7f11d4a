//! The decoding state of rows.

use std::fmt::Debug;
use std::sync::Arc;

use attentive_base::batch::{Padded, TokenId};

use super::blocks::{Copied, Table};
use crate::nn::KeptWidths;
use crate::shortlist::Shortlist;

/// Rows in decoding, each at its own position of its own sentence.
#[derive(Clone, Debug)]
pub struct State<S: StateStore> {
    pub(crate) rows: Vec<Row<S::Source>>,
    /// The states of each recurrent layer, `[rows, states · d_hidden]`.
    pub(crate) cells: Vec<S::Cells>,
    pub(crate) widths: KeptWidths,
    /// If wanted, the cross-attention of each row in the last step, over its source.
    pub(crate) attention: Option<Vec<Vec<f32>>>,
    pub(crate) store: S,
}

/// Keeps the numbers of a [`State`] in RAM or in the memory of a device.
pub trait StateStore {
    /// The source of a row.
    type Source: Clone + Debug + Default;
    /// The states of a recurrent layer.
    type Cells: Debug + Default;

    /// Notes that one more row has the blocks of `row`.
    fn share(&mut self, row: &Row<Self::Source>);

    /// Notes that `row` no longer needs its blocks.
    fn release(&mut self, row: &Row<Self::Source>);

    /// Replaces the state of row `i`, of this `width`, by that of the previous row `rows[i]`.
    fn select_cells(cells: &mut Self::Cells, width: usize, rows: &[usize]);
}

/// The candidates of a sentence, in increasing order.
pub(crate) type Candidates = Arc<[TokenId]>;

/// A row in decoding.
#[derive(Clone, Debug, Default)]
pub struct Row<Source> {
    /// The next position.
    pub(crate) position: usize,
    pub(crate) source: Source,
    /// The blocks of earlier positions.
    pub(crate) table: Table,
    /// The block that the row shared until the last step. In that step, each layer copies its part when it is
    /// read.
    pub(crate) copied: Option<Copied>,
    /// The candidates for each next token; empty without a shortlist.
    pub(crate) candidates: Candidates,
}

impl<S: StateStore> State<S> {
    /// A state without rows, with layers of these widths.
    pub(crate) fn empty(widths: KeptWidths, store: S) -> Self {
        Self {
            rows: Vec::new(),
            cells: widths.cells.iter().map(|_| S::Cells::default()).collect(),
            widths,
            attention: None,
            store,
        }
    }

    /// True if rows attend to their sources.
    pub(crate) fn attends(&self) -> bool {
        !self.widths.memory.is_empty()
    }

    /// Limits each row from `first` on to the candidates for its source, one of `src`.
    pub(crate) fn list_candidates(&mut self, first: usize, src: &Padded, shortlist: &Shortlist) {
        let sources = src.ids.chunks_exact(src.width().max(1)).zip(src.lens());
        for (row, (ids, &len)) in self.rows[first..].iter_mut().zip(sources) {
            row.candidates = shortlist.candidates(&ids[..len]).into();
        }
    }

    /// Returns the candidates of each row.
    pub(crate) fn candidates(&self) -> Vec<Candidates> {
        self.rows.iter().map(|row| row.candidates.clone()).collect()
    }

    /// Moves each of the rows `numbers` behind its next `lens[i]` positions.
    pub(crate) fn advance(&mut self, numbers: impl IntoIterator<Item = usize>, lens: &[usize]) {
        for (number, len) in numbers.into_iter().zip(lens) {
            self.rows[number].position += len;
        }
    }

    /// Replaces row `i` by the previous row `rows[i]`; rows that are not named are dropped.
    pub(crate) fn select(&mut self, rows: &[usize]) {
        if rows.iter().copied().eq(0..self.rows.len()) {
            return;
        }
        let selected: Vec<Row<S::Source>> = rows.iter().map(|&row| self.rows[row].clone()).collect();
        let before = std::mem::replace(&mut self.rows, selected);
        self.rows.iter().for_each(|row| self.store.share(row));
        before.iter().for_each(|row| self.store.release(row));
        for (cells, &width) in self.cells.iter_mut().zip(&self.widths.cells) {
            S::select_cells(cells, width, rows);
        }
    }
}
