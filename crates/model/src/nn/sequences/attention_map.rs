//! Recorded attention weights.

use std::cell::RefCell;

use attentive_tape::AttentionWeights;

/// Kind of attention in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionSite {
    /// Self-attention of an encoder.
    EncoderSelf,
    /// Causal self-attention of a decoder.
    DecoderSelf,
    /// Attention of a decoder to the memory.
    Cross,
}

/// The place of an attention layer in its model.
#[derive(Clone, Debug)]
pub struct AttentionPlace {
    /// The field path of the layer, for example `encoder.layers.0.self_attention`.
    pub name: String,
    /// Kind of attention.
    pub site: AttentionSite,
    /// Number among the layers of this site, counted from 0.
    pub layer: usize,
}

/// The weights of one attention layer.
#[derive(Clone, Debug)]
pub struct AttentionMap {
    /// The field path of the layer, for example `encoder.layers.0.self_attention`.
    pub name: String,
    /// Kind of attention.
    pub site: AttentionSite,
    /// Number among the layers of this site, counted from 0.
    pub layer: usize,
    /// The weight of each key for each query.
    pub weights: AttentionWeights,
}

/// Collects the attention weights of a pass, which are otherwise never stored.
#[derive(Debug, Default)]
pub struct AttentionWatch {
    /// Collects those of this kind only.
    only: Option<AttentionSite>,
    maps: RefCell<Vec<AttentionMap>>,
}

impl AttentionWatch {
    /// Collects the weights of attention of this kind only.
    pub fn only(site: AttentionSite) -> Self {
        Self { only: Some(site), ..Self::default() }
    }

    /// Whether the weights of the attention at `place` are collected.
    pub(super) fn wants(&self, place: &AttentionPlace) -> bool {
        self.only.is_none_or(|site| site == place.site)
    }

    /// Adds the weights of the attention at `place`; those of positions behind the last ones, if they were
    /// of the same place.
    pub(super) fn record(&self, place: &AttentionPlace, weights: AttentionWeights) {
        let mut maps = self.maps.borrow_mut();
        if let Some(last) = maps.last_mut().filter(|last| last.name == place.name) {
            last.weights = last.weights.followed_by(&weights);
            return;
        }
        maps.push(AttentionMap { name: place.name.clone(), site: place.site, layer: place.layer, weights });
    }

    /// The collected maps, in the order of computation.
    pub fn into_maps(self) -> Vec<AttentionMap> {
        self.maps.into_inner()
    }
}
