//! A sentence as the decoder's attention reads it.

use std::ops::Range;
use std::sync::Arc;

use attentive_kernels::cached_attention::{BLOCK, CacheLayout};
use attentive_kernels::gemm::Float;

use super::buffers::ScratchBuffer;
use super::encode::{WholeSequences, store_all};
use super::packed::Packed;
use super::rows::Rows;
use crate::nn::{
    AdditiveAttention, Attention, Backend, Decoder, RecurrentAttention, RecurrentDecoder, TransformerDecoder,
};

/// A source sentence, shared by all hypotheses of its translation.
#[derive(Debug)]
pub enum EncodedSource {
    /// For scaled dot-product attention.
    Blocks(SourceBlocks),
    /// For additive attention.
    Rows(SourceRows),
}

/// Keys and values for the attention of each layer, in blocks of positions.
#[derive(Debug)]
pub struct SourceBlocks {
    len: usize,
    /// Blocks of [`BLOCK`] positions, each of all layers. They have the same size for all sentences, so that
    /// the memory of those that have ended serves others.
    blocks: Vec<Vec<f32>>,
    layers: Vec<CacheLayout>,
}

/// Keys and values, position after position.
#[derive(Debug)]
pub struct SourceRows {
    pub(super) len: usize,
    /// `[len, d_hidden]`
    pub(super) keys: Vec<f32>,
    /// `[len, d_memory]`
    pub(super) values: Vec<f32>,
}

/// The sequences of `rows`, whose encoder's output is `memory`, as `decoder` reads them, in blocks of
/// `numbers`; `None` if it reads none.
pub(super) fn sources<'a>(
    decoder: &Decoder<Packed>,
    numbers: Float,
    memory: &ScratchBuffer<'a>,
    rows: &mut Rows<'a, WholeSequences>,
) -> Vec<Option<Arc<EncodedSource>>> {
    let sources = match decoder {
        Decoder::Transformer(stack) => blocks_of_layers(stack, numbers, memory, rows),
        Decoder::Recurrent(stack) => of_attention(stack, numbers, memory, rows),
    };
    match sources {
        Some(sources) => (sources.into_iter()).map(|source| Some(Arc::new(source))).collect(),
        None => vec![None; rows.spans.len()],
    }
}

/// Keys and values of the cross-attention of each layer.
fn blocks_of_layers<'a>(
    stack: &TransformerDecoder<Packed>,
    numbers: Float,
    memory: &ScratchBuffer<'a>,
    rows: &mut Rows<'a, WholeSequences>,
) -> Option<Vec<EncodedSource>> {
    let cross = stack.layers.iter().filter_map(|layer| layer.cross.as_ref());
    let attentions: Vec<&Attention<Packed>> = cross.map(|cross| &cross.attention).collect();
    let layouts = attentions.iter().map(|cross| cross.heads.stored_in(numbers));
    let layouts: Vec<CacheLayout> = layouts.collect();
    let mut sources: Vec<SourceBlocks> =
        (rows.spans.iter()).map(|span| SourceBlocks::new(span.rows.len(), &layouts)).collect();
    for (layer, attention) in attentions.iter().enumerate() {
        let width = 2 * attention.heads.kv_width();
        let keys_values = rows.linear(memory, &[&attention.key, &attention.value]);
        for (span, source) in rows.spans.iter().zip(&mut sources) {
            let rows = &keys_values[span.rows.start * width..span.rows.end * width];
            store_all(layouts[layer], rows, width, 0, source.layer_mut(layer));
        }
    }
    (!layouts.is_empty()).then(|| sources.into_iter().map(EncodedSource::Blocks).collect())
}

/// What the attention of a recurrent decoder reads.
fn of_attention<'a>(
    stack: &RecurrentDecoder<Packed>,
    numbers: Float,
    memory: &ScratchBuffer<'a>,
    rows: &mut Rows<'a, WholeSequences>,
) -> Option<Vec<EncodedSource>> {
    let d = memory.len() / rows.positions.len().max(1);
    let spans = rows.spans.iter().map(|span| &span.rows);
    let sources = match stack.attention.as_ref()? {
        RecurrentAttention::Additive(AdditiveAttention { scores, .. })
        | RecurrentAttention::Concat(scores) => {
            let keys = rows.linear(memory, &[&scores.key]);
            let d_key = scores.key.d_out();
            let of = |span: &Range<usize>| {
                EncodedSource::Rows(SourceRows {
                    len: span.len(),
                    keys: keys[span.start * d_key..span.end * d_key].to_vec(),
                    values: memory[span.start * d..span.end * d].to_vec(),
                })
            };
            spans.map(of).collect()
        }
        RecurrentAttention::Multiplicative(attention) => {
            let layout = attention.heads().stored_in(numbers);
            let of = |span: &Range<usize>| {
                let h = &memory[span.start * d..span.end * d];
                let mut blocks = SourceBlocks::new(span.len(), &[layout]);
                let twice: Vec<f32> = h.chunks_exact(d).flat_map(|h| [h, h].concat()).collect();
                store_all(layout, &twice, 2 * d, 0, blocks.layer_mut(0));
                EncodedSource::Blocks(blocks)
            };
            spans.map(of).collect()
        }
    };
    Some(sources)
}

impl SourceBlocks {
    /// Room for `len` positions of layers with these layouts.
    pub(super) fn new(len: usize, layers: &[CacheLayout]) -> Self {
        let block_len = layers.iter().map(|layout| layout.block_len()).sum();
        let new = |_| vec![0.0; block_len];
        Self { len, blocks: (0..len.div_ceil(BLOCK)).map(new).collect(), layers: layers.to_vec() }
    }

    /// The number of positions.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The layout of the blocks of layer `number`.
    pub(super) fn layout(&self, number: usize) -> CacheLayout {
        self.layers[number]
    }

    /// The blocks of layer `number`.
    pub(super) fn layer(&self, number: usize) -> impl Iterator<Item = &[f32]> {
        let range = self.range(number);
        self.blocks.iter().map(move |block| &block[range.clone()])
    }

    /// The blocks of layer `number`, to change them.
    pub(super) fn layer_mut(&mut self, number: usize) -> impl Iterator<Item = &mut [f32]> {
        let range = self.range(number);
        let blocks = self.blocks.iter_mut();
        blocks.map(move |block| &mut block[range.clone()])
    }

    /// The range of layer `number` in each block.
    fn range(&self, number: usize) -> Range<usize> {
        let before = self.layers[..number].iter();
        let start: usize = before.map(|layout| layout.block_len()).sum();
        start..start + self.layers[number].block_len()
    }
}
