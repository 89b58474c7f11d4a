//! How attention scores are computed: scale, bias and causal mask.

use super::AttentionShape;
use crate::area::area;

/// Which keys a query may attend to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Causality {
    /// All keys.
    Full,
    /// Query i sees key j if j ≤ i + (`src_len` − `tgt_len`), so the last query sees all keys.
    Causal,
}

/// A term added to the scaled scores, for example a relative position bias (Raffel et al. 2020).
#[derive(Clone, Copy, Debug)]
pub enum ScoreBias<'a> {
    /// `[n_heads, tgt_len, src_len]`, the same for every sentence.
    Shared(&'a [f32]),
    /// `[batch, n_heads, tgt_len, src_len]`
    Each(&'a [f32]),
}

/// Gradient output for a [`ScoreBias`] of the same form.
#[derive(Debug)]
pub enum ScoreBiasMut<'a> {
    /// For [`ScoreBias::Shared`]: the sum over the sentences, in their order.
    Shared(&'a mut [f32]),
    /// For [`ScoreBias::Each`].
    Each(&'a mut [f32]),
}

/// The scores of attention: `scale` · q·k + `bias`.
#[derive(Clone, Copy, Debug)]
pub struct Scores<'a> {
    /// Factor applied to the dot products.
    pub scale: f32,
    /// Which keys a query may attend to.
    pub causality: Causality,
    /// Term added to the scaled dot products.
    pub bias: Option<ScoreBias<'a>>,
}

impl Scores<'_> {
    /// Scores q·k / √`d_head` without bias (*Attention Is All You Need*, equation 1).
    pub fn scaled(d_head: usize, causality: Causality) -> Self {
        Self {
            scale: scale_of(d_head),
            causality,
            bias: None,
        }
    }
}

/// 1/√d_head
pub fn scale_of(d_head: usize) -> f32 {
    1.0 / (d_head as f32).sqrt()
}

impl<'a> ScoreBias<'a> {
    pub(super) fn check(self, shape: AttentionShape) {
        check(shape, self.sentences(shape), self.values().len());
    }

    fn sentences(self, shape: AttentionShape) -> usize {
        match self {
            Self::Shared(_) => 1,
            Self::Each(_) => shape.batch,
        }
    }

    fn values(self) -> &'a [f32] {
        let (Self::Shared(values) | Self::Each(values)) = self;
        values
    }

    /// The bias of `head` in `sentence`, `[tgt_len, src_len]`.
    pub(super) fn head(self, shape: AttentionShape, sentence: usize, head: usize) -> &'a [f32] {
        let one = shape.tgt_len * shape.src_len;
        let number = match self {
            Self::Shared(_) => head,
            Self::Each(_) => sentence * shape.n_heads + head,
        };
        &self.values()[number * one..][..one]
    }
}

impl ScoreBiasMut<'_> {
    pub(super) fn check(&self, shape: AttentionShape) {
        match self {
            Self::Shared(values) => check(shape, 1, values.len()),
            Self::Each(values) => check(shape, shape.batch, values.len()),
        }
    }
}

fn check(shape: AttentionShape, sentences: usize, found: usize) {
    let heads = area(sentences, shape.n_heads);
    let expected = area(heads, area(shape.tgt_len, shape.src_len));
    assert_eq!(found, expected, "score bias of {shape:?}");
}
