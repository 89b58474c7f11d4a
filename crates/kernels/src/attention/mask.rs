//! Which attention weights dropout keeps.

use super::softmax_columns::QueryLanes;
use crate::dropout::{DropoutBits, DropoutCall, GROUP};
use crate::simd::LANES;

/// Dropout of the weights of some queries: the weight of query q for key k is element
/// `start + q * stride + k`.
#[derive(Clone, Copy)]
pub(super) struct DropoutSites {
    pub(super) dropout: DropoutCall,
    pub(super) start: usize,
    pub(super) stride: usize,
}

/// The dropout mask of 16 queries, one bit for each weight.
pub(super) struct Mask {
    sites: DropoutSites,
    kept: DropoutBits,
    /// The factor of weights that are kept.
    scale: f32,
    /// Bit `key % 32` of element i of `words[key / 32]`: whether the weight of query i for `key` is kept.
    words: Vec<[u32; LANES]>,
}

impl Mask {
    pub(super) fn new(sites: DropoutSites) -> Self {
        Self {
            sites,
            kept: DropoutBits::new(sites.dropout),
            scale: sites.dropout.kept_scale(),
            words: Vec::new(),
        }
    }

    /// Draws the bits of `count` queries from `first` on for the keys before `end`.
    #[inline(always)]
    pub(super) fn draw(&mut self, first: usize, count: usize, end: usize) {
        const WORDS: usize = GROUP / u32::BITS as usize;
        let groups = end.div_ceil(GROUP);
        self.words.resize(groups * WORDS, [0; LANES]);
        for lane in 0..count.min(LANES) {
            let start = self.sites.start + (first + lane) * self.sites.stride;
            for (group, words) in self.words.as_chunks_mut::<WORDS>().0.iter_mut().enumerate() {
                let key = group * GROUP;
                let bits = self.kept.bits(start + key, GROUP.min(end - key));
                words[0][lane] = bits as u32;
                words[1][lane] = (bits >> u32::BITS) as u32;
            }
        }
    }

    /// The factors of the weights for `key`.
    #[inline(always)]
    pub(super) fn factors(&self, key: usize) -> QueryLanes {
        let bit = 1 << (key % 32);
        let mut factors = [0.0; LANES];
        for (factor, word) in factors.iter_mut().zip(&self.words[key / 32]) {
            *factor = if word & bit == 0 { 0.0 } else { self.scale };
        }
        factors
    }
}
