//! Whole sequences, without padding, each of which sees all of itself.

use std::sync::Arc;

use attentive_base::batch::{Padded, TokenId};
use attentive_kernels::cached_attention::{BLOCK, CacheLayout, Queries, SequenceBlocks, VisibleKeys};
use attentive_kernels::gemm::Float;

use super::buffers::{ScratchBuffer, ScratchPool};
use super::packed::{Packed, Relative};
use super::rows::{Rows, Span};
use super::{Matrix, Precision};
use crate::nn::{Attention, Backend, Encode, Encoded, Encoder, RecurrentLayer, RecurrentStates, Stack};

/// Positions to encode at a time; whole sequences are encoded, so there may be a few more.
const AT_ONCE: usize = 128;

/// Positions see their whole sequence, without padding.
pub(super) struct WholeSequences;

impl<'a> Encode for Rows<'a, WholeSequences> {
    fn attend_whole(
        &mut self,
        x: &ScratchBuffer<'a>,
        attention: &Attention<Packed>,
        relative: &Relative,
    ) -> ScratchBuffer<'a> {
        let joined = self.side_by_side(x, &[&attention.query, &attention.key, &attention.value]);
        let joined = self.rotated(joined, attention, relative);
        let heads = attention.heads;
        let d = heads.query_width();
        let width = d + 2 * heads.kv_width();
        let layout = heads.stored_in(Float::F32);
        let mut contexts = self.buffers.take(self.positions.len() * d);
        for Span { rows, first } in self.spans {
            let joined = &joined[rows.start * width..rows.end * width];
            let mut blocks = self.buffers.take(blocks_len(layout, rows.len()));
            let all = blocks.chunks_exact_mut(layout.block_len());
            store_all(layout, joined, width, d, all);
            let blocks: Vec<&[f32]> = blocks.chunks_exact(layout.block_len()).collect();
            let queries =
                Queries { rows: joined, stride: width, first: *first, seen: VisibleKeys::All(rows.len()) };
            let out = &mut contexts[rows.start * d..rows.end * d];
            let bias = relative.bias.as_deref();
            let blocks = SequenceBlocks { own: &blocks, next: &[] };
            layout.attend(queries, blocks, bias, self.products(), out, None);
        }
        contexts
    }

    fn read(
        &mut self,
        x: &ScratchBuffer<'a>,
        layer: &RecurrentLayer<Packed>,
    ) -> RecurrentStates<ScratchBuffer<'a>> {
        let mut last = self.buffers.take(self.spans.len() * layer.state_width());
        last.fill(0.0);
        let hidden = layer.run(x, &mut last, self);
        RecurrentStates { hidden, last }
    }

    fn read_both(
        &mut self,
        x: &ScratchBuffer<'a>,
        layers: [&RecurrentLayer<Packed>; 2],
    ) -> RecurrentStates<ScratchBuffer<'a>> {
        let d = layers[0].d;
        let [forward, backward] = layers.map(|layer| self.read(x, layer));
        let mut last = self.buffers.take(2 * forward.last.len());
        let states = (forward.last.chunks_exact(d)).zip(backward.last.chunks_exact(d));
        for (out, (forward, backward)) in last.chunks_exact_mut(2 * d).zip(states) {
            out[..d].copy_from_slice(forward);
            out[d..].copy_from_slice(backward);
        }
        let hidden = self.join(vec![forward.hidden, backward.hidden]);
        RecurrentStates { hidden, last }
    }
}

/// Encodes the sequences of `src`, whose tokens have embeddings in `table`, in order, a few at a time, and
/// passes on each output with its rows.
pub(super) fn encode(
    encoder: &Stack<Packed, Encoder<Packed>>,
    table: &Arc<Matrix>,
    src: &Padded,
    precision: Precision,
    buffers: &ScratchPool,
    mut each: impl for<'b> FnMut(Encoded<ScratchBuffer<'b>>, &mut Rows<'b, WholeSequences>),
) {
    let Stack { input, layers } = encoder;
    let width = src.width();
    let sequence = |row: usize| &src.ids[row * width..][..src.lens()[row]];
    let mut first = 0;
    while first < src.rows() {
        let mut ids: Vec<TokenId> = Vec::new();
        let mut spans = Vec::new();
        while first < src.rows() && (spans.is_empty() || ids.len() < AT_ONCE) {
            let start = ids.len();
            ids.extend(sequence(first));
            spans.push(Span { rows: start..ids.len(), first: 0 });
            first += 1;
        }
        let positions: Vec<usize> = spans.iter().flat_map(|span| 0..span.rows.len()).collect();
        let mut rows =
            Rows { positions: &positions, spans: &spans, buffers, precision, across: WholeSequences };
        let x = input.forward(&ids, table, &mut rows);
        let output = layers.forward(x, &mut rows);
        each(output, &mut rows);
    }
}

/// Words of the blocks of `positions` positions.
fn blocks_len(layout: CacheLayout, positions: usize) -> usize {
    positions.div_ceil(BLOCK) * layout.block_len()
}

/// Fills `blocks` with the keys and values in `rows`, which are `width` wide and have them from `column` on.
pub(super) fn store_all<'b>(
    layout: CacheLayout,
    rows: &[f32],
    width: usize,
    column: usize,
    blocks: impl Iterator<Item = &'b mut [f32]>,
) {
    let kv_width = layout.heads.kv_width();
    for (rows, block) in rows.chunks(BLOCK * width).zip(blocks) {
        for (position, row) in rows.chunks_exact(width).enumerate() {
            let (keys, values) = row[column..].split_at(kv_width);
            layout.store(block, position, keys, &values[..kv_width]);
        }
    }
}
