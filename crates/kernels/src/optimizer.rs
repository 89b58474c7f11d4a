//! Parameter updates: gradient norms, checks for NaN and infinity, and fused Adam and SGD steps.

use rayon::prelude::*;

use crate::parallel::{CHUNK, is_large};

/// Elements whose squares are summed before they are added to the running total.
pub const SUM_CHUNK: usize = 4096;

/// Σ x² of each [`SUM_CHUNK`] elements, in double precision.
pub fn sums_of_squares(x: &[f32]) -> Vec<f64> {
    if is_large(x.len()) {
        x.par_chunks(SUM_CHUNK).map(chunk_sum_of_squares).collect()
    } else {
        x.chunks(SUM_CHUNK).map(chunk_sum_of_squares).collect()
    }
}

vectorized! {
    fn chunk_sum_of_squares(x: &[f32]) -> f64 {
        let mut lanes = [0.0f64; 8];
        let (chunks, rest) = x.as_chunks::<8>();
        for chunk in chunks {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane += f64::from(x) * f64::from(x);
            }
        }
        for (lane, &x) in lanes.iter_mut().zip(rest) {
            *lane += f64::from(x) * f64::from(x);
        }
        lanes.iter().sum()
    }
}

/// The index of the first NaN or infinite element.
pub fn first_non_finite(x: &[f32]) -> Option<usize> {
    let search = |(chunk, x): (usize, &[f32])| {
        let bad = || x.iter().position(|x| !x.is_finite());
        has_non_finite(x).then(bad).flatten().map(|index| chunk * CHUNK + index)
    };
    if is_large(x.len()) {
        x.par_chunks(CHUNK).enumerate().find_map_first(search)
    } else {
        x.chunks(CHUNK).enumerate().find_map(search)
    }
}

vectorized! {
    fn has_non_finite(x: &[f32]) -> bool {
        // NaN and infinite numbers have all exponent bits set.
        x.iter().fold(0, |bad, x| bad | u32::from(x.to_bits() & 0x7F80_0000 == 0x7F80_0000)) != 0
    }
}

/// One step of an optimizer.
#[derive(Clone, Copy, Debug)]
pub enum OptimizerStep {
    Adam(AdamStep),
    Sgd(SgdStep),
}

impl OptimizerStep {
    /// Returns the same step for gradients that are multiplied by `factor` first.
    pub fn with_gradients_scaled(mut self, factor: f32) -> Self {
        match &mut self {
            Self::Adam(step) => step.grad_scale *= factor,
            Self::Sgd(step) => step.grad_scale *= factor,
        }
        self
    }

    /// Updates `param` and its state: the moments of [`adam`], or the velocity of [`sgd`], if there is one.
    ///
    /// # Panics
    /// If the lengths differ, or the optimizer has another number of state vectors.
    pub fn apply(self, param: &mut [f32], state: Vec<&mut [f32]>, grad: &[f32]) {
        let mut state = state.into_iter();
        let mut next = || state.next();
        match self {
            Self::Adam(step) => {
                let [mean, square] = [next(), next()].map(|moment| moment.expect("both moments"));
                adam(param, mean, square, grad, step);
            }
            Self::Sgd(step) => sgd(param, next(), grad, step),
        }
        assert!(state.next().is_none(), "a state vector that the optimizer does not have");
    }
}

/// One step of Adam (Kingma and Ba 2015), or of AdamW (Loshchilov and Hutter 2019) if `weight_decay` is set.
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    pub learning_rate: f32,
    /// Decay rate of the first moment.
    pub beta1: f32,
    /// Decay rate of the second moment.
    pub beta2: f32,
    /// ε, added to the root of the bias-corrected second moment.
    pub epsilon: f32,
    /// Decoupled weight decay: parameters shrink by `learning_rate * weight_decay`.
    pub weight_decay: f32,
    /// L2 penalty: this times the parameter is added to the gradient.
    pub l2: f32,
    /// Factor applied to the gradient first, for averaging and clipping.
    pub grad_scale: f32,
    /// Number of the update, starting at 1, for the bias correction.
    pub step: u64,
}

/// Updates `param` and the moments `mean` and `square` with PyTorch's formula: `m += (1 − β₁)(g − m)`,
/// `v = β₂v + (1 − β₂)g²`, `p −= lr/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + ε)`.
///
/// # Panics
/// If the lengths differ.
pub fn adam(param: &mut [f32], mean: &mut [f32], square: &mut [f32], grad: &[f32], step: AdamStep) {
    let n = param.len();
    assert_eq!(
        (mean.len(), square.len(), grad.len()),
        (n, n, n),
        "`mean`, `square` and `grad` must be as long as `param`"
    );
    let rates = AdamRates::new(step);
    if is_large(n) {
        (
            param.par_chunks_mut(CHUNK),
            mean.par_chunks_mut(CHUNK),
            square.par_chunks_mut(CHUNK),
            grad.par_chunks(CHUNK),
        )
            .into_par_iter()
            .for_each(|(param, mean, square, grad)| adam_chunk(param, mean, square, grad, rates));
    } else {
        adam_chunk(param, mean, square, grad, rates);
    }
}

