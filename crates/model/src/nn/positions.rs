//! Positional vectors.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use attentive_architecture::{AddedPositions, InputSpec, Sinusoids};

use super::{ParameterInit, Scope, Storage};

/// Wavelengths range from 2π to 2π times this base (*Attention Is All You Need*, section 3.5).
const BASE: f64 = 10_000.0;

/// Positional vectors added to the embeddings.
#[derive(Clone, Debug)]
pub enum PositionEncoding<S: Storage> {
    /// None: the attention encodes positions.
    None,
    /// Sines and cosines.
    Fixed(Arc<SinusoidRows>),
    /// Learned vectors.
    Learned {
        /// `[rows, d_model]`
        table: S::Vector,
        /// The row of position 0.
        offset: usize,
    },
}

impl<S: Storage> PositionEncoding<S> {
    /// Makes the positions of `input`.
    pub fn new(input: &InputSpec, scope: Scope<'_, S>) -> Self {
        match input.positions {
            AddedPositions::None => Self::None,
            AddedPositions::Sinusoidal(layout) => {
                Self::Fixed(Arc::new(SinusoidRows::new(layout, input.d_model)))
            }
            AddedPositions::Learned { rows, offset } => {
                let table = scope.vector("learned", [rows, input.d_model], ParameterInit::Embedding);
                Self::Learned { table, offset }
            }
        }
    }
}

/// The table of a sinusoidal encoding, `[positions, d_model]`, which is computed as far as it was asked for: few
/// texts are as long as a model can read.
#[derive(Debug)]
pub struct SinusoidRows {
    layout: Sinusoids,
    d_model: usize,
    rows: Mutex<Arc<Vec<f32>>>,
}

impl SinusoidRows {
    fn new(layout: Sinusoids, d_model: usize) -> Self {
        Self { layout, d_model, rows: Mutex::default() }
    }

    /// The vectors from position 0 to at least the last of `positions`.
    pub fn up_to(&self, positions: &[usize]) -> Arc<Vec<f32>> {
        self.first(positions.iter().max().map_or(0, |last| last + 1))
    }

    /// The vectors of at least the first `len` positions.
    pub fn first(&self, len: usize) -> Arc<Vec<f32>> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let known = rows.len() / self.d_model;
        if known < len {
            let more = sinusoids(self.layout, known..len.next_power_of_two(), self.d_model);
            Arc::make_mut(&mut rows).extend(more);
        }
        rows.clone()
    }
}

/// The rows of these positions in the table of a sinusoidal encoding, `[positions, d_model]`; see [`Sinusoids`] for
/// the layouts.
pub fn sinusoids(layout: Sinusoids, positions: Range<usize>, d_model: usize) -> Vec<f32> {
    let half = d_model / 2;
    let exponent = |i: usize| match layout {
        Sinusoids::Tensor2tensor => i as f64 / (half.max(2) - 1) as f64,
        Sinusoids::Interleaved | Sinusoids::Concatenated => 2.0 * i as f64 / d_model as f64,
    };
    let columns = |i: usize| match layout {
        Sinusoids::Interleaved => (2 * i, 2 * i + 1),
        Sinusoids::Concatenated | Sinusoids::Tensor2tensor => (i, half + i),
    };
    let mut table = vec![0.0; positions.len() * d_model];
    for i in 0..half {
        let (sine, cosine) = columns(i);
        let frequency = BASE.powf(-exponent(i));
        for (position, row) in positions.clone().zip(table.chunks_exact_mut(d_model)) {
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
        let table = |kind| sinusoids(kind, 0..3, 4);
        let at = |t: f64| (t.sin() as f32, t.cos() as f32);
        let (s0, c0) = at(2.0);
        let (s1, c1) = at(2.0 / 100.0);
        assert_eq!(table(Sinusoids::Interleaved)[8..], [s0, c0, s1, c1]);
        assert_eq!(table(Sinusoids::Concatenated)[8..], [s0, s1, c0, c1]);
        let (s1, c1) = at(2.0 / 10_000.0);
        assert_eq!(table(Sinusoids::Tensor2tensor)[8..], [s0, s1, c0, c1]);
    }

    #[test]
    fn a_table_grows_with_the_same_bits() {
        for layout in [Sinusoids::Interleaved, Sinusoids::Concatenated, Sinusoids::Tensor2tensor] {
            let (table, whole) = (SinusoidRows::new(layout, 6), sinusoids(layout, 0..128, 6));
            for len in [0, 1, 3, 4, 70, 5, 100] {
                let rows = table.first(len);
                assert!(rows.len() >= len * 6 && whole.starts_with(&rows), "{len}");
            }
        }
    }
}
