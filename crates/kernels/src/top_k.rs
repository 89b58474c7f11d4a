//! The largest logits of a row and the logarithm of their sum of exponentials.

use std::cmp::Ordering;

use crate::simd::{exp_nonpositive, max_and_nan, max_of, sum_of};

/// Up to this count, insertion is faster than sorting.
const FEW: usize = 64;

/// The `count` largest values of `row` with their indices, largest first; ties go to the lower index. NaN, −∞
/// and `barred` indices are skipped, and +∞ counts as the largest finite number.
pub fn largest(row: &[f32], count: usize, barred: &[u32]) -> Vec<(f32, u32)> {
    if count <= FEW { insert_largest(row, count, barred) } else { sort_largest(row, count, barred) }
}

fn sort_largest(row: &[f32], count: usize, barred: &[u32]) -> Vec<(f32, u32)> {
    let all = row.iter().zip(0..).filter(|(x, index)| **x > f32::NEG_INFINITY && !barred.contains(index));
    let mut all: Vec<(f32, u32)> = all.map(|(&x, index)| (finite(x), index)).collect();
    let order = |(a, i): &(f32, u32), (b, j): &(f32, u32)| {
        let by_value = b.partial_cmp(a).unwrap_or(Ordering::Equal);
        by_value.then(i.cmp(j))
    };
    if count < all.len() {
        all.select_nth_unstable_by(count, order);
        all.truncate(count);
    }
    all.sort_unstable_by(order);
    all
}

fn insert_largest(row: &[f32], count: usize, barred: &[u32]) -> Vec<(f32, u32)> {
    let mut largest = TopK::new(count);
    largest.add(row, 0, barred);
    largest.into_sorted()
}

/// The largest values seen so far, with their indices, by the rules of [`largest`].
#[derive(Clone, Debug)]
pub struct TopK {
    count: usize,
    /// Largest first.
    best: Vec<(f32, u32)>,
    /// Values up to here are not among the largest.
    floor: f32,
}

impl TopK {
    /// No values yet, of which the `count` largest are kept.
    pub fn new(count: usize) -> Self {
        Self { count, best: Vec::with_capacity(count.min(FEW) + 1), floor: f32::NEG_INFINITY }
    }

    /// Adds `values`, of which the first has index `first`. Indices must be added in increasing order.
    pub fn add(&mut self, values: &[f32], first: u32, barred: &[u32]) {
        insert_all(self, values, first, barred);
    }

    /// [`TopK::add`] of values of which `sum` is the sum, which has found their maximum.
    pub fn add_summed(&mut self, values: &[f32], first: u32, barred: &[u32], sum: ExpSum) {
        if sum.max > self.floor {
            self.add(values, first, barred);
        }
    }

    /// Adds the values of `other`, which must have larger indices.
    pub fn append(&mut self, other: Self) {
        for (x, index) in other.best {
            if x > self.floor {
                self.insert(x, index);
            }
        }
    }

    /// The same values, whose indices i are replaced by `numbers[i]`.
    ///
    /// # Panics
    /// If `numbers` has no such element.
    pub fn renumbered(mut self, numbers: &[u32]) -> Self {
        let indices = self.best.iter_mut().map(|(_, index)| index);
        indices.for_each(|index| *index = numbers[*index as usize]);
        self
    }

    /// The values, largest first.
    pub fn into_sorted(self) -> Vec<(f32, u32)> {
        self.best
    }

    #[inline(always)]
    fn insert(&mut self, x: f32, index: u32) {
        let rank = self.best.partition_point(|&(other, _)| other >= x);
        self.best.insert(rank, (x, index));
        if self.best.len() > self.count {
            self.best.pop();
            self.floor = self.best.last().map_or(self.floor, |&(least, _)| least);
        }
    }
}

