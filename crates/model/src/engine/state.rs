//! The decoding state of rows.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::blocks::{Copied, Table};
use super::buffers::Buffers;
use super::cache::Cache;
use super::columns::{Candidates, Columns};
use super::rows::Span;
use super::source::Source;

/// Rows in decoding, each at its own position of its own sentence.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) rows: Vec<Row>,
    pub(super) cache: Cache,
    /// The states of each recurrent layer, `[rows, states · d_hidden]`.
    pub(super) cells: Vec<Vec<f32>>,
    widths: Vec<usize>,
    pub(super) buffers: Buffers,
    /// The output columns that the rows share, with a shortlist.
    pub(super) columns: Option<Arc<Mutex<Columns>>>,
    /// If wanted, the cross-attention of each row in the last step, over its source.
    pub(super) attention: Option<Vec<Vec<f32>>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// The next position.
    pub(super) position: usize,
    pub(super) source: Option<Arc<Source>>,
    pub(super) table: Table,
    /// The block that the row shared until the last step. In that step, each layer copies its part when it is
    /// read.
    pub(super) copied: Option<Copied>,
    /// The candidates for each next token; empty without a shortlist.
    pub(super) candidates: Candidates,
}

impl State {
    /// A state without rows, with blocks of `block_len` and cells of these widths.
    pub(super) fn new(block_len: usize, widths: Vec<usize>) -> Self {
        Self {
            rows: Vec::new(),
            cache: Cache::new(block_len),
            cells: vec![Vec::new(); widths.len()],
            widths,
            buffers: Buffers::default(),
            columns: None,
            attention: None,
        }
    }

    /// Adds a row at position 0 with the given source and states of the layers' cells, zeros where there is
    /// none.
    pub(super) fn admit(&mut self, source: Option<Arc<Source>>, initial: &[Option<&[f32]>]) {
        self.rows.push(Row { source, ..Row::default() });
        for (layer, (cells, width)) in self.cells.iter_mut().zip(&self.widths).enumerate() {
            match initial.get(layer).copied().flatten() {
                Some(initial) => cells.extend_from_slice(initial),
                None => cells.resize(cells.len() + width, 0.0),
            }
        }
    }

    /// The rows and positions of `lens[i]` next tokens of each row i.
    pub(super) fn spans(&self, lens: impl Iterator<Item = usize>) -> Vec<Span> {
        let mut end = 0;
        let span = |(row, len): (&Row, usize)| {
            let start = end;
            end += len;
            Span { rows: start..end, first: row.position }
        };
        self.rows.iter().zip(lens).map(span).collect()
    }

    /// Makes room in the cache for the positions of `spans`.
    pub(super) fn reserve(&mut self, spans: &[Span]) {
        if self.cache.block_len() == 0 {
            return;
        }
        for (row, span) in self.rows.iter_mut().zip(spans) {
            let mut positions = span.first..span.first + span.rows.len();
            let mut reserve = |position| self.cache.reserve(&mut row.table, position);
            // Only the first block may be shared.
            row.copied = positions.next().and_then(&mut reserve);
            positions.for_each(|position| assert!(reserve(position).is_none(), "a block of its own"));
        }
    }

    /// Moves every row behind its positions in `spans`.
    pub(super) fn advance(&mut self, spans: &[Span]) {
        for (row, span) in self.rows.iter_mut().zip(spans) {
            row.position += span.rows.len();
        }
    }

    /// Groups of neighboring rows with the same source.
    pub(super) fn groups(&self) -> Vec<Range<usize>> {
        let source = |row: &Row| row.source.as_ref().map(Arc::as_ptr);
        let mut start = 0;
        let groups = self.rows.chunk_by(|a, b| source(a) == source(b));
        groups
            .map(|group| {
                let rows = start..start + group.len();
                start = rows.end;
                rows
            })
            .collect()
    }

    /// Replaces row `i` by the previous row `rows[i]`; rows that are not named are dropped.
    pub(super) fn select(&mut self, rows: &[usize]) {
        if rows.iter().copied().eq(0..self.rows.len()) {
            return;
        }
        let selected: Vec<Row> = rows.iter().map(|&row| self.rows[row].clone()).collect();
        let before = std::mem::replace(&mut self.rows, selected);
        self.rows.iter().for_each(|row| self.cache.share(&row.table));
        before.iter().for_each(|row| self.cache.release(&row.table));
        for (cells, &width) in self.cells.iter_mut().zip(&self.widths) {
            let of_row = |&row: &usize| cells[row * width..][..width].iter().copied();
            *cells = rows.iter().flat_map(of_row).collect();
        }
    }
}
