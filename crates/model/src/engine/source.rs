//! A sentence as the decoder's attention reads it.

use attentive_kernels::cached_attention::Heads;

use super::attention::blocks_len;

/// A source sentence, shared by all hypotheses of its translation.
#[derive(Debug)]
pub(super) enum Source {
    /// For scaled dot-product attention.
    Blocks(SourceBlocks),
    /// For additive attention.
    Rows(SourceRows),
}

/// Keys and values for the attention of each layer, in blocks of positions.
#[derive(Debug)]
pub(super) struct SourceBlocks {
    len: usize,
    /// Block after block of the first layer, then of the second, ….
    values: Vec<f32>,
    layers: Vec<Heads>,
}

/// Keys and values, position after position.
#[derive(Debug)]
pub(super) struct SourceRows {
    pub(super) len: usize,
    /// `[len, d_hidden]`
    pub(super) keys: Vec<f32>,
    /// `[len, d_memory]`
    pub(super) values: Vec<f32>,
}

impl SourceBlocks {
    /// Room for `len` positions of layers with these heads.
    pub(super) fn new(len: usize, layers: &[Heads]) -> Self {
        let total = layers.iter().map(|&heads| blocks_len(heads, len)).sum();
        Self {
            len,
            values: vec![0.0; total],
            layers: layers.to_vec(),
        }
    }

    /// The number of positions.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The blocks of layer `number`.
    pub(super) fn layer(&self, number: usize) -> impl Iterator<Item = &[f32]> {
        let range = self.range(number);
        self.values[range].chunks_exact(self.layers[number].block_len())
    }

    /// The blocks of layer `number`, one after the other.
    pub(super) fn layer_mut(&mut self, number: usize) -> &mut [f32] {
        let range = self.range(number);
        &mut self.values[range]
    }

    fn range(&self, number: usize) -> std::ops::Range<usize> {
        let before = self.layers[..number].iter();
        let start: usize = before.map(|&heads| blocks_len(heads, self.len)).sum();
        start..start + blocks_len(self.layers[number], self.len)
    }
}
