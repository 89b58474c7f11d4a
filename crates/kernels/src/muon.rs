//! The direction of an update of a matrix by Muon (Jordan et al. 2024, *Muon: An optimizer for hidden layers
//! in neural networks*).

use rayon::prelude::*;

use crate::gemm::{Float, Product, View};
use crate::optimizer::sums_of_squares;
use crate::parallel::{CHUNK, is_large};

/// The coefficients of X ← aX + (bA + cA²)X with A = XXᵀ, which brings all singular values near 1.
pub(crate) const COEFFICIENTS: [f32; 3] = [3.4445, -4.7750, 2.0315];
/// The number of iterations.
pub(crate) const ITERATIONS: usize = 5;
/// Keeps a matrix without gradient finite.
pub(crate) const EPSILON: f64 = 1e-7;

/// The momentum of an update, and what the gradient is multiplied by first.
#[derive(Clone, Copy, Debug)]
pub struct MuonStep {
    /// The decay rate μ of the average of gradients.
    pub momentum: f32,
    /// Factor applied to the gradient first, for averaging and clipping.
    pub grad_scale: f32,
    /// The number type of the products of the iterations.
    pub precision: Float,
}

/// Updates the average `mean` of the gradients of a matrix with `cols` columns, `m = μm + (1 − μ)g`, and
/// returns the direction of descent: (1 − μ)g + μm (Nesterov), made nearly orthogonal by Newton–Schulz
/// iterations, which keep its singular vectors and bring its singular values between about 0.7 and 1.2.
///
/// # Panics
/// If the lengths differ, or are no multiples of `cols`.
pub fn muon_direction(mean: &mut [f32], grad: &[f32], cols: usize, step: MuonStep) -> Vec<f32> {
    assert_eq!(mean.len(), grad.len(), "`mean` must be as long as `grad`");
    assert!(grad.len().is_multiple_of(cols), "`grad` must consist of whole rows");
    let mut direction = vec![0.0; grad.len()];
    if is_large(grad.len()) {
        let parts = (direction.par_chunks_mut(CHUNK), mean.par_chunks_mut(CHUNK), grad.par_chunks(CHUNK));
        parts.into_par_iter().for_each(|(direction, mean, grad)| nesterov(direction, mean, grad, step));
    } else {
        nesterov(&mut direction, mean, grad, step);
    }
    orthogonalize(&mut direction, cols, step.precision);
    direction
}

vectorized! {
    fn nesterov(direction: &mut [f32], mean: &mut [f32], grad: &[f32], step: MuonStep) {
        let rate = 1.0 - step.momentum;
        for ((d, m), &g) in direction.iter_mut().zip(mean).zip(grad) {
            let g = g * step.grad_scale;
            *m = step.momentum * *m + rate * g;
            *d = step.momentum * *m + rate * g;
        }
    }
}

/// Newton–Schulz iterations over the matrix `x` with `cols` columns.
fn orthogonalize(x: &mut Vec<f32>, cols: usize, precision: Float) {
    let rows = x.len() / cols.max(1);
    let norm = sums_of_squares(x).iter().sum::<f64>().sqrt() + EPSILON;
    let scale = norm.recip() as f32;
    x.iter_mut().for_each(|x| *x *= scale);
    let [a, b, c] = COEFFICIENTS;
    // The squares are products of the shorter side.
    let is_wide = rows <= cols;
    let side = rows.min(cols);
    let mut gram = vec![0.0; side * side];
    let mut polynomial = vec![0.0; side * side];
    let mut next = vec![0.0; x.len()];
    for _ in 0..ITERATIONS {
        let (outer, inner) = (View::rows(x, cols), View::transposed(x, cols));
        let (left, right, k) = if is_wide { (outer, inner, cols) } else { (inner, outer, rows) };
        Product::new(k, left, right).write(precision, [side, side], &mut gram);
        // aI + bA + cA²
        let square = View::rows(&gram, side);
        Product::new(side, square, square).write(precision, [side, side], &mut polynomial);
        polynomial.iter_mut().zip(&gram).for_each(|(square, &gram)| *square = b * gram + c * *square);
        polynomial.iter_mut().step_by(side + 1).for_each(|diagonal| *diagonal += a);
        let factor = View::rows(&polynomial, side);
        let (left, right) = if is_wide { (factor, outer) } else { (outer, factor) };
        Product::new(side, left, right).write(precision, [rows, cols], &mut next);
        std::mem::swap(x, &mut next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::{assert_close, assert_same_on_all_pools, random};

    const STEP: MuonStep = MuonStep { momentum: 0.95, grad_scale: 0.5, precision: Float::F32 };

    #[test]
    fn directions_match_the_reference_on_any_number_of_threads() {
        for (rows, cols) in [(1, 1), (3, 5), (5, 3), (64, 64), (33, 130), (200, 70)] {
            let (grad, mean) = (random(rows * cols, 1), random(rows * cols, 2));
            let (expected_mean, expected) = reference::muon_direction(&mean, &grad, cols, STEP);
            assert_same_on_all_pools(|| {
                let mut mean = mean.clone();
                let direction = muon_direction(&mut mean, &grad, cols, STEP);
                assert_close(&mean, &expected_mean, 1e-6, "mean");
                assert_close(&direction, &expected, 1e-4, "direction");
                [mean, direction].concat()
            });
        }
    }

    #[test]
    fn rows_of_a_wide_matrix_become_nearly_orthonormal() {
        let (rows, cols) = (40, 160);
        let grad = random(rows * cols, 3);
        let direction = muon_direction(&mut vec![0.0; grad.len()], &grad, cols, STEP);
        let row = |n: usize| &direction[n * cols..][..cols];
        for i in 0..rows {
            for j in 0..rows {
                let product: f32 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 0.55, "rows {i} and {j}: {product}");
            }
        }
    }

    #[test]
    fn bfloat16_turns_a_direction_by_less_than_three_degrees() {
        let (rows, cols) = (48, 130);
        let grad = random(rows * cols, 4);
        let direction = |precision| {
            muon_direction(&mut vec![0.0; grad.len()], &grad, cols, MuonStep { precision, ..STEP })
        };
        let (exact, rounded) = (direction(Float::F32), direction(Float::Bf16));
        assert_ne!(exact, rounded);
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
        let cosine = dot(&exact, &rounded) / (dot(&exact, &exact) * dot(&rounded, &rounded)).sqrt();
        assert!(cosine > 0.9987, "{cosine}");
    }

    #[test]
    fn a_matrix_without_gradient_stays() {
        let direction = muon_direction(&mut [0.0; 12], &[0.0; 12], 4, STEP);
        assert_eq!(direction, [0.0; 12]);
    }
}