/// The coefficients of the update loop, derived from [`AdamStep`] in double precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamRates {
    shrink: f32,
    l2: f32,
    grad_scale: f32,
    mean_rate: f32,
    square_keep: f32,
    square_rate: f32,
    correction: f32,
    epsilon: f32,
    step_size: f32,
}

impl AdamRates {
    pub(crate) fn new(step: AdamStep) -> Self {
        let power = |beta: f32| f64::from(beta).powf(step.step as f64);
        let learning_rate = f64::from(step.learning_rate);
        Self {
            shrink: (1.0 - learning_rate * f64::from(step.weight_decay)) as f32,
            l2: step.l2,
            grad_scale: step.grad_scale,
            mean_rate: (1.0 - f64::from(step.beta1)) as f32,
            square_keep: step.beta2,
            square_rate: (1.0 - f64::from(step.beta2)) as f32,
            correction: (1.0 - power(step.beta2)).sqrt() as f32,
            epsilon: step.epsilon,
            step_size: (learning_rate / (1.0 - power(step.beta1))) as f32,
        }
    }

    /// Whether an element without gradient whose moments are zero keeps its bits.
    pub(crate) fn keep_what_has_no_moments(&self) -> bool {
        let step = self.step_size / self.epsilon;
        self.shrink == 1.0 && self.l2 == 0.0 && self.correction > 0.0 && step.is_finite() && step >= 0.0
    }
}

vectorized! {
    pub(crate) fn adam_chunk(param: &mut [f32], mean: &mut [f32], square: &mut [f32], grad: &[f32], rates: AdamRates) {
        for (((p, m), v), &g) in param.iter_mut().zip(mean).zip(square).zip(grad) {
            let g = g * rates.grad_scale + rates.l2 * *p;
            *m += rates.mean_rate * (g - *m);
            *v = *v * rates.square_keep + rates.square_rate * g * g;
            let denominator = v.sqrt() / rates.correction + rates.epsilon;
            *p = *p * rates.shrink - rates.step_size * (*m / denominator);
        }
    }
}

/// One step of stochastic gradient descent.
#[derive(Clone, Copy, Debug)]
pub struct SgdStep {
    pub learning_rate: f32,
    /// Fraction of the velocity that is kept.
    pub momentum: f32,
    /// L2 penalty: this times the parameter is added to the gradient.
    pub l2: f32,
    /// Factor applied to the gradient first, for averaging and clipping.
    pub grad_scale: f32,
}

/// Updates `param`: `v = momentum · v + g`, `p −= lr · v`; without a `velocity`, `p −= lr · g`.
///
/// # Panics
/// If the lengths differ.
pub fn sgd(param: &mut [f32], velocity: Option<&mut [f32]>, grad: &[f32], step: SgdStep) {
    let n = param.len();
    assert_eq!(grad.len(), n, "`grad` must be as long as `param`");
    match velocity {
        Some(velocity) => {
            assert_eq!(velocity.len(), n, "`velocity` must be as long as `param`");
            if is_large(n) {
                (param.par_chunks_mut(CHUNK), velocity.par_chunks_mut(CHUNK), grad.par_chunks(CHUNK))
                    .into_par_iter()
                    .for_each(|(param, velocity, grad)| momentum_chunk(param, velocity, grad, step));
            } else {
                momentum_chunk(param, velocity, grad, step);
            }
        }
        None if is_large(n) => (param.par_chunks_mut(CHUNK), grad.par_chunks(CHUNK))
            .into_par_iter()
            .for_each(|(param, grad)| sgd_chunk(param, grad, step)),
        None => sgd_chunk(param, grad, step),
    }
}

vectorized! {
    fn momentum_chunk(param: &mut [f32], velocity: &mut [f32], grad: &[f32], step: SgdStep) {
        for ((p, v), &g) in param.iter_mut().zip(velocity).zip(grad) {
            *v = step.momentum * *v + (g * step.grad_scale + step.l2 * *p);
            *p -= step.learning_rate * *v;
        }
    }
}

