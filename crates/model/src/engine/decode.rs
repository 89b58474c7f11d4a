//! Rows that grow: each position sees the earlier ones of its row and its source.

use attentive_kernels::cached_attention::{BLOCK, Queries, Seen};
use attentive_kernels::gemm::Float;

use super::buffers::Buffer;
use super::packed::{Packed, Relative};
use super::profile::{self, Part};
use super::rows::Rows;
use super::source::{Source, SourceBlocks};
use super::state::State;
use crate::nn::{AdditiveAttention, Attention, Decode, MultiplicativeAttention, RecurrentLayer};

/// The rows go on from `state`.
pub(super) struct Growing<'s> {
    pub(super) state: &'s mut State,
    /// The number of layers of the decoder.
    pub(super) n_layers: usize,
    /// The number type of keys and values.
    pub(super) numbers: Float,
}

impl<'a> Decode for Rows<'a, Growing<'_>> {
    /// Appends to the cache.
    fn attend_earlier(
        &mut self,
        x: &Buffer<'a>,
        attention: &Attention<Packed>,
        relative: &Relative,
    ) -> Buffer<'a> {
        profile::time(Part::SelfAttention, || {
            let joined = self.project(x, attention, relative);
            self.attend_cache(&joined, attention, relative)
        })
    }

    fn attend_memory(&mut self, x: &Buffer<'a>, attention: &Attention<Packed>) -> Buffer<'a> {
        profile::time(Part::CrossAttention, || {
            let queries = self.side_by_side(x, &[&attention.query]);
            self.attend_sources(&queries, attention)
        })
    }

    fn advance(&mut self, x: &Buffer<'a>, layer: &RecurrentLayer<Packed>, number: usize) -> Buffer<'a> {
        profile::time(Part::Cells, || {
            let mut states = std::mem::take(&mut self.across.state.cells[number]);
            let hidden = layer.run(x, &mut states, self);
            self.across.state.cells[number] = states;
            hidden
        })
    }

    fn advance_attentive(
        &mut self,
        x: &Buffer<'a>,
        layer: &RecurrentLayer<Packed>,
        attention: &AdditiveAttention<Packed>,
    ) -> [Buffer<'a>; 2] {
        profile::time(Part::Cells, || {
            let mut states = std::mem::take(&mut self.across.state.cells[0]);
            let both = attention.run(layer, x, &mut states, self);
            self.across.state.cells[0] = states;
            both
        })
    }

    fn attend_states(&mut self, h: &Buffer<'a>, attention: &MultiplicativeAttention<Packed>) -> Buffer<'a> {
        profile::time(Part::CrossAttention, || {
            let mut queries = match &attention.query {
                Some(query) => self.side_by_side(h, &[query]),
                None => {
                    let mut queries = self.buffers.take(h.len());
                    queries.copy_from_slice(h);
                    queries
                }
            };
            let factor = attention.factor();
            queries.iter_mut().for_each(|x| *x *= factor);
            self.attend_each_source(&queries, attention)
        })
    }
}

impl<'a> Rows<'a, Growing<'_>> {
    /// Stores the keys and values in `joined`, which follow the queries, and returns the contexts of the
    /// queries, which see themselves and earlier positions of their row. What a row has in the cache is read
    /// once for both.
    fn attend_cache(
        &mut self,
        joined: &[f32],
        attention: &Attention<Packed>,
        relative: &Relative,
    ) -> Buffer<'a> {
        let heads = attention.heads;
        let d = heads.query_width();
        let width = d + 2 * heads.kv_width();
        let layout = heads.stored_in(self.across.numbers);
        let start = attention.place.layer * layout.block_len();
        let place = start..start + layout.block_len();
        let (products, bias) = (self.products(), relative.bias.as_deref());
        let State { cache, rows, .. } = &mut *self.across.state;
        let mut contexts = self.buffers.take(self.positions.len() * d);
        for (span, row) in self.spans.iter().zip(rows) {
            if let Some(copied) = row.copied {
                let (from, to) = cache.copied(copied);
                layout.copy(&from[place.clone()], &mut to[place.clone()], span.first % BLOCK);
            }
            let joined = &joined[span.rows.start * width..span.rows.end * width];
            for (position, new) in (span.first..).zip(joined.chunks_exact(width)) {
                let block = &mut cache.block_mut(&row.table, position)[place.clone()];
                let (keys, values) = new[d..].split_at(heads.kv_width());
                layout.store(block, position % BLOCK, keys, values);
            }
            let blocks = cache.blocks(&row.table).map(|block| &block[place.clone()]);
            let blocks: Vec<&[f32]> = blocks.collect();
            let queries = Queries { rows: joined, stride: width, first: span.first, seen: Seen::Earlier };
            let out = &mut contexts[span.rows.start * d..span.rows.end * d];
            layout.attend(queries, &blocks, bias, products, out, None);
        }
        contexts
    }

    /// Cross-attention; neighboring rows of one source are queries of one sequence.
    fn attend_sources(&mut self, queries: &[f32], attention: &Attention<Packed>) -> Buffer<'a> {
        let layer = attention.place.layer;
        let d = attention.heads.query_width();
        let products = self.products();
        let state = &mut *self.across.state;
        let mut contexts = self.buffers.take(self.positions.len() * d);
        let is_top = state.attention.is_some() && layer + 1 == self.across.n_layers;
        let mut blocks: Vec<&[f32]> = Vec::new();
        let mut weights = Vec::new();
        for group in state.groups() {
            let source = blocks_of(state, group.start);
            blocks.clear();
            blocks.extend(source.layer(layer));
            let rows = self.spans[group.start].rows.start..self.spans[group.end - 1].rows.end;
            let queries = Queries {
                rows: &queries[rows.start * d..],
                stride: d,
                first: 0,
                seen: Seen::All(source.len()),
            };
            let out = &mut contexts[rows.start * d..rows.end * d];
            let mut of_group = is_top.then(|| vec![0.0; rows.len() * source.len()]);
            source.layout(layer).attend(queries, &blocks, None, products, out, of_group.as_deref_mut());
            if let Some(of_group) = of_group {
                let len = source.len();
                weights.extend((0..rows.len()).map(|row| of_group[row * len..][..len].to_vec()));
            }
        }
        if is_top {
            let spans = self.spans.iter();
            let last = spans.map(|span| std::mem::take(&mut weights[span.rows.end - 1]));
            state.attention = Some(last.collect());
        }
        contexts
    }

    /// Luong's attention: each row is a sequence of queries of its own.
    fn attend_each_source(
        &mut self,
        queries: &[f32],
        attention: &MultiplicativeAttention<Packed>,
    ) -> Buffer<'a> {
        let (d, products) = (attention.d_memory, self.products());
        let state = &mut *self.across.state;
        let mut contexts = self.buffers.take(queries.len());
        let mut weights = state.attention.is_some().then(Vec::new);
        for (number, span) in self.spans.iter().enumerate() {
            let source = blocks_of(state, number);
            let len = source.len();
            let blocks: Vec<&[f32]> = source.layer(0).collect();
            let queries =
                Queries { rows: &queries[span.rows.start * d..], stride: d, first: 0, seen: Seen::All(len) };
            let out = &mut contexts[span.rows.start * d..span.rows.end * d];
            let mut of_row = (weights.is_some()).then(|| vec![0.0; span.rows.len() * len]);
            let layout = source.layout(0);
            layout.attend(queries, &blocks, None, products, out, of_row.as_deref_mut());
            if let (Some(weights), Some(of_row)) = (&mut weights, of_row) {
                weights.push(of_row[of_row.len() - len..].to_vec());
            }
        }
        if weights.is_some() {
            state.attention = weights;
        }
        contexts
    }
}

/// The source of row `number`.
fn blocks_of(state: &State, number: usize) -> &SourceBlocks {
    match state.rows[number].source.as_deref() {
        Some(Source::Blocks(source)) => source,
        _ => panic!("attention without a source"),
    }
}
