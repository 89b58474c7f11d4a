//! Decoding: each new position of a row sees the earlier positions of its row, and its source.

use attentive_kernels::cached_attention::{BLOCK, Heads, Queries, SequenceBlocks, VisibleKeys};
use attentive_kernels::gemm::Float;

use super::buffers::ScratchBuffer;
use super::packed::{Packed, Relative};
use super::ram::{Ram, RamState};
use super::rows::Rows;
use super::source::{EncodedSource, SourceBlocks};
use crate::incremental::Incremental;
use crate::nn::{AdditiveAttention, AdditiveScores, Attention, RecurrentLayer};

/// New positions see the earlier positions of their rows, which are in `state`, and their sources.
pub(super) struct CachedContext<'s> {
    pub(super) state: &'s mut RamState,
    /// The number type of keys and values.
    pub(super) numbers: Float,
}

impl<'a> Incremental for Rows<'a, CachedContext<'_>> {
    fn rotate(
        &mut self,
        joined: ScratchBuffer<'a>,
        attention: &Attention<Packed>,
        relative: &Relative,
    ) -> ScratchBuffer<'a> {
        self.rotated(joined, attention, relative)
    }

    /// What a row has in the cache is read once for all its new positions.
    fn attend_cache(
        &mut self,
        joined: &ScratchBuffer<'a>,
        attention: &Attention<Packed>,
        relative: &Relative,
    ) -> ScratchBuffer<'a> {
        let heads = attention.heads;
        let d = heads.query_width();
        let width = d + 2 * heads.kv_width();
        let layout = heads.stored_in(self.across.numbers);
        let start = attention.place.layer * layout.block_len();
        let range = start..start + layout.block_len();
        let (products, bias) = (self.products(), relative.bias.as_deref());
        let RamState { rows, store: Ram { cache, .. }, .. } = &mut *self.across.state;
        let mut contexts = self.buffers.take(self.positions.len() * d);
        for (number, (span, row)) in self.spans.iter().zip(&*rows).enumerate() {
            if let Some(copied) = row.copied {
                let (from, to) = cache.copied(copied);
                layout.copy(&from[range.clone()], &mut to[range.clone()], span.first % BLOCK);
            }
            let joined = &joined[span.rows.start * width..span.rows.end * width];
            for (position, new) in (span.first..).zip(joined.chunks_exact(width)) {
                let block = &mut cache.block_mut(&row.table, position)[range.clone()];
                let (keys, values) = new[d..].split_at(heads.kv_width());
                layout.store(block, position % BLOCK, keys, values);
            }
            let blocks_of = |row| cache.blocks(row).map(|block| &block[range.clone()]);
            let own: Vec<&[f32]> = blocks_of(&row.table).collect();
            let next: Vec<&[f32]> =
                rows.get(number + 1).into_iter().flat_map(|next| blocks_of(&next.table)).collect();
            let queries =
                Queries { rows: joined, stride: width, first: span.first, seen: VisibleKeys::Earlier };
            let out = &mut contexts[span.rows.start * d..span.rows.end * d];
            layout.attend(queries, SequenceBlocks { own: &own, next: &next }, bias, products, out, None);
        }
        contexts
    }

    /// Neighboring rows of one source are queries of one sequence.
    fn attend_source(
        &mut self,
        queries: &ScratchBuffer<'a>,
        heads: Heads,
        layer: usize,
    ) -> ScratchBuffer<'a> {
        let d = heads.query_width();
        let products = self.products();
        let state = &mut *self.across.state;
        let mut contexts = self.buffers.take(self.positions.len() * d);
        let is_watched = state.attention.is_some() && layer + 1 == state.widths.memory.len();
        let mut weights = Vec::new();
        let groups = state.groups();
        let blocks: Vec<Vec<&[f32]>> =
            groups.iter().map(|group| blocks_of(state, group.start).layer(layer).collect()).collect();
        for (number, group) in groups.into_iter().enumerate() {
            let source = blocks_of(state, group.start);
            let rows = self.spans[group.start].rows.start..self.spans[group.end - 1].rows.end;
            let queries = Queries {
                rows: &queries[rows.start * d..],
                stride: d,
                first: 0,
                seen: VisibleKeys::All(source.len()),
            };
            let out = &mut contexts[rows.start * d..rows.end * d];
            let mut of_group = is_watched.then(|| vec![0.0; rows.len() * source.len()]);
            let next = blocks.get(number + 1).map_or(&[][..], Vec::as_slice);
            let blocks = SequenceBlocks { own: &blocks[number], next };
            source.layout(layer).attend(queries, blocks, None, products, out, of_group.as_deref_mut());
            if let Some(of_group) = of_group {
                let len = source.len();
                weights.extend((0..rows.len()).map(|row| of_group[row * len..][..len].to_vec()));
            }
        }
        if is_watched {
            let spans = self.spans.iter();
            let last = spans.map(|span| std::mem::take(&mut weights[span.rows.end - 1]));
            state.attention = Some(last.collect());
        }
        contexts
    }

    fn scaled(&mut self, x: &ScratchBuffer<'a>, factor: f32) -> ScratchBuffer<'a> {
        let mut out = self.buffers.take(x.len());
        out.iter_mut().zip(&**x).for_each(|(out, x)| *out = x * factor);
        out
    }

    fn attend_source_additively(
        &mut self,
        h: &ScratchBuffer<'a>,
        scores: &AdditiveScores<Packed>,
    ) -> ScratchBuffer<'a> {
        let spans = self.spans.iter().enumerate();
        let sequences: Vec<usize> = spans.flat_map(|(number, span)| vec![number; span.rows.len()]).collect();
        scores.contexts(h, &sequences, self)
    }

    fn kept(&mut self, number: usize) -> ScratchBuffer<'a> {
        let cells = &self.across.state.cells[number];
        let mut kept = self.buffers.take(cells.len());
        kept.copy_from_slice(cells);
        kept
    }

    fn keep(&mut self, states: &ScratchBuffer<'a>, number: usize) {
        self.across.state.cells[number].copy_from_slice(states);
    }

    fn advance_cells(
        &mut self,
        x: &ScratchBuffer<'a>,
        layer: &RecurrentLayer<Packed>,
        number: usize,
    ) -> ScratchBuffer<'a> {
        let mut states = std::mem::take(&mut self.across.state.cells[number]);
        let hidden = layer.run(x, &mut states, self);
        self.across.state.cells[number] = states;
        hidden
    }

    fn advance_attentive_cells(
        &mut self,
        x: &ScratchBuffer<'a>,
        layer: &RecurrentLayer<Packed>,
        attention: &AdditiveAttention<Packed>,
    ) -> [ScratchBuffer<'a>; 2] {
        let mut states = std::mem::take(&mut self.across.state.cells[0]);
        let both = attention.run(layer, x, &mut states, self);
        self.across.state.cells[0] = states;
        both
    }
}

/// The source of row `number`.
fn blocks_of(state: &RamState, number: usize) -> &SourceBlocks {
    match state.rows[number].source.as_deref() {
        Some(EncodedSource::Blocks(source)) => source,
        _ => panic!("attention without a source"),
    }
}
