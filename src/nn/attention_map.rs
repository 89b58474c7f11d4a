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

/// Where an attention stands in its model.
#[derive(Clone, Debug)]
pub struct AttentionPlace {
    /// The field path of the layer, as in `encoder.layers.0.self_attention`.
    pub name: String,
    /// Who attends to whom.
    pub site: AttentionSite,
    /// Its number among the layers of this site, counted from 0.
    pub layer: usize,
}

/// The weights of one attention.
#[derive(Clone, Debug)]
pub struct AttentionMap {
    /// The field path of the layer, as in `encoder.layers.0.self_attention`.
    pub name: String,
    /// Who attends to whom.
    pub site: AttentionSite,
    /// Its number among the layers of this site, counted from 0.
    pub layer: usize,
    /// `[batch, n_heads, tgt_len, src_len]`: how much of each key a query takes. A row sums to 1, with exact zeros at
    /// padding and at what is still to come.
    pub weights: Tensor<4>,
}

/// Gathers the attention weights of a pass, which are otherwise never stored.
#[derive(Debug, Default)]
pub struct AttentionWatch(RefCell<Vec<AttentionMap>>);

impl AttentionWatch {
    /// Takes up the weights of the attention at `place`.
    pub(super) fn record(&self, place: &AttentionPlace, weights: Tensor<4>) {
        self.0.borrow_mut().push(AttentionMap {
            name: place.name.clone(),
            site: place.site,
            layer: place.layer,
            weights,
        });
    }

    /// What was gathered, in the order of computation.
    pub fn into_maps(self) -> Vec<AttentionMap> {
        self.0.into_inner()
    }
}
