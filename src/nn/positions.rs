//! How a position is told to the model.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::Initializer;
use crate::config::{ModelConfig, Positions};
use crate::ops::{PositionRows, Starts};

/// Wavelengths run from 2π to this times 2π (*Attention Is All You Need*, section 3.5).
const BASE: f64 = 10_000.0;
/// As `BASE`, of rotary positions.
pub(super) const ROTARY_BASE: f64 = BASE;

/// Vectors that are added to the embeddings; nothing for rotary and none.
#[derive(Module, Debug)]
pub struct PositionEncoding {
    /// `[max_len, d_model]`, for learned positions alone.
    pub learned: Option<Param<Tensor<2>>>,
    /// `[max_len, d_model]`, for sinusoids alone.
    #[module(skip)]
    fixed: Option<Arc<Vec<f32>>>,
}

impl PositionEncoding {
    /// The positions that `config` asks for.
    pub fn new(config: &ModelConfig, init: &mut Initializer) -> Self {
        let ModelConfig {
            d_model,
            max_len,
            positions,
            ..
        } = *config;
        Self {
            learned: (positions == Positions::Learned).then(|| init.embedding(max_len, d_model)),
            fixed: sinusoids(positions, max_len, d_model).map(Arc::new),
        }
    }

    /// The fixed vectors of `len` positions from `first` on, for the embedding to add.
    pub fn fixed_rows(&self, first: usize, len: usize) -> Option<PositionRows> {
        let table = Arc::clone(self.fixed.as_ref()?);
        Some(PositionRows {
            table,
            starts: Starts::All(first),
            len,
        })
    }

    /// Adds the learned vectors, if these positions are learned, of positions `first ..` to `batch` sequences.
    ///
    /// # Shapes
    /// - `x`, result: `[batch · len, d_model]`
    pub fn add_learned(&self, x: Tensor<2>, batch: usize, first: usize) -> Tensor<2> {
        let Some(table) = &self.learned else {
            return x;
        };
        let [rows, d] = x.dims();
        let len = rows / batch.max(1);
        let vectors = table.val().slice([first..first + len, 0..d]);
        (x.reshape([batch, len, d]) + vectors.unsqueeze()).reshape([rows, d])
    }
}

/// The table of a sinusoidal encoding, `[len, d_model]`; `None` for the other kinds.
///
/// With angles t = position / 10000^e the paper interleaves sin t and cos t with e = 2i/d; the concatenated form puts all
/// sines before all cosines; the Tensor2Tensor form does so too, with e = i / (d/2 − 1).
pub fn sinusoids(positions: Positions, len: usize, d_model: usize) -> Option<Vec<f32>> {
    let half = d_model / 2;
    let exponent = |i: usize| match positions {
        Positions::SinusoidalTensor2tensor => i as f64 / (half.max(2) - 1) as f64,
        _ => 2.0 * i as f64 / d_model as f64,
    };
    let columns = |i: usize| match positions {
        Positions::SinusoidalInterleaved => Some((2 * i, 2 * i + 1)),
        Positions::SinusoidalConcatenated | Positions::SinusoidalTensor2tensor => {
            Some((i, half + i))
        }
        Positions::Learned | Positions::Rotary | Positions::None => None,
    };
    let mut table = vec![0.0; len * d_model];
    for i in 0..half {
        let (sine, cosine) = columns(i)?;
        let frequency = BASE.powf(-exponent(i));
        for (position, row) in table.chunks_exact_mut(d_model).enumerate() {
            let (s, c) = (position as f64 * frequency).sin_cos();
            row[sine] = s as f32;
            row[cosine] = c as f32;
        }
    }
    columns(0).map(|_| table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Rotary;

    #[test]
    fn sinusoids_follow_their_formulas() {
        let table = |kind| sinusoids(kind, 3, 4).expect("sinusoidal");
        let at = |t: f64| (t.sin() as f32, t.cos() as f32);
        let (s0, c0) = at(2.0);
        let (s1, c1) = at(2.0 / 100.0);
        assert_eq!(
            table(Positions::SinusoidalInterleaved)[8..],
            [s0, c0, s1, c1]
        );
        assert_eq!(
            table(Positions::SinusoidalConcatenated)[8..],
            [s0, s1, c0, c1]
        );
        let (s1, c1) = at(2.0 / 10_000.0);
        assert_eq!(
            table(Positions::SinusoidalTensor2tensor)[8..],
            [s0, s1, c0, c1]
        );
        assert_eq!(sinusoids(Positions::Rotary, 3, 4), None);
    }

    #[test]
    fn rotary_scores_depend_on_distance_alone() {
        let device = burn::tensor::Device::flex();
        let vector = |values: [f32; 4]| Tensor::<2>::from_data([values], &device);
        let (q, k) = (vector([0.3, -1.0, 0.5, 2.0]), vector([1.0, 0.2, -0.7, 0.4]));
        let rotary = Rotary::new(ROTARY_BASE, 2);
        let score = |i, j| -> f32 {
            let (q, k) = (
                rotary.turn(q.clone(), 2, &Starts::All(i), 1),
                rotary.turn(k.clone(), 2, &Starts::All(j), 1),
            );
            (q * k).sum().into_scalar()
        };
        assert!((score(3, 1) - score(9, 7)).abs() < 1e-5);
        assert!((score(3, 1) - score(3, 2)).abs() > 1e-3);
    }
}
