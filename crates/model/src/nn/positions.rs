//! Positional vectors.

use std::sync::Arc;

use attentive_architecture::{AddedPositions, Input, Sinusoids};
use attentive_tape::{Param, PositionRows, Value, add_positions};

use super::{Pass, Scope};

/// Wavelengths range from 2π to 2π times this base (*Attention Is All You Need*, section 3.5).
const BASE: f64 = 10_000.0;

/// Positional vectors added to the embeddings; none if the attention encodes positions.
#[derive(Clone, Debug)]
pub struct PositionEncoding {
    /// `[rows, d_model]`, for learned positions.
    pub learned: Option<Param>,
    /// `[max_len, d_model]`, for sinusoids.
    fixed: Option<Arc<Vec<f32>>>,
    /// The row of position 0 in the learned table.
    offset: usize,
}

impl PositionEncoding {
    /// The positions of `input`, up to `max_len`.
    pub fn new(input: &Input, max_len: usize, scope: Scope<'_>) -> Self {
        let none = Self {
            learned: None,
            fixed: None,
            offset: 0,
        };
        match input.positions {
            AddedPositions::None => none,
            AddedPositions::Sinusoidal(layout) => Self {
                fixed: Some(Arc::new(sinusoids(layout, max_len, input.d_model))),
                ..none
            },
            AddedPositions::Learned { offset, .. } => Self {
                learned: Some(scope.parameter("learned")),
                offset,
                ..none
            },
        }
    }

    /// The sinusoidal vectors of the first `len` positions, which the embedding operation adds.
    pub fn fixed_rows(&self, len: usize) -> Option<PositionRows> {
        let table = Arc::clone(self.fixed.as_ref()?);
        Some(PositionRows { table, len })
    }

    /// Adds the learned vectors, if any, to `batch` sequences.
    ///
    /// # Shapes
    /// - `x`, result: `[batch · len, d_model]`
    pub fn add_learned(&self, x: Value, batch: usize, pass: &Pass<'_>) -> Value {
        let Some(table) = &self.learned else {
            return x;
        };
        let len = x.shape()[0] / batch.max(1);
        add_positions(x, pass.read(table), self.offset, len)
    }

    /// Adds the vectors of positions 0, 1, … to `batch` sequences, `[batch · len, d_model]`.
    pub fn add(&self, x: Value, batch: usize, pass: &Pass<'_>) -> Value {
        let [rows, d] = x.shape();
        let len = rows / batch.max(1);
        match &self.fixed {
            Some(table) => {
                let vectors = Value::new(table[..len * d].to_vec(), [len, d]);
                add_positions(x, vectors, 0, len)
            }
            None => self.add_learned(x, batch, pass),
        }
    }
}

/// The table of a sinusoidal encoding, `[len, d_model]`; see [`Sinusoids`] for the layouts.
pub fn sinusoids(layout: Sinusoids, len: usize, d_model: usize) -> Vec<f32> {
    let half = d_model / 2;
    let exponent = |i: usize| match layout {
        Sinusoids::Tensor2tensor => i as f64 / (half.max(2) - 1) as f64,
        Sinusoids::Interleaved | Sinusoids::Concatenated => 2.0 * i as f64 / d_model as f64,
    };
    let columns = |i: usize| match layout {
        Sinusoids::Interleaved => (2 * i, 2 * i + 1),
        Sinusoids::Concatenated | Sinusoids::Tensor2tensor => (i, half + i),
    };
    let mut table = vec![0.0; len * d_model];
    for i in 0..half {
        let (sine, cosine) = columns(i);
        let frequency = BASE.powf(-exponent(i));
        for (position, row) in table.chunks_exact_mut(d_model).enumerate() {
            let (s, c) = (position as f64 * frequency).sin_cos();
            row[sine] = s as f32;
            row[cosine] = c as f32;
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinusoids_follow_their_formulas() {
        let table = |kind| sinusoids(kind, 3, 4);
        let at = |t: f64| (t.sin() as f32, t.cos() as f32);
        let (s0, c0) = at(2.0);
        let (s1, c1) = at(2.0 / 100.0);
        assert_eq!(table(Sinusoids::Interleaved)[8..], [s0, c0, s1, c1]);
        assert_eq!(table(Sinusoids::Concatenated)[8..], [s0, s1, c0, c1]);
        let (s1, c1) = at(2.0 / 10_000.0);
        assert_eq!(table(Sinusoids::Tensor2tensor)[8..], [s0, s1, c0, c1]);
    }
}
