//! The loss of one row of logits, and its gradient.

use crate::simd::{exp_and_sum, max_of, sum_of, sum_of_two};

/// The contribution of one row to [`LossSums`].
pub(super) struct RowLoss {
    pub(super) smoothed: f64,
    pub(super) nll: f64,
    pub(super) correct: bool,
}

/// The logits of a position in both passes, and scratch.
pub(super) type TwinLogits<'a> = (&'a mut [f32], (&'a mut [f32], &'a mut [f32]));

/// What the loss of a row is computed from, once the logits are replaced by their exponentials.
struct RowSums {
    loss: RowLoss,
    /// The reciprocal of the sum of the exponentials.
    inverse: f32,
}

/// Replaces `logits` by their exponentials, less the largest.
#[inline(always)]
fn row_sums(logits: &mut [f32], target: usize, smoothing: f32) -> RowSums {
    let max = max_of(logits);
    let correct = logits[target] == max && max_of(&logits[..target]) < max;
    let share = smoothing / logits.len() as f32;
    let at_target = logits[target] - max;
    let total = if smoothing == 0.0 { 0.0 } else { sum_of(logits, |logit| logit - max) };
    let sum = exp_and_sum(logits, max);
    let log_sum = f64::from(sum).ln();
    let (keep, share) = (1.0 - f64::from(smoothing), f64::from(share));
    let loss = RowLoss {
        smoothed: log_sum - keep * f64::from(at_target) - share * f64::from(total),
        nll: log_sum - f64::from(at_target),
        correct,
    };
    RowSums { loss, inverse: 1.0 / sum }
}

vectorized! {
    /// The loss of one row of `logits`, which, if `differentiate`, are replaced by their gradient.
    pub(super) fn row_loss(
        logits: &mut [f32],
        target: usize,
        smoothing: f32,
        differentiate: bool,
    ) -> RowLoss {
        let RowSums { loss, inverse } = row_sums(logits, target, smoothing);
        if differentiate {
            let share = smoothing / logits.len() as f32;
            for logit in logits.iter_mut() {
                *logit = *logit * inverse - share;
            }
            logits[target] -= 1.0 - smoothing;
        }
        loss
    }
}

vectorized! {
    /// The loss of a position in two passes. If `differentiate`, the logits are replaced by their gradients.
    ///
    /// With probabilities p and q and d = log p − log q, which differs from the difference of the logits by a
    /// constant, the divergence ½ (KL(p‖q) + KL(q‖p)) is ½ (Σ p·d − Σ q·d), in which the constant cancels.
    /// Its gradient for the first logits is ½ (p·(1 + d − Σ p·d) − q).
    pub(super) fn twin_loss(
        first: &mut [f32],
        second: &mut [f32],
        differences: &mut [f32],
        target: usize,
        smoothing: f32,
        strength: f32,
        differentiate: bool,
    ) -> RowLoss {
        for ((difference, a), b) in differences.iter_mut().zip(&*first).zip(&*second) {
            *difference = a - b;
        }
        let [p, q] = [&mut *first, &mut *second].map(|logits| row_sums(logits, target, smoothing));
        let mean_under = |exponentials: &[f32], inverse: f32| {
            inverse * sum_of_two(exponentials, differences, |exponential, difference| exponential * difference)
        };
        let (mean_p, mean_q) = (mean_under(first, p.inverse), mean_under(second, q.inverse));
        let divergence = 0.5 * (f64::from(mean_p) - f64::from(mean_q));
        if differentiate {
            let (share, half) = (0.5 * smoothing / first.len() as f32, 0.5 * strength);
            for ((a, b), difference) in first.iter_mut().zip(second.iter_mut()).zip(&*differences) {
                let (p, q) = (*a * p.inverse, *b * q.inverse);
                *a = p * (0.5 + half * (1.0 + difference - mean_p)) - half * q - share;
                *b = q * (0.5 + half * (1.0 - difference + mean_q)) - half * p - share;
            }
            for gradient in [first, second] {
                gradient[target] -= 0.5 * (1.0 - smoothing);
            }
        }
        let mean = |p: f64, q: f64| 0.5 * (p + q);
        RowLoss {
            smoothed: mean(p.loss.smoothed, q.loss.smoothed) + f64::from(strength) * divergence,
            nll: mean(p.loss.nll, q.loss.nll),
            correct: p.loss.correct,
        }
    }
}