vectorized! {
    fn insert_all(largest: &mut TopK, values: &[f32], first: u32, barred: &[u32]) {
        // Nearly all chunks hold no value above the floor, which vector instructions can check.
        const CHUNK: usize = 64;
        for (chunk, first) in values.chunks(CHUNK).zip((first..).step_by(CHUNK)) {
            let floor = largest.floor;
            if !chunk.iter().fold(false, |any, &x| any | (x > floor)) {
                continue;
            }
            for (&x, index) in chunk.iter().zip(first..) {
                if x > largest.floor && !barred.contains(&index) {
                    largest.insert(finite(x), index);
                }
            }
        }
    }
}

/// Values whose exponentials are summed in `f32`.
pub const SUM_CHUNK: usize = 512;

/// Part of a sum of exponentials: Σ eˣ = `sum` · e^`max`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ExpSum {
    max: f32,
    sum: f32,
}

vectorized! {
    /// The sum over at most [`SUM_CHUNK`] values, with a relative error below 4e-7. NaN is left out, and +∞
    /// counts as the largest finite number.
    pub fn exp_sum(values: &[f32]) -> ExpSum {
        let (max, any_nan) = max_and_nan(values);
        if max == f32::INFINITY || any_nan {
            return exp_sum_of_odd(values);
        }
        if max == f32::NEG_INFINITY {
            return ExpSum { max, sum: 0.0 };
        }
        let sum = sum_of(values, |x| exp_roughly(x - max));
        ExpSum { max, sum }
    }
}

/// [`exp_sum`] of values with NaN or +∞.
#[cold]
fn exp_sum_of_odd(values: &[f32]) -> ExpSum {
    let max = finite(max_of(values));
    let sum = sum_of(values, |x| {
        let power = exp_nonpositive(finite(x) - max);
        if x.is_nan() { 0.0 } else { power }
    });
    ExpSum { max, sum }
}

/// 2^f for |f| ≤ ½, from the constant term up, fitted for the smallest relative error (Remez): 7.5e-8 before
/// rounding.
const POWER_COEFFICIENTS: [f32; 6] =
    [1.000_000_1, 0.693_146_94, 0.240_221_2, 0.055_507_13, 0.009_675_541, 0.001_327_647_1];

vectorized! {
    /// Adds e^(x − `total`) for each x of `row` to `sums`. No x exceeds `total`, but for +∞, which counts as
    /// the largest finite number. The relative error is below 1e-5 where a term is at least 1e-37; smaller
    /// ones and NaN add at most 2e-38.
    pub fn add_exponentials(row: &[f32], total: f64, sums: &mut [f32]) {
        // Twice as precise as one number.
        let high = total as f32;
        let low = (total - f64::from(high)) as f32;
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += exp_roughly((finite(*x) - high) - low);
        }
    }
}

/// eˣ for x ≤ 0 with an absolute error below 2.5e-7; at most 2e-38 instead of 0.
#[inline(always)]
fn exp_roughly(x: f32) -> f32 {
    /// Adding this rounds a small number to the nearest integer, which ends up in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LEAST: f32 = -126.0;
    let t = x * std::f32::consts::LOG2_E;
    let t = if t > LEAST { t } else { LEAST };
    let rounded = t + ROUND;
    let f = t - (rounded - ROUND);
    let [c0, c1, c2, c3, c4, c5] = POWER_COEFFICIENTS;
    let power = ((((c5 * f + c4) * f + c3) * f + c2) * f + c1) * f + c0;
    f32::from_bits(power.to_bits().wrapping_add(rounded.to_bits() << 23))
}

/// The logarithm of the sum of all `parts`; −∞ if it is 0.
pub fn log_of_sums(parts: &[ExpSum]) -> f64 {
    let max = parts.iter().map(|part| part.max).fold(f32::NEG_INFINITY, f32::max);
    if max == f32::NEG_INFINITY {
        return f64::NEG_INFINITY;
    }
    let max = f64::from(max);
    let term = |part: &ExpSum| f64::from(part.sum) * (f64::from(part.max) - max).exp();
    max + parts.iter().map(term).sum::<f64>().ln()
}

/// ln Σ eˣ over `row`, as [`exp_sum`] treats special values; −∞ if the sum is 0.
pub fn log_sum_exp(row: &[f32]) -> f64 {
    let parts: Vec<ExpSum> = row.chunks(SUM_CHUNK).map(exp_sum).collect();
    log_of_sums(&parts)
}

