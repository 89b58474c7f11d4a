//! The largest logits of a row and the logarithm of their sum of exponentials.

use std::cmp::Ordering;

use crate::simd::{exp_nonpositive, sum_of};

/// The `count` largest values of `row` with their indices, largest first; ties go to the lower index. NaN, −∞ and `barred`
/// indices are skipped, and +∞ counts as the largest finite number.
pub fn largest(row: &[f32], count: usize, barred: &[u32]) -> Vec<(f32, u32)> {
    /// Up to this count, insertion is faster than sorting.
    const FEW: usize = 64;
    if count <= FEW {
        insert_largest(row, count, barred)
    } else {
        sort_largest(row, count, barred)
    }
}

fn sort_largest(row: &[f32], count: usize, barred: &[u32]) -> Vec<(f32, u32)> {
    let all = row
        .iter()
        .zip(0..)
        .filter(|(x, index)| **x > f32::NEG_INFINITY && !barred.contains(index));
    let mut all: Vec<(f32, u32)> = all.map(|(&x, index)| (finite(x), index)).collect();
    all.sort_by(|(a, _), (b, _)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
    all.truncate(count);
    all
}

vectorised! {
    fn insert_largest(row: &[f32], count: usize, barred: &[u32]) -> Vec<(f32, u32)> {
        // Nearly all chunks hold no value above the floor, which vector instructions can check.
        const CHUNK: usize = 64;
        let mut best: Vec<(f32, u32)> = Vec::with_capacity(count + 1);
        let mut floor = f32::NEG_INFINITY;
        for (chunk, first) in row.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
            if !chunk.iter().fold(false, |any, &x| any | (x > floor)) {
                continue;
            }
            for (&x, index) in chunk.iter().zip(first..) {
                if x > floor && !barred.contains(&index) {
                    let x = finite(x);
                    let place = best.partition_point(|&(other, _)| other >= x);
                    best.insert(place, (x, index));
                    if best.len() > count {
                        best.pop();
                        floor = best.last().map_or(floor, |&(smallest, _)| smallest);
                    }
                }
            }
        }
        best
    }
}

vectorised! {
    /// ln Σ eˣ over `row`, given its largest value `max`. NaN is left out, and +∞ counts as the largest finite number.
    pub fn log_sum_exp(row: &[f32], max: f32) -> f64 {
        let max = finite(max);
        let total = sum_of(row, |x| {
            let power = exp_nonpositive(finite(x) - max);
            if x.is_nan() { 0.0 } else { power }
        });
        f64::from(max) + f64::from(total).ln()
    }
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
            let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let exact = row.iter().map(|&x| f64::from(x).exp()).sum::<f64>().ln();
            let found = log_sum_exp(&row, max);
            assert!((found - exact).abs() < 1e-6, "{len}: {found}, not {exact}");
        }
    }

    #[test]
    fn special_values_are_handled() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        assert!((log_sum_exp(&[nan, 0.0, -inf, 0.0], 0.0) - 2f64.ln()).abs() < 1e-7);
        assert_eq!(log_sum_exp(&[0.0, inf, nan], inf), f64::from(f32::MAX));
        assert_eq!(largest(&[nan, -inf], 2, &[]), []);
    }
}
