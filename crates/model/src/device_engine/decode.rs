//! Decoding: each new position of a row sees the earlier positions of its row, and its source.

use attentive_device::{
    Buffer, CachedAttentionCall, CachedScores, Lengths, MatrixColumns, SeenBlocks, current,
};
use attentive_kernels::cached_attention::Heads;
use attentive_kernels::recurrent::Direction;
use attentive_tape::{self as tape, RecurrentDirection, Value};

use super::cache::{row_of, whole};
use super::device_memory::{CachedSource, DeviceState};
use crate::incremental::blocks::Table;
use crate::incremental::{Incremental, Row};
use crate::nn::{
    AdditiveAttention, AdditiveScores, Attention, Pass, RecurrentLayer, RelativeEncoding, Sequences, Trained,
    hidden_part,
};

/// New positions of some rows of `state`, padded to a common length.
pub(super) struct IncrementalBatch<'a> {
    pub(super) sequences: Sequences<'a>,
    pub(super) lengths: &'a Lengths,
    /// The rows of the state, ascending.
    pub(super) rows: &'a [usize],
    /// The position of each row of the matrices.
    pub(super) positions: &'a [usize],
    pub(super) visible: Visible,
    pub(super) by_distance: Option<&'a Buffer>,
    pub(super) pass: &'a Pass<'a>,
    pub(super) state: &'a mut DeviceState,
}

/// What every position sees.
pub(super) struct Visible {
    earlier: Seen,
    source: Seen,
    /// The rows of the matrices that are no padding, each with its row of the cache of earlier positions.
    cache_rows: Vec<[usize; 2]>,
}

/// Blocks of a cache that positions see.
#[derive(Clone, Default)]
struct Seen {
    of_rows: Vec<SeenBlocks>,
    blocks: Vec<usize>,
}

impl Visible {
    /// What the next positions of some `rows` of `state` see.
    pub(super) fn of(state: &DeviceState, rows: &[usize], lengths: &Lengths) -> Self {
        let width = lengths.width();
        let rows = || rows.iter().map(|&row| &state.rows[row]).zip(lengths.lens());
        let seen = |table: fn(&Row<CachedSource>) -> &Table, len: fn(&Row<CachedSource>, usize) -> usize| {
            let mut seen = Seen::default();
            for (row, &real) in rows() {
                let first = seen.blocks.len();
                seen.blocks.extend_from_slice(table(row).blocks());
                seen.of_rows.extend(
                    (0..width).map(|i| SeenBlocks { first, len: if i < real { len(row, i) } else { 0 } }),
                );
            }
            seen
        };
        let mut cache_rows = Vec::new();
        if !state.store.earlier.is_unused() {
            for (number, (row, &real)) in rows().enumerate() {
                let pair = |i| [number * width + i, row_of(&row.table, row.position + i)];
                cache_rows.extend((0..real).map(pair));
            }
        }
        Self {
            earlier: seen(|row| &row.table, |row, i| row.position + i + 1),
            source: seen(|row| &row.source.table, |row, _| row.source.len),
            cache_rows,
        }
    }
}

impl Seen {
    /// What some of the rows see.
    fn of_some(&self, rows: &[usize]) -> Self {
        Self { of_rows: rows.iter().map(|&row| self.of_rows[row]).collect(), blocks: self.blocks.clone() }
    }

    /// The contexts of the queries and their weights, `[rows, n_heads, longest]`.
    fn attend(
        &self,
        heads: Heads,
        d_value: usize,
        scores: CachedScores<&Buffer>,
        queries: MatrixColumns<&Buffer>,
        cache: &Buffer,
    ) -> (Value, AttentionWeightRows) {
        let call = CachedAttentionCall {
            n_heads: heads.n_heads,
            n_kv_heads: heads.n_kv_heads,
            d_head: heads.d_head,
            d_value,
            seen: &self.of_rows,
            blocks: &self.blocks,
        };
        let mut out = Buffer::take(call.out_len());
        let mut weights = Buffer::take(call.weights_len());
        current().cached_attention(call, scores, queries, cache, &mut out, &mut weights);
        let weights =
            AttentionWeightRows { values: weights, n_heads: heads.n_heads, longest: call.longest() };
        let width = heads.n_heads * d_value;
        (Value::new(out, [self.of_rows.len(), width]), weights)
    }
}

