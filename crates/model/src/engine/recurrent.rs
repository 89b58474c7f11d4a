//! Recurrent layers.

use attentive_architecture::CellKind;
use attentive_kernels::recurrent::{Cell, advance};

use super::attention::Span;
use super::buffers::Buffers;
use super::linear::Linear;
use super::weights::Scope;

/// One direction of one recurrent layer; see [`crate::nn::RecurrentLayer`].
#[derive(Debug)]
pub(super) struct RecurrentLayer {
    forget: Option<Linear>,
    input: Linear,
    hidden: Option<Linear>,
    cell: Cell,
    pub(super) d: usize,
}

/// Columns of a matrix with one row per position, which receive h.
pub(super) struct Hidden<'a> {
    pub(super) values: &'a mut [f32],
    pub(super) width: usize,
    pub(super) column: usize,
}

impl RecurrentLayer {
    /// The layer at `scope`, of `d` features.
    pub(super) fn new(kind: CellKind, d: usize, mut scope: Scope<'_>) -> Self {
        let cell = match kind {
            CellKind::Rnn => Cell::Rnn,
            CellKind::Lstm => Cell::Lstm,
            CellKind::CoupledLstm => Cell::CoupledLstm,
            CellKind::Gru => Cell::Gru,
            CellKind::Ssru => Cell::Ssru,
        };
        let has_hidden = cell != Cell::Ssru;
        Self {
            forget: (!has_hidden).then(|| scope.linear("forget", true)),
            input: scope.linear("input", has_hidden),
            hidden: has_hidden.then(|| scope.linear("hidden", true)),
            cell,
            d,
        }
    }

    /// Width of a state: h, then c if the cell has one.
    pub(super) fn state_width(&self) -> usize {
        self.cell.states() * self.d
    }

    /// Width of the projected input.
    pub(super) fn gate_width(&self) -> usize {
        self.cell.gates() * self.d
    }

    /// The gates' projection of the input, `[rows, gates · d]`.
    pub(super) fn project(&self, rows: usize, x: &[f32], out: &mut [f32]) {
        match &self.forget {
            Some(forget) => Linear::side_by_side([forget, &self.input], rows, x, out),
            None => self.input.apply(rows, x, out),
        }
    }

    /// Reads the sequences `spans` of `x` and advances their `states`, forwards; `out` `[rows, d]` receives h.
    pub(super) fn extend(
        &self,
        x: &[f32],
        spans: &[Span],
        states: &mut [f32],
        out: &mut [f32],
        buffers: &Buffers,
    ) {
        let hidden = Hidden {
            values: out,
            width: self.d,
            column: 0,
        };
        self.read(x, spans, false, states, hidden, buffers);
    }

    /// Reads the sequences `spans` of `x` and advances their `states`, from the last position on if `backward`.
    pub(super) fn read(
        &self,
        x: &[f32],
        spans: &[Span],
        backward: bool,
        states: &mut [f32],
        hidden: Hidden<'_>,
        buffers: &Buffers,
    ) {
        let rows = spans.last().map_or(0, |span| span.rows.end);
        let width = self.gate_width();
        let mut projected = buffers.take(rows * width);
        self.project(rows, x, &mut projected);
        for step in 0..longest(spans) {
            let active = active(spans, step);
            let row_of = |&number: &usize| match &spans[number].rows {
                rows if backward => rows.end - 1 - step,
                rows => rows.start + step,
            };
            let rows: Vec<usize> = active.iter().map(row_of).collect();
            let input = |place: usize| &projected[rows[place] * width..][..width];
            self.step(&active, input, states, buffers);
            for (&number, row) in active.iter().zip(&rows) {
                let h = &states[number * self.state_width()..][..self.d];
                let to = &mut hidden.values[row * hidden.width + hidden.column..];
                to[..self.d].copy_from_slice(h);
            }
        }
    }

    /// Advances the states of the sequences `active` by one position; `input(i)` is the projected input of the i-th of them.
    pub(super) fn step<'x>(
        &self,
        active: &[usize],
        input: impl Fn(usize) -> &'x [f32],
        states: &mut [f32],
        buffers: &Buffers,
    ) {
        let (width, state_width) = (self.gate_width(), self.state_width());
        let mut product = buffers.take(active.len() * width);
        if let Some(hidden) = &self.hidden {
            let h = self.hidden_of(active, states, buffers);
            hidden.apply(active.len(), &h, &mut product);
        }
        let mut work = buffers.take(self.cell.work() * self.d);
        for (place, &number) in active.iter().enumerate() {
            work[..width].copy_from_slice(&product[place * width..][..width]);
            let state = &mut states[number * state_width..][..state_width];
            advance(self.cell, input(place), &mut work, state);
        }
    }

    /// h of the sequences `active`, `[active, d]`.
    pub(super) fn hidden_of<'b>(
        &self,
        active: &[usize],
        states: &[f32],
        buffers: &'b Buffers,
    ) -> super::buffers::Buffer<'b> {
        let mut h = buffers.take(active.len() * self.d);
        for (to, &number) in h.chunks_exact_mut(self.d).zip(active) {
            to.copy_from_slice(&states[number * self.state_width()..][..self.d]);
        }
        h
    }
}

/// The length of the longest sequence.
pub(super) fn longest(spans: &[Span]) -> usize {
    spans.iter().map(|span| span.rows.len()).max().unwrap_or(0)
}

/// The sequences that have a position number `step`.
pub(super) fn active(spans: &[Span], step: usize) -> Vec<usize> {
    let has = |&number: &usize| spans[number].rows.len() > step;
    (0..spans.len()).filter(has).collect()
}
