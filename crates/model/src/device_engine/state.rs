//! The decoding state of rows.

use std::sync::Arc;

use attentive_base::batch::{Padded, TokenId};
use attentive_device::{Buffer, Lengths, current};
use attentive_tape::Value;

use super::cache::{Cache, row_of, whole};
use crate::engine::blocks::Table;

/// Rows in decoding, each at its own position of its own sentence.
#[derive(Debug)]
pub struct State {
    pub(super) rows: Vec<Row>,
    /// Keys and values of earlier positions.
    pub(super) earlier: Cache,
    /// Keys and values of sources.
    pub(super) memory: Cache,
    /// The states of each recurrent layer, `[rows, states · d_hidden]`.
    pub(super) cells: Vec<Buffer>,
    pub(super) widths: Widths,
    /// If wanted, the cross-attention of each row in the last step, over its source.
    pub(super) attention: Option<Vec<Vec<f32>>>,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The next position.
    pub(super) position: usize,
    pub(super) earlier: Table,
    pub(super) memory: Table,
    /// The positions of its source.
    pub(super) src_len: usize,
    candidates: Option<Arc<[TokenId]>>,
}

/// The widths of what a row keeps for each layer.
#[derive(Clone, Debug, Default)]
pub(super) struct Widths {
    pub(super) earlier: Vec<usize>,
    pub(super) memory: Vec<usize>,
    pub(super) cells: Vec<usize>,
}

/// Encoded sources.
pub(super) struct Memory {
    pub(super) lengths: Lengths,
    /// Keys and values of each layer, `[positions, width]`.
    pub(super) layers: Vec<Value>,
    /// The final state of each layer of a recurrent encoder.
    pub(super) finals: Vec<Value>,
}

impl State {
    pub(super) fn new(widths: Widths) -> Self {
        Self {
            rows: Vec::new(),
            earlier: Cache::new(&widths.earlier),
            memory: Cache::new(&widths.memory),
            cells: widths.cells.iter().map(|_| Buffer::EMPTY).collect(),
            widths,
            attention: None,
        }
    }

    /// Adds rows at position 0 with these candidates, sources and states of the layers' cells.
    pub(super) fn admit(
        &mut self,
        candidates: Vec<Option<Arc<[TokenId]>>>,
        memory: Option<Memory>,
        initial: &[Value],
    ) {
        let (before, added) = (self.rows.len(), candidates.len());
        let mut pairs = Vec::new();
        for (number, candidates) in candidates.into_iter().enumerate() {
            let mut table = Table::default();
            let lengths = memory.as_ref().map(|memory| &memory.lengths);
            let src_len = lengths.map_or(0, |lengths| lengths.lens()[number]);
            if let Some(lengths) = lengths.filter(|_| !self.memory.is_unused()) {
                for position in 0..src_len {
                    self.memory.reserve(&mut table, position);
                    pairs.push([number * lengths.width() + position, row_of(&table, position)]);
                }
            }
            self.rows.push(Row {
                position: 0,
                earlier: Table::default(),
                memory: table,
                src_len,
                candidates,
            });
        }
        self.memory.prepare();
        for (layer, found) in memory.iter().flat_map(|memory| &memory.layers).enumerate() {
            let [_, width] = found.shape();
            self.memory.store(layer, whole(found.buffer(), width), &pairs);
        }
        for ((cells, initial), &width) in self.cells.iter_mut().zip(initial).zip(&self.widths.cells) {
            let mut all = Buffer::take((before + added) * width);
            let old: Vec<[usize; 2]> = (0..before).map(|row| [row; 2]).collect();
            let new: Vec<[usize; 2]> = (0..added).map(|row| [row, before + row]).collect();
            current().put_rows(width, whole(cells, width), &old, &mut all);
            current().put_rows(width, whole(initial.buffer(), width), &new, &mut all);
            *cells = all;
        }
    }

    /// The position of each of the next `tokens` of some `rows`, padding included.
    pub(super) fn positions(&self, tokens: &Padded, rows: &[usize]) -> Vec<usize> {
        let rows = rows.iter().zip(tokens.lens());
        // Padding stays at the last position: there may be none behind it.
        rows.flat_map(|(&row, &len)| {
            let first = self.rows[row].position;
            (0..tokens.width()).map(move |i| first + i.min(len - 1))
        })
        .collect()
    }

    /// Makes room in the cache for the next positions of some `rows`, `lens[i]` for `rows[i]`.
    pub(super) fn reserve(&mut self, lens: &[usize], rows: &[usize]) {
        if self.earlier.is_unused() {
            return;
        }
        for (&row, len) in rows.iter().zip(lens) {
            let row = &mut self.rows[row];
            for position in row.position..row.position + len {
                self.earlier.reserve(&mut row.earlier, position);
            }
        }
        self.earlier.prepare();
    }

    /// Moves `rows[i]` behind its next `lens[i]` positions.
    pub(super) fn advance(&mut self, lens: &[usize], rows: &[usize]) {
        for (&row, len) in rows.iter().zip(lens) {
            self.rows[row].position += len;
        }
    }

    /// Takes the states of some `rows`, ascending, out of the cells of a layer:
    /// [`put_cells`](Self::put_cells) is next.
    pub(super) fn take_cells(&mut self, layer: usize, rows: &[usize]) -> Value {
        let width = self.widths.cells[layer];
        let cells = &mut self.cells[layer];
        let taken = if rows.len() == self.rows.len() {
            std::mem::replace(cells, Buffer::EMPTY)
        } else {
            let mut some = Buffer::take(rows.len() * width);
            current().select_rows(width, cells, rows, &mut some);
            some
        };
        Value::new(taken, [rows.len(), width])
    }

    /// Replaces the states of some `rows`, ascending, in the cells of a layer, by those at `places` of
    /// `states`.
    pub(super) fn put_cells(&mut self, layer: usize, rows: &[usize], states: &Value, places: &[usize]) {
        let width = self.widths.cells[layer];
        let cells = &mut self.cells[layer];
        if rows.len() == self.rows.len() {
            *cells = Buffer::take(rows.len() * width);
            current().select_rows(width, states.buffer(), places, cells);
        } else {
            let pairs = places.iter().zip(rows).map(|(&from, &to)| [from, to]);
            let pairs: Vec<[usize; 2]> = pairs.collect();
            current().put_rows(width, whole(states.buffer(), width), &pairs, cells);
        }
    }

    /// The candidates of each row.
    pub(super) fn candidates(&self) -> Vec<Arc<[TokenId]>> {
        let rows = self.rows.iter();
        rows.map(|row| row.candidates.clone().unwrap_or_default()).collect()
    }

    /// Replaces row `i` by the previous row `rows[i]`; rows that are not named are dropped.
    pub(super) fn select(&mut self, rows: &[usize]) {
        if rows.iter().copied().eq(0..self.rows.len()) {
            return;
        }
        let selected: Vec<Row> = rows.iter().map(|&row| self.rows[row].clone()).collect();
        let before = std::mem::replace(&mut self.rows, selected);
        for row in &self.rows {
            self.earlier.share(&row.earlier);
            self.memory.share(&row.memory);
        }
        for row in &before {
            self.earlier.release(&row.earlier);
            self.memory.release(&row.memory);
        }
        for (cells, &width) in self.cells.iter_mut().zip(&self.widths.cells) {
            let mut of_rows = Buffer::take(rows.len() * width);
            current().select_rows(width, cells, rows, &mut of_rows);
            *cells = of_rows;
        }
    }
}