/// The attention weights of queries, `[rows, n_heads, longest]`.
struct AttentionWeightRows {
    values: Buffer,
    n_heads: usize,
    longest: usize,
}

impl AttentionWeightRows {
    /// The weights of row `row` over the first `len` positions, averaged over the heads, given all `values`.
    fn mean(&self, values: &[f32], row: usize, len: usize) -> Vec<f32> {
        let first = row * self.n_heads;
        let of_head = |head, position| values[(first + head) * self.longest + position];
        let mean = |position| {
            let sum: f32 = (0..self.n_heads).map(|head| of_head(head, position)).sum();
            sum / self.n_heads as f32
        };
        (0..len).map(mean).collect()
    }
}

impl Incremental for IncrementalBatch<'_> {
    fn rotate(
        &mut self,
        joined: Value,
        attention: &Attention<Trained>,
        relative: &RelativeEncoding,
    ) -> Value {
        let heads = attention.heads;
        match &relative.rotary {
            Some(rotary) => rotary.turn_at(&joined, heads.n_heads + heads.n_kv_heads, self.positions),
            None => joined,
        }
    }

    fn attend_cache(
        &mut self,
        joined: &Value,
        attention: &Attention<Trained>,
        _relative: &RelativeEncoding,
    ) -> Value {
        let (heads, layer) = (attention.heads, attention.place.layer);
        let [_, width] = joined.shape();
        let queries = whole(joined.buffer(), width);
        let keys_values = MatrixColumns { first: heads.query_width(), ..queries };
        let cache = &mut self.state.store.earlier;
        cache.store(layer, keys_values, &self.visible.cache_rows);
        let scores = CachedScores::Dot { scale: heads.scale, by_distance: self.by_distance };
        let earlier = &self.visible.earlier;
        let (contexts, _) = earlier.attend(heads, heads.d_head, scores, queries, cache.layer(layer));
        contexts
    }

    fn attend_source(&mut self, queries: &Value, heads: Heads, layer: usize) -> Value {
        let cache = &self.state.store.sources;
        assert!(!cache.is_unused(), "attention without a source");
        let scores = CachedScores::Dot { scale: heads.scale, by_distance: None };
        let (contexts, weights) = self.visible.source.attend(
            heads,
            heads.d_head,
            scores,
            whole(queries.buffer(), heads.query_width()),
            cache.layer(layer),
        );
        if layer + 1 == self.state.widths.memory.len() {
            let last = self.lengths.last_rows();
            self.watch(&weights, last.into_iter().enumerate());
        }
        contexts
    }

    fn attend_source_additively(&mut self, h: &Value, scores: &AdditiveScores<Trained>) -> Value {
        let (contexts, weights) = self.contexts_of(h, scores, &self.visible.source);
        let last = self.lengths.last_rows();
        self.watch(&weights, last.into_iter().enumerate());
        contexts
    }

    fn kept(&mut self, number: usize) -> Value {
        self.state.take_cells(number, self.rows)
    }

    fn keep(&mut self, states: &Value, number: usize) {
        self.state.put_cells(number, self.rows, states, &Vec::from_iter(0..self.rows.len()));
    }

    fn scaled(&mut self, x: &Value, factor: f32) -> Value {
        tape::scale(x.clone(), factor)
    }

    fn advance_cells(&mut self, x: &Value, layer: &RecurrentLayer<Trained>, number: usize) -> Value {
        let before = self.state.take_cells(number, self.rows);
        let states = self.sequences.states(x, layer, Some(before));
        let last = self.lengths.last_rows();
        self.state.put_cells(number, self.rows, &states, &last);
        hidden_part(states, layer)
    }

    fn advance_attentive_cells(
        &mut self,
        x: &Value,
        layer: &RecurrentLayer<Trained>,
        attention: &AdditiveAttention<Trained>,
    ) -> [Value; 2] {
        let projected = layer.project(x, self);
        let [rows, _] = x.shape();
        let d_memory = attention.scores.d_memory;
        let mut hidden = Buffer::zeros(rows * layer.d);
        let mut contexts = Buffer::zeros(rows * d_memory);
        let width = layer.state_width();
        for step in 0..self.lengths.width() {
            let lens = self.lengths.lens();
            let active: Vec<usize> = (0..lens.len()).filter(|&row| lens[row] > step).collect();
            let matrix_rows: Vec<usize> =
                active.iter().map(|row| row * self.lengths.width() + step).collect();
            let of_state: Vec<usize> = active.iter().map(|&row| self.rows[row]).collect();
            let before = self.state.take_cells(0, &of_state);
            let h = hidden_part(before.clone(), layer);
            let seen = self.visible.source.of_some(&matrix_rows);
            let (context, weights) = self.contexts_of(&h, &attention.scores, &seen);
            let of_context = self.sequences.side_by_side(&context, &[&attention.context]);
            let input = tape::add(tape::select_rows(projected.clone(), &matrix_rows), of_context);
            let direction = RecurrentDirection {
                direction: Direction::Forward,
                projected: input,
                recurrence: self.sequences.recurrence(layer, Some(before)),
            };
            let lengths = Lengths::full(active.len(), 1);
            let precision = self.pass.precision();
            let after = tape::recurrent(layer.cell, &lengths, vec![direction], precision);
            let read: Vec<usize> = (0..active.len()).collect();
            self.state.put_cells(0, &of_state, &after, &read);
            let pairs: Vec<[usize; 2]> = (0..).zip(&matrix_rows).map(|(from, &to)| [from, to]).collect();
            let put = |count, from, to: &mut Buffer| current().put_rows(count, from, &pairs, to);
            put(layer.d, whole(after.buffer(), width), &mut hidden);
            put(d_memory, whole(context.buffer(), d_memory), &mut contexts);
            self.watch(&weights, active.into_iter().zip(read));
        }
        [Value::new(hidden, [rows, layer.d]), Value::new(contexts, [rows, d_memory])]
    }
}

