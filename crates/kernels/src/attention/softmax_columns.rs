//! Operations between the two matrix products of attention, for many queries at once: the softmax of
//! [`mod@crate::attention`], and its gradient.
//!
//! Scores, weights and their gradients are matrices `[keys, width]` with one query per column; the width is a
//! multiple of [`LANES`]. Each step handles one key of 16 queries, so nothing is summed within a vector. The
//! sums have the order of those in [`super::softmax_row`], and the same bits, which the tests of
//! [`crate::cached_attention`] compare. Columns after the last query have unspecified values.

use std::ops::Range;

use super::Visible;
use super::mask::{DropoutSites, Mask};
use crate::simd::{LANES, exp_nonpositive, larger, sum_of_lines};

/// One number for each of 16 queries.
pub(super) type QueryLanes = [f32; LANES];

/// The queries that have a column in a matrix.
#[derive(Clone, Copy)]
pub(super) struct QueryColumns {
    /// Number of the first query within the head.
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) visible: Visible,
}

impl QueryColumns {
    /// The numbers of the strips of 16 queries.
    #[inline(always)]
    fn strips(self) -> Range<usize> {
        0..self.count.div_ceil(LANES)
    }

    /// The number of keys that each query of a strip sees.
    #[inline(always)]
    fn seen(self, strip: usize) -> [i32; LANES] {
        let mut seen = [0; LANES];
        for (lane, seen) in seen.iter_mut().enumerate() {
            *seen = self.visible.to(self.first + strip * LANES + lane) as i32;
        }
        seen
    }
}

vectorized! {
    /// Turns scores into attention weights in place: the softmax, over the keys visible to each query, of
    /// `scale` times the score, plus `bias` `[keys, width]` if given, and dropout. The weights of other keys
    /// become 0, and so do all those of a query without visible keys.
    pub(super) fn softmax(
        scores: &mut [f32],
        width: usize,
        queries: QueryColumns,
        scale: f32,
        bias: Option<&[f32]>,
        dropout: Option<DropoutSites>,
    ) {
        let (scores, across) = (scores.as_chunks_mut::<LANES>().0, width / LANES);
        let mut mask = dropout.map(Mask::new);
        for strip in queries.strips() {
            let seen = queries.seen(strip);
            // The keys that one of these queries sees.
            let end = seen[LANES - 1] as usize;
            let mut max = [f32::NEG_INFINITY; LANES];
            for (key, row) in scores.chunks_exact_mut(across).enumerate().take(end) {
                let bias = bias.map(|bias| &bias.as_chunks().0[key * across + strip]);
                scale_and_hide(&mut row[strip], bias, key as i32, &seen, scale, &mut max);
            }
            for max in &mut max {
                // A query without visible keys gets e^(−∞ − 0) = 0.
                *max = if *max == f32::NEG_INFINITY { 0.0 } else { *max };
            }
            let mut sums = [[0.0; LANES]; LANES];
            for (key, row) in scores.chunks_exact_mut(across).enumerate().take(end) {
                exponentials(&mut row[strip], &max, &mut sums[key % LANES]);
            }
            let mut inverse = sum_of_lines(&sums);
            for sum in &mut inverse {
                *sum = if *sum == 0.0 { 0.0 } else { 1.0 / *sum };
            }
            if let Some(mask) = &mut mask {
                mask.draw(strip * LANES, queries.count - strip * LANES, end);
            }
            for (key, row) in scores.chunks_exact_mut(across).enumerate().take(end) {
                multiply(&mut row[strip], &inverse);
                if let Some(mask) = &mask {
                    multiply(&mut row[strip], &mask.factors(key));
                }
            }
            for row in scores.chunks_exact_mut(across).skip(end) {
                row[strip] = [0.0; LANES];
            }
        }
    }
}

/// `x` = `x` ⊙ `factors`
#[inline(always)]
fn multiply(x: &mut QueryLanes, factors: &QueryLanes) {
    for (x, factor) in x.iter_mut().zip(factors) {
        *x *= factor;
    }
}

/// Scales the scores of one key, adds the bias, hides them from the queries that do not see the key, and
/// updates the largest.
#[inline(always)]
fn scale_and_hide(
    scores: &mut QueryLanes,
    bias: Option<&QueryLanes>,
    key: i32,
    seen: &[i32; LANES],
    scale: f32,
    max: &mut QueryLanes,
) {
    for score in &mut *scores {
        *score *= scale;
    }
    if let Some(bias) = bias {
        for (score, bias) in scores.iter_mut().zip(bias) {
            *score += bias;
        }
    }
    for ((score, max), &seen) in scores.iter_mut().zip(max).zip(seen) {
        *score = if key < seen { *score } else { f32::NEG_INFINITY };
        *max = larger(*max, *score);
    }
}

/// Replaces the scores x of one key by e^(x − `max`), and adds them to `sums`.
#[inline(always)]
fn exponentials(scores: &mut QueryLanes, max: &QueryLanes, sums: &mut QueryLanes) {
    for ((score, max), sum) in scores.iter_mut().zip(max).zip(sums) {
        *score = exp_nonpositive(*score - max);
        *sum += *score;
    }
}

vectorized! {
    /// `x` = `factor` · `x`
    pub(super) fn scale(x: &mut [f32], factor: f32) {
        for x in x {
            *x *= factor;
        }
    }
}

vectorized! {
    /// `sums` += `terms`
    pub(super) fn add(sums: &mut [f32], terms: &[f32]) {
        for (sum, &term) in sums.iter_mut().zip(terms) {
            *sum += term;
        }
    }
}

vectorized! {
    /// Turns `grad`, the gradient of the weights, into the gradient of the unscaled scores. With `dropout`,
    /// `grad` is the gradient of the weights after dropout, and `weights` are the weights before dropout;
    /// they are replaced by the weights after dropout.
    pub(super) fn softmax_backward(
        weights: &mut [f32],
        grad: &mut [f32],
        width: usize,
        queries: QueryColumns,
        scale: f32,
        dropout: Option<DropoutSites>,
    ) {
        let (weights, across) = (weights.as_chunks_mut::<LANES>().0, width / LANES);
        let grad = grad.as_chunks_mut::<LANES>().0;
        let mut mask = dropout.map(Mask::new);
        for strip in queries.strips() {
            let end = queries.seen(strip)[LANES - 1] as usize;
            if let Some(mask) = &mut mask {
                mask.draw(strip * LANES, queries.count - strip * LANES, end);
            }
            let mut sums = [[0.0; LANES]; LANES];
            let rows = weights.chunks_exact(across).zip(grad.chunks_exact_mut(across));
            for (key, (weights, grad)) in rows.enumerate().take(end) {
                if let Some(mask) = &mask {
                    multiply(&mut grad[strip], &mask.factors(key));
                }
                let terms = weights[strip].iter().zip(&grad[strip]);
                for (sum, (weight, grad)) in sums[key % LANES].iter_mut().zip(terms) {
                    *sum += weight * grad;
                }
            }
            let mean = sum_of_lines(&sums);
            let rows = weights.chunks_exact_mut(across).zip(grad.chunks_exact_mut(across));
            for (key, (weights, grad)) in rows.enumerate().take(end) {
                let terms = weights[strip].iter().zip(&mean);
                for (grad, (weight, mean)) in grad[strip].iter_mut().zip(terms) {
                    *grad = weight * (*grad - mean) * scale;
                }
                if let Some(mask) = &mask {
                    multiply(&mut weights[strip], &mask.factors(key));
                }
            }
            for row in grad.chunks_exact_mut(across).skip(end) {
                row[strip] = [0.0; LANES];
            }
        }
    }
}
