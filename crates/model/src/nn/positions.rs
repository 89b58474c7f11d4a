//! Positional vectors.

use std::sync::Arc;

use attentive_architecture::{AddedPositions, InputSpec, Sinusoids};

use super::{ParameterInit, Scope, Storage};

/// Wavelengths range from 2π to 2π times this base (*Attention Is All You Need*, section 3.5).
const BASE: f64 = 10_000.0;

/// Positional vectors added to the embeddings.
#[derive(Clone, Debug)]
pub enum PositionEncoding<S: Storage> {
    /// None: the attention encodes positions.
    None,
    /// Sines and cosines, `[max_len, d_model]`.
    Fixed(Arc<Vec<f32>>),
    /// Learned vectors.
    Learned {
        /// `[rows, d_model]`
        table: S::Vector,
        /// The row of position 0.
        offset: usize,
    },
}

impl<S: Storage> PositionEncoding<S> {
    /// Makes the positions of `input`, up to `max_len`.
    pub fn new(input: &InputSpec, max_len: usize, scope: Scope<'_, S>) -> Self {
        match input.positions {
            AddedPositions::None => Self::None,
            AddedPositions::Sinusoidal(layout) => {
                Self::Fixed(scope.sinusoids(layout, max_len, input.d_model))
            }
            AddedPositions::Learned { rows, offset } => {
                let table = scope.vector("learned", [rows, input.d_model], ParameterInit::Embedding);
                Self::Learned { table, offset }
            }
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