impl IncrementalBatch<'_> {
    /// The contexts of the states `h`, which see what is `seen` of the sources, and the weights.
    fn contexts_of(
        &self,
        h: &Value,
        scores: &AdditiveScores<Trained>,
        seen: &Seen,
    ) -> (Value, AttentionWeightRows) {
        let d_key = scores.d_key;
        let queries = self.sequences.side_by_side(h, &[&scores.query]);
        let v = self.pass.read(&scores.score);
        seen.attend(
            Heads { n_heads: 1, n_kv_heads: 1, d_head: d_key, scale: 1.0 },
            scores.d_memory,
            CachedScores::Additive(v.buffer()),
            whole(queries.buffer(), d_key),
            self.state.store.sources.layer(0),
        )
    }

    /// Keeps the weights of each of [`rows`](Self::rows) that is given with its row of `weights`, if they
    /// are wanted.
    fn watch(&mut self, weights: &AttentionWeightRows, rows: impl Iterator<Item = (usize, usize)>) {
        let DeviceState { attention, rows: all, .. } = &mut *self.state;
        let Some(attention) = attention else {
            return;
        };
        attention.resize(all.len(), Vec::new());
        let values = weights.values.values();
        for (number, weights_row) in rows {
            let row = self.rows[number];
            attention[row] = weights.mean(&values, weights_row, all[row].source.len);
        }
    }
}