vectorized! {
    fn sgd_chunk(param: &mut [f32], grad: &[f32], step: SgdStep) {
        for (p, &g) in param.iter_mut().zip(grad) {
            *p -= step.learning_rate * (g * step.grad_scale + step.l2 * *p);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::{assert_close, assert_same_on_all_pools, random, wide};

    const ADAM: AdamStep = AdamStep {
        learning_rate: 0.01,
        beta1: 0.9,
        beta2: 0.98,
        epsilon: 1e-9,
        weight_decay: 0.1,
        l2: 0.05,
        grad_scale: 0.5,
        step: 1,
    };

    #[test]
    fn sums_of_squares_match_on_any_number_of_threads() {
        for n in [0, 1, 7, 4096, 5000, 100_000] {
            let x = random(n, 1);
            let twin: f64 = wide(&x).iter().map(|x| x * x).sum();
            assert!(
                (sums_of_squares(&x).iter().sum::<f64>() - twin).abs() <= 1e-12 * (1.0 + twin),
                "{n} elements"
            );
        }
        let x = random(100_000, 1);
        let halves = |sum: f64| {
            vec![f32::from_bits((sum.to_bits() >> 32) as u32), f32::from_bits(sum.to_bits() as u32)]
        };
        assert_same_on_all_pools(|| sums_of_squares(&x).into_iter().flat_map(halves).collect());
    }

    #[test]
    fn the_first_non_finite_element_is_found() {
        for n in [1, 20, 100_000] {
            let mut x = random(n, 1);
            assert_eq!(first_non_finite(&x), None);
            x[n - 1] = f32::NEG_INFINITY;
            assert_eq!(first_non_finite(&x), Some(n - 1));
            x[n / 2] = f32::NAN;
            assert_eq!(first_non_finite(&x), Some(n / 2));
        }
        assert_eq!(first_non_finite(&[f32::MAX, f32::MIN_POSITIVE / 2.0, -0.0]), None);
    }

    #[test]
    fn ten_adam_steps_match_the_reference() {
        let n = 100;
        let (mut p, mut m, mut v) = (random(n, 1), vec![0.0; n], vec![0.0; n]);
        let mut twin: Vec<[f64; 3]> = p.iter().map(|&p| [f64::from(p), 0.0, 0.0]).collect();
        for step in 1..=10 {
            let grad = random(n, 10 + step as u32);
            let step = AdamStep { step, ..ADAM };
            adam(&mut p, &mut m, &mut v, &grad, step);
            for (twin, &grad) in twin.iter_mut().zip(&grad) {
                *twin = reference::adam(twin[0], twin[1], twin[2], f64::from(grad), step);
            }
        }
        let column = |i: usize| twin.iter().map(|twin| twin[i]).collect::<Vec<f64>>();
        assert_close(&p, &column(0), 1e-5, "parameters");
        assert_close(&m, &column(1), 1e-6, "means");
        assert_close(&v, &column(2), 1e-6, "squares");
    }

    #[test]
    fn sgd_matches_the_reference() {
        let step = SgdStep { learning_rate: 0.1, momentum: 0.9, l2: 0.01, grad_scale: 2.0 };
        let (start, grad, old) = (random(50, 1), random(50, 2), random(50, 3));
        let twins = |old: &[f32]| -> Vec<[f64; 2]> {
            let one = |((&p, &v), &g): ((&f32, &f32), &f32)| {
                reference::sgd(f64::from(p), f64::from(v), f64::from(g), step)
            };
            start.iter().zip(old).zip(&grad).map(one).collect()
        };
        let (mut p, mut v) = (start.clone(), old.clone());
        sgd(&mut p, Some(&mut v), &grad, step);
        let twin = twins(&old);
        assert_close(&p, &twin.iter().map(|t| t[0]).collect::<Vec<_>>(), 1e-6, "parameters");
        assert_close(&v, &twin.iter().map(|t| t[1]).collect::<Vec<_>>(), 1e-6, "velocities");
        p.copy_from_slice(&start);
        sgd(&mut p, None, &grad, step);
        let twin = twins(&[0.0; 50]);
        assert_close(&p, &twin.iter().map(|t| t[0]).collect::<Vec<_>>(), 1e-6, "without velocity");
    }

    #[test]
    fn the_thread_count_changes_nothing() {
        let n = 100_001;
        let (param, grad) = (random(n, 1), random(n, 2));
        assert_same_on_all_pools(|| {
            let (mut p, mut m, mut v) = (param.clone(), grad.clone(), vec![0.1; n]);
            adam(&mut p, &mut m, &mut v, &grad, ADAM);
            let step = SgdStep { learning_rate: 0.1, momentum: 0.9, l2: 0.0, grad_scale: 1.0 };
            sgd(&mut p, Some(&mut m), &grad, step);
            sgd(&mut p, None, &grad, step);
            [p, m, v].concat()
        });
    }
}
