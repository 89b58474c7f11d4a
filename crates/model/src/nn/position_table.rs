//! The position encodings of a model as a table, for display and comparison.

use std::sync::Arc;

use attentive_architecture::{
    AddedPositions, Architecture, DecoderSpec, EncoderSpec, Init, SelfMixing, TransformerSpec,
};
use attentive_tape::{Rotary, Value};

use super::{Initializer, sinusoids};

/// A vector for each position, from 0 on.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionTable {
    values: Vec<f32>,
    width: usize,
}

impl PositionTable {
    /// The first `len` positions of the first input of `architecture`; learned ones as initialized by `init`
    /// and `seed`. `None` for a model without added or rotary positions.
    ///
    /// Rotary positions add no vectors but rotate those of each head. Their rows are the rotated vector whose
    /// first half is ones and whose second half is zeros: the cosines, then the sines of all angles.
    pub fn new(architecture: &Architecture, len: usize, init: Init, seed: u64) -> Option<Self> {
        let (name, input) = architecture.first_input();
        match input.positions {
            AddedPositions::Sinusoidal(layout) => {
                let d_model = input.d_model;
                Some(Self::rows(sinusoids(layout, 0..len, d_model), d_model))
            }
            AddedPositions::Learned { .. } => {
                let name = format!("{name}.positions.learned");
                let drawn = Initializer::new(architecture, init, seed).draw(&name);
                Some(Self::rows(drawn, input.d_model))
            }
            AddedPositions::None => {
                let frequencies = frequencies(architecture)?;
                let d_head = 2 * frequencies.len();
                let start: Vec<f32> =
                    (0..len * d_head).map(|i| if i % d_head < d_head / 2 { 1.0 } else { 0.0 }).collect();
                let start = Value::new(start, [len, d_head]);
                let turned = Rotary::with_frequencies(frequencies).turn(start, 1, len);
                Some(Self::rows(turned.into_vec(), d_head))
            }
        }
    }

    /// A table with the given `values`, in rows of `width`.
    pub fn rows(values: Vec<f32>, width: usize) -> Self {
        Self { values, width: width.max(1) }
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Whether there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The width of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The rows of the first `len` positions, or of all if there are fewer.
    pub fn first(&self, len: usize) -> &[f32] {
        let end = len.saturating_mul(self.width).min(self.values.len());
        &self.values[..end]
    }

    /// The cosine similarity between the row of `position` and each row; NaN for rows of zeros.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn cosine_similarity(&self, position: usize) -> Vec<f64> {
        assert!(position < self.len(), "position {position} of {}", self.len());
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            let products = a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b));
            products.sum()
        };
        let own = &self.values[position * self.width..][..self.width];
        let rows = self.values.chunks_exact(self.width);
        rows.map(|row| dot(row, own) / (dot(row, row) * dot(own, own)).sqrt()).collect()
    }
}

/// The frequencies of rotary positions, one for each pair of features of a head.
fn frequencies(architecture: &Architecture) -> Option<Arc<[f64]>> {
    let stack: &TransformerSpec = match (architecture.encoder(), architecture.decoder()) {
        (Some(EncoderSpec::Transformer(stack)), _) | (_, Some(DecoderSpec::Transformer(stack))) => stack,
        _ => return None,
    };
    let SelfMixing::Attention(attention) = &stack.mixing else {
        return None;
    };
    attention.frequencies()
}

#[cfg(test)]
mod tests {
    use attentive_config::{ModelConfig, Positions};

    use super::*;

    fn table(positions: Positions) -> Option<PositionTable> {
        let config =
            ModelConfig { positions, d_model: 16, n_heads: 2, max_len: 40, ..ModelConfig::default() };
        let architecture = config.architecture(10, 10);
        PositionTable::new(&architecture, 40, config.init, 1)
    }

    #[test]
    fn similarity_is_the_mean_cosine_of_the_angle_differences() {
        for (positions, pairs) in [
            (Positions::SinusoidalInterleaved, 8),
            (Positions::SinusoidalConcatenated, 8),
            (Positions::Rotary, 4),
        ] {
            let similarity = table(positions).expect("a table").cosine_similarity(30);
            for (position, found) in similarity.into_iter().enumerate() {
                let cosine = |i: i32| {
                    let frequency = 1e4f64.powf(-f64::from(i) / f64::from(pairs));
                    ((position as f64 - 30.0) * frequency).cos()
                };
                let mean = (0..pairs).map(cosine).sum::<f64>() / f64::from(pairs);
                assert!((found - mean).abs() < 1e-5, "{positions:?} {position}");
            }
        }
    }

    #[test]
    fn every_kind_but_none_has_rows() {
        assert_eq!(table(Positions::None), None);
        let learned = table(Positions::Learned).expect("a table");
        assert_eq!((learned.len(), learned.width()), (40, 16));
        assert_eq!(learned.first(3).len(), 48);
        assert_eq!(learned.first(1000).len(), 640);
        assert!((learned.cosine_similarity(7)[7] - 1.0).abs() < 1e-6);
        assert_eq!(table(Positions::Rotary).expect("a table").width(), 8);
    }
}
