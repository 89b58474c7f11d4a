//! Attention weights to look at.

use std::cell::RefCell;

use burn::tensor::Tensor;

/// Who attends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionSite {
    /// The source to itself.
    EncoderSelf,
    /// What is written to itself and what was written before.
    DecoderSelf,
    /// What is written to the source.
    Cross,
}

/// The weights of one attention.
#[derive(Clone, Debug)]
pub struct AttentionMap {
    /// The field path of the layer, as in `encoder.layers.0.self_attention`.
    pub name: String,
    /// Who attends to whom.
    pub site: AttentionSite,
    /// Its number among the maps of this site, counted from 0.
    pub layer: usize,
    /// `[batch, n_heads, tgt_len, src_len]`: how much of each key a query takes. A row sums to 1, with exact zeros at
    /// padding and at what is still to come.
    pub weights: Tensor<4>,
}

/// Gathers the attention weights of a pass, which are otherwise never stored.
#[derive(Debug, Default)]
pub struct AttentionWatch(RefCell<Vec<AttentionMap>>);

impl AttentionWatch {
    /// Layers of a site are recorded from the embeddings up; `name` is told their number.
    pub(super) fn record(
        &self,
        site: AttentionSite,
        name: impl FnOnce(usize) -> String,
        weights: Tensor<4>,
    ) {
        let mut maps = self.0.borrow_mut();
        let layer = maps.iter().filter(|map| map.site == site).count();
        maps.push(AttentionMap {
            name: name(layer),
            site,
            layer,
            weights,
        });
    }

    /// What was gathered, in the order of computation.
    pub fn into_maps(self) -> Vec<AttentionMap> {
        self.0.into_inner()
    }
}
