//! How attention scores are computed: scale, bias and causal mask.

/// Which keys a query may attend to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Causality {
    /// All keys.
    Full,
    /// Query i sees key j if j ≤ i + (`src_len` − `tgt_len`), so the last query sees all keys.
    Causal,
}

/// The scores of attention: `scale` · q·k + `bias`.
#[derive(Clone, Copy, Debug)]
pub struct Scores<T> {
    /// Factor applied to the dot products.
    pub scale: f32,
    /// Which keys a query may attend to.
    pub causality: Causality,
    /// `[n_heads, tgt_len, src_len]`, added to the scaled dot products of every sentence, for example a
    /// relative position bias (Raffel et al. 2020).
    pub bias: Option<T>,
}

impl<T> Scores<T> {
    /// Applies `f` to the bias.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> Scores<U> {
        Scores { scale: self.scale, causality: self.causality, bias: self.bias.map(f) }
    }

    /// Scores q·k / √`d_head` without bias (*Attention Is All You Need*, equation 1).
    pub fn scaled(d_head: usize, causality: Causality) -> Self {
        Self { scale: scale_of(d_head), causality, bias: None }
    }
}

/// 1/√d_head
pub fn scale_of(d_head: usize) -> f32 {
    1.0 / (d_head as f32).sqrt()
}
