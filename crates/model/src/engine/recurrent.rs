//! Recurrent layers, position by position.

use attentive_kernels::additive_attention::additive_attention;
use attentive_kernels::recurrent::{Direction, advance};

use super::buffers::{ScratchBuffer, ScratchPool};
use super::decode::CachedContext;
use super::packed::Packed;
use super::profile::{self, ProfileSection};
use super::rows::{Rows, Span};
use super::source::{EncodedSource, SourceRows};
use crate::nn::{AdditiveAttention, AdditiveScores, RecurrentLayer};

impl RecurrentLayer<Packed> {
    /// Reads the sequences of `rows` and advances their `states`, `[sequences, states · d]`. Returns h of
    /// every position.
    pub(super) fn run<'a, A>(
        &self,
        x: &ScratchBuffer<'a>,
        states: &mut [f32],
        rows: &mut Rows<'a, A>,
    ) -> ScratchBuffer<'a> {
        let (d, width) = (self.d, self.gate_width());
        let mut hidden = rows.buffers.take(rows.positions.len() * d);
        let projected = self.project(x, rows);
        for step in 0..longest(rows.spans) {
            let active = active(rows.spans, step);
            let row_of = |&number: &usize| match (self.direction, &rows.spans[number].rows) {
                (Direction::Forward, span) => span.start + step,
                (Direction::Backward, span) => span.end - 1 - step,
            };
            let row_numbers: Vec<usize> = active.iter().map(row_of).collect();
            let input = |index: usize| &projected[row_numbers[index] * width..][..width];
            self.step(&active, input, states, rows.buffers);
            for (&number, row) in active.iter().zip(&row_numbers) {
                hidden[row * d..][..d].copy_from_slice(self.hidden_of(number, states));
            }
        }
        hidden
    }

    /// Advances the states of the sequences `active` by one position; `input(i)` is the projected input of
    /// the i-th of them.
    fn step<'x>(
        &self,
        active: &[usize],
        input: impl Fn(usize) -> &'x [f32],
        states: &mut [f32],
        buffers: &ScratchPool,
    ) {
        let (width, state_width) = (self.gate_width(), self.state_width());
        let mut product = buffers.take(active.len() * width);
        if let Some(hidden) = &self.hidden {
            let before = self.all_hidden(active, states, buffers);
            hidden.apply(active.len(), &before, &mut product);
        }
        let mut work = buffers.take(self.cell.work() * self.d);
        for (index, &number) in active.iter().enumerate() {
            work[..width].copy_from_slice(&product[index * width..][..width]);
            let state = &mut states[number * state_width..][..state_width];
            advance(self.cell, input(index), &mut work, state);
        }
    }

    /// h of sequence `number`.
    fn hidden_of<'s>(&self, number: usize, states: &'s [f32]) -> &'s [f32] {
        &states[number * self.state_width()..][..self.d]
    }

    /// h of the sequences `active`, `[active, d]`.
    fn all_hidden<'b>(
        &self,
        active: &[usize],
        states: &[f32],
        buffers: &'b ScratchPool,
    ) -> ScratchBuffer<'b> {
        let mut all = buffers.take(active.len() * self.d);
        for (to, &number) in all.chunks_exact_mut(self.d).zip(active) {
            to.copy_from_slice(self.hidden_of(number, states));
        }
        all
    }
}

impl AdditiveAttention<Packed> {
    /// Reads `x` with `layer` and advances its `states`. Returns h and the context of every position.
    pub(super) fn run<'a>(
        &self,
        layer: &RecurrentLayer<Packed>,
        x: &ScratchBuffer<'a>,
        states: &mut [f32],
        rows: &mut Rows<'a, CachedContext<'_>>,
    ) -> [ScratchBuffer<'a>; 2] {
        let (d, gates) = (layer.d, layer.gate_width());
        let d_memory = self.scores.d_memory;
        let (buffers, spans) = (rows.buffers, rows.spans);
        let mut hidden = buffers.take(rows.positions.len() * d);
        let mut contexts = buffers.take(rows.positions.len() * d_memory);
        let projected = layer.project(x, rows);
        for step in 0..longest(spans) {
            let active = active(spans, step);
            let row_of = |number: usize| spans[number].rows.start + step;
            let before = layer.all_hidden(&active, states, buffers);
            let found = self.scores.contexts(&before, &active, rows);
            let mut input = buffers.take(active.len() * gates);
            for (input, &number) in input.chunks_exact_mut(gates).zip(&active) {
                input.copy_from_slice(&projected[row_of(number) * gates..][..gates]);
            }
            self.context.add(active.len(), &found, &mut input);
            let input = |index: usize| &input[index * gates..][..gates];
            layer.step(&active, input, states, buffers);
            for (&number, context) in active.iter().zip(found.chunks_exact(d_memory)) {
                let row = row_of(number);
                hidden[row * d..][..d].copy_from_slice(layer.hidden_of(number, states));
                contexts[row * d_memory..][..d_memory].copy_from_slice(context);
            }
        }
        [hidden, contexts]
    }
}

impl AdditiveScores<Packed> {
    /// The contexts of the states `h`, `[rows, d_memory]`, each of which attends to the source of one of
    /// `sequences`.
    pub(super) fn contexts<'a>(
        &self,
        h: &[f32],
        sequences: &[usize],
        rows: &mut Rows<'a, CachedContext<'_>>,
    ) -> ScratchBuffer<'a> {
        let (buffers, d_memory) = (rows.buffers, self.d_memory);
        let queries = rows.side_by_side(h, &[&self.query]);
        let mut contexts = buffers.take(sequences.len() * d_memory);
        let state = &mut *rows.across.state;
        let queries = queries.chunks_exact(self.query.d_out());
        for ((&number, query), context) in
            (sequences.iter().zip(queries)).zip(contexts.chunks_exact_mut(d_memory))
        {
            let Some(EncodedSource::Rows(source)) = state.rows[number].source.as_deref() else {
                panic!("attention without a source");
            };
            let SourceRows { len, keys, values } = source;
            let mut weights = buffers.take(*len);
            profile::time(ProfileSection::CrossAttention, || {
                additive_attention(query, keys, values, &self.score, &mut weights, context);
            });
            if let Some(all) = &mut state.attention {
                all.resize(state.rows.len(), Vec::new());
                all[number] = weights.to_vec();
            }
        }
        contexts
    }
}

/// The length of the longest sequence.
fn longest(spans: &[Span]) -> usize {
    spans.iter().map(|span| span.rows.len()).max().unwrap_or(0)
}

/// The sequences that have a position number `step`.
fn active(spans: &[Span], step: usize) -> Vec<usize> {
    let has = |&number: &usize| spans[number].rows.len() > step;
    (0..spans.len()).filter(has).collect()
}
