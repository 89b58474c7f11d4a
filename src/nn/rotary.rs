//! Rotary positions.

use burn::tensor::Tensor;

use crate::ops::{self, RotaryTable, Starts};

/// Rotary positions (Su et al. 2021): pairs of features of queries and keys turn by position · base^(−2i/d_head); feature i
/// of a head is paired with feature i + d_head/2.
#[derive(Clone, Debug)]
pub struct Rotary(RotaryTable);

impl Rotary {
    /// For heads of width `d_head`.
    pub fn new(d_head: usize, base: f64) -> Self {
        Self(RotaryTable::new(d_head, base))
    }

    /// Turns `batch` sequences that begin at `starts`.
    ///
    /// # Shapes
    /// - `x`, result: `[batch · len, n_heads · d_head]`
    pub fn turn(&self, x: Tensor<2>, n_heads: usize, batch: usize, starts: &Starts) -> Tensor<2> {
        ops::rotary(x, &self.0, n_heads, batch, starts)
    }
}