/// `x` without +∞, which would turn differences into NaN.
#[inline(always)]
fn finite(x: f32) -> f32 {
    if x == f32::INFINITY { f32::MAX } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random;

    #[test]
    fn sorting_and_insertion_agree() {
        let mut row: Vec<f32> = (0..500).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
        row[7] = f32::NAN;
        row[8] = f32::NEG_INFINITY;
        row[9] = f32::INFINITY;
        for count in [1, 60, 500] {
            let sorted = sort_largest(&row, count, &[0, 77]);
            assert_eq!(sorted, insert_largest(&row, count, &[0, 77]));
        }
    }

    #[test]
    fn the_sum_equals_that_in_double_precision() {
        for len in [1, 15, 16, 1000, 32_000] {
            let row: Vec<f32> = random(len, 3).into_iter().map(|x| 30.0 * x).collect();
            let exact = row.iter().map(|&x| f64::from(x).exp()).sum::<f64>().ln();
            let found = log_sum_exp(&row);
            assert!((found - exact).abs() < 1e-6, "{len}: {found}, not {exact}");
        }
    }

    #[test]
    fn summed_parts_give_the_same_as_the_whole() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        for odd in [0.5, nan, inf, -inf, f32::MAX] {
            let mut row: Vec<f32> = (0..900).map(|i| ((i * 37) % 101) as f32).collect();
            (row[3], row[700], row[701]) = (odd, odd, odd);
            let mut all = TopK::new(3);
            for (number, part) in row.chunks(64).enumerate() {
                all.add_summed(part, 64 * number as u32, &[5], exp_sum(part));
            }
            assert_eq!(all.into_sorted(), largest(&row, 3, &[5]), "{odd}");
        }
    }

    #[test]
    fn parts_give_the_same_as_the_whole() {
        let row: Vec<f32> = (0..500).map(|i| ((i * 37) % 101) as f32).collect();
        let mut all = TopK::new(7);
        for (number, part) in row.chunks(130).enumerate() {
            let mut largest = TopK::new(7);
            largest.add(part, 130 * number as u32, &[3]);
            all.append(largest);
        }
        assert_eq!(all.into_sorted(), largest(&row, 7, &[3]));
    }

    #[test]
    fn the_rough_exponential_is_accurate_enough() {
        for i in 0..=300_000 {
            let x = -(i as f32) * 1e-4;
            let error = f64::from(exp_roughly(x)) - f64::from(x).exp();
            assert!(error.abs() < 2.5e-7, "exp({x}) is off by {error}");
        }
        assert!(exp_roughly(f32::NEG_INFINITY) < 2e-38 && exp_roughly(-1e30) < 2e-38);
    }

    #[test]
    fn exponentials_are_added_to_sums() {
        let row: Vec<f32> = random(1000, 3).into_iter().map(|x| 40.0 * x).collect();
        let total = log_sum_exp(&row);
        let mut sums = vec![0.0; row.len()];
        add_exponentials(&row, total, &mut sums);
        add_exponentials(&row, total, &mut sums);
        for (sum, x) in sums.iter().zip(&row) {
            let exact = 2.0 * (f64::from(*x) - total).exp();
            let error = (f64::from(*sum) - exact).abs();
            assert!(error <= 1e-5 * exact + 4e-38, "{sum} is not {exact}");
        }
        let mut sums = [0.0; 2];
        add_exponentials(&[f32::NAN, f32::NEG_INFINITY], 1.0, &mut sums);
        assert!(sums.iter().all(|sum| *sum < 2e-38), "{sums:?}");
    }

    #[test]
    fn special_values_are_handled() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        assert!((log_sum_exp(&[nan, 0.0, -inf, 0.0]) - 2f64.ln()).abs() < 1e-7);
        assert_eq!(log_sum_exp(&[0.0, inf, nan]), f64::from(f32::MAX));
        assert_eq!(log_sum_exp(&[-inf; 600]), -f64::INFINITY);
        assert_eq!(largest(&[nan, -inf], 2, &[]), []);
    }
}
