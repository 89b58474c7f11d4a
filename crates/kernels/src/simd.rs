//! Building blocks of the vectorized loops: compilation for AVX-512 and AVX2, reductions in a fixed order, a
//! fast exponential and related functions.

use std::hint::black_box;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::instruction_set::InstructionSet;
#[cfg(target_arch = "x86_64")]
use crate::instruction_set::for_loops;
#[cfg(target_arch = "aarch64")]
use crate::instruction_set::is_allowed;

/// Whether AVX2 and FMA are available.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn has_avx2_fma() -> bool {
    for_loops() >= InstructionSet::Avx2
}

/// Whether the parts of AVX-512 that all CPUs with more than its foundation have are available, besides AVX2
/// and FMA.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn has_avx512() -> bool {
    for_loops() >= InstructionSet::Avx512
}

/// Whether the kernels for Neon may be used; every 64-bit ARM CPU has it.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn has_neon() -> bool {
    is_allowed(InstructionSet::Neon)
}

/// Whether multiply-add is one instruction in code for the baseline of the target.
pub(crate) const BASELINE_IS_FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

/// Defines a function whose body is compiled three times on x86-64, for AVX-512, AVX2 and the baseline, and
/// dispatched at run time. The baseline of 64-bit ARM has Neon.
///
/// The compiler does not contract multiplications and additions, so all versions give the same bits.
macro_rules! vectorized {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn body($($argument: $type),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                fn widest($($argument: $type),*) $(-> $result)? {
                    body($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn wide($($argument: $type),*) $(-> $result)? {
                    body($($argument),*)
                }
                if crate::simd::has_avx512() {
                    // SAFETY: the CPU supports all of these features.
                    return unsafe { widest($($argument),*) };
                }
                if crate::simd::has_avx2_fma() {
                    // SAFETY: the CPU supports both features.
                    return unsafe { wide($($argument),*) };
                }
            }
            body($($argument),*)
        }
    };
}

/// Partial sums per reduction: element `i` goes to lane `i % LANES`, so trailing zeros change nothing.
pub(crate) const LANES: usize = 16;

// The compiler keeps the lanes of these loops in registers only if it can see that all of them are always
// used. Hence the last, incomplete chunk is filled up before it is combined with the lanes, and the lanes are
// combined without a loop over widths. Functions of arrays, such as `map`, are no alternative: they are
// compiled without the wider instructions.

/// Combines the lanes in a fixed order.
///
/// They pass through memory. Otherwise the compiler sees that they are combined in pairs, and divides the
/// loop that computes them into vectors of two numbers.
#[inline(always)]
fn combine(lanes: [f32; LANES], with: impl Fn(f32, f32) -> f32) -> f32 {
    /// In one cache line.
    #[repr(align(64))]
    struct Line([f32; LANES]);

    let Line(lanes) = black_box(Line(lanes));
    let (mut eight, mut four) = ([0.0; 8], [0.0; 4]);
    for (lane, x) in eight.iter_mut().enumerate() {
        *x = with(lanes[lane], lanes[lane + 8]);
    }
    for (lane, x) in four.iter_mut().enumerate() {
        *x = with(eight[lane], eight[lane + 4]);
    }
    with(with(four[0], four[2]), with(four[1], four[3]))
}

/// Adds `terms` to the lanes. A missing term is 0, which changes no lane, since sums start from +0.
#[inline(always)]
fn add_all(lanes: &mut [f32; LANES], terms: [f32; LANES]) {
    for (lane, term) in lanes.iter_mut().zip(terms) {
        *lane += term;
    }
}

/// Σ `term(x[i])`.
#[inline(always)]
pub(crate) fn sum_of(x: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += term(x);
        }
    }
    let mut last = [0.0; LANES];
    for (last, &x) in last.iter_mut().zip(rest) {
        *last = term(x);
    }
    add_all(&mut lanes, last);
    combine(lanes, |a, b| a + b)
}

/// Σ `term(x[i], y[i])` over the shorter of the two.
#[inline(always)]
pub(crate) fn sum_of_two(x: &[f32], y: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let len = x.len().min(y.len());
    let mut lanes = [0.0; LANES];
    let (x_chunks, x_rest) = x[..len].as_chunks::<LANES>();
    let (y_chunks, y_rest) = y[..len].as_chunks::<LANES>();
    for (x, y) in x_chunks.iter().zip(y_chunks) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(x).zip(y) {
            *lane += term(x, y);
        }
    }
    let mut last = [0.0; LANES];
    for ((last, &x), &y) in last.iter_mut().zip(x_rest).zip(y_rest) {
        *last = term(x, y);
    }
    add_all(&mut lanes, last);
    combine(lanes, |a, b| a + b)
}

/// The sum of each lane over 16 lines, line i being the partial sum of the elements i, i + 16, …: in the
/// order of [`sum_of`].
#[inline(always)]
pub(crate) fn sum_of_lines(lines: &[[f32; LANES]; LANES]) -> [f32; LANES] {
    let mut sums = *lines;
    for half in [8, 4, 2, 1] {
        let (low, high) = sums.split_at_mut(half);
        for (low, high) in low.iter_mut().zip(high) {
            add_all(low, *high);
        }
    }
    sums[0]
}

/// The larger number; `a` if `b` is NaN.
#[inline(always)]
pub(crate) fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// The largest element, or −∞ if there is none. NaN is ignored.
#[inline(always)]
pub(crate) fn max_of(x: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, x);
        }
    }
    let mut last = [f32::NEG_INFINITY; LANES];
    last[..rest.len()].copy_from_slice(rest);
    for (lane, x) in lanes.iter_mut().zip(last) {
        *lane = larger(*lane, x);
    }
    combine(lanes, larger)
}

/// [`max_of`] `x`, and whether there is NaN in it.
#[inline(always)]
pub(crate) fn max_and_nan(x: &[f32]) -> (f32, bool) {
    let (mut lanes, mut nan) = ([f32::NEG_INFINITY; LANES], [0; LANES]);
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for ((lane, nan), &x) in lanes.iter_mut().zip(&mut nan).zip(chunk) {
            *lane = larger(*lane, x);
            *nan |= u32::from(x.is_nan());
        }
    }
    let any_nan = nan.iter().fold(0, |any, nan| any | nan) != 0;
    let rest_max = max_of(rest);
    let rest_nan = rest.iter().fold(false, |any, x| any | x.is_nan());
    (larger(combine(lanes, larger), rest_max), any_nan | rest_nan)
}

/// Multiplies the first `visible` numbers by `scale`, sets the others to −∞, and returns the largest. NaN is
/// ignored.
#[inline(always)]
pub(crate) fn scale_and_hide(x: &mut [[f32; LANES]], visible: usize, scale: f32) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let mut left = i32::try_from(visible).unwrap_or(i32::MAX);
    for chunk in x {
        for ((largest, x), number) in lanes.iter_mut().zip(chunk).zip(NUMBERS) {
            let scaled = *x * scale;
            *x = if number < left { scaled } else { f32::NEG_INFINITY };
            *largest = larger(*largest, *x);
        }
        left = left.saturating_sub(LANES as i32);
    }
    combine(lanes, larger)
}

/// The numbers of the lanes; with 32 bits, so that they are compared in as many lanes.
const NUMBERS: [i32; LANES] = {
    let mut numbers = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        numbers[lane] = lane as i32;
        lane += 1;
    }
    numbers
};

/// Below this, eˣ is subnormal.
const EXP_UNDERFLOW: f32 = -87.336_54;
/// Adding this rounds a small number to the nearest integer, which ends up in the low bits.
const ROUND: f32 = 12_582_912.0;
/// ln 2 = `LN_2_HIGH` + `LN_2_LOW`; the former has so few bits that its multiples are exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// Coefficients of eʳ − 1 on |r| ≤ ½ ln 2 from the linear term up, fitted for the smallest relative error of
/// eʳ (Remez): 2e-9 before rounding.
const EXP_COEFFICIENTS: [f32; 6] =
    [1.0, 0.499_999_9, 0.166_664_2, 0.041_668_23, 0.008_374_832, 0.001_383_682_5];

/// (q, 2ⁿ) such that eˣ = (1 + q) 2ⁿ, for `EXP_UNDERFLOW` ≤ x ≤ 0. For x > −½ ln 2, n is 0 and q = eˣ − 1 is
/// accurate even for tiny x.
#[inline(always)]
fn exp_parts(x: f32) -> (f32, f32) {
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let [c1, c2, c3, c4, c5, c6] = EXP_COEFFICIENTS;
    let q = ((((((c6 * r) + c5) * r + c4) * r + c3) * r + c2) * r + c1) * r;
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    (q, power)
}

/// The maximum of x and `EXP_UNDERFLOW`; NaN for NaN.
#[inline(always)]
fn clamped(x: f32) -> f32 {
    if x < EXP_UNDERFLOW { EXP_UNDERFLOW } else { x }
}

/// eˣ for x ≤ 0 with a relative error below 2e-7; exactly 0 below −87.34 and at −∞, and NaN for NaN.
#[inline(always)]
pub(crate) fn exp_nonpositive(x: f32) -> f32 {
    let (q, power) = exp_parts(clamped(x));
    if x < EXP_UNDERFLOW { 0.0 } else { (q + 1.0) * power }
}

/// 1/(1 + e⁻ˣ) with a relative error below 3e-7; exactly 0 below −87.34, and NaN for NaN.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    let exp = exp_nonpositive(-x.abs());
    let above = if x < 0.0 { exp } else { 1.0 };
    above / (1.0 + exp)
}

/// tanh x with a relative error below 3e-7, including near 0; NaN for NaN.
///
/// Computed as tanh |x| = −t/(2 + t), where t = e^(−2|x|) − 1 is evaluated as (q + 1) 2ⁿ − 1 without
/// cancellation.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let (q, power) = exp_parts(clamped(-2.0 * x.abs()));
    let t = q * power + (power - 1.0);
    (-t / (2.0 + t)).copysign(x)
}

/// Replaces each x ≤ `max` by e^(x − `max`) and returns the sum.
#[inline(always)]
pub(crate) fn exp_and_sum(x: &mut [f32], max: f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = x.as_chunks_mut::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *x = exp_nonpositive(*x - max);
            *lane += *x;
        }
    }
    let mut last = [0.0; LANES];
    for (last, x) in last.iter_mut().zip(rest) {
        *x = exp_nonpositive(*x - max);
        *last = *x;
    }
    add_all(&mut lanes, last);
    combine(lanes, |a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    vectorized! {
        fn exp_all(x: &[f32], out: &mut [f32]) {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = exp_nonpositive(x);
            }
        }
    }

    #[test]
    fn the_exponential_is_accurate() {
        let x: Vec<f32> = (0..=500_000).map(|i| i as f32 * (EXP_UNDERFLOW / 500_000.0)).collect();
        let mut found = vec![0.0; x.len()];
        exp_all(&x, &mut found);
        for (&x, &found) in x.iter().zip(&found) {
            let exact = f64::from(x).exp();
            let error = (f64::from(found) / exact - 1.0).abs();
            assert!(error < 2e-7, "exp({x}) = {found}, off by {error}");
        }
    }

    #[test]
    fn the_exponential_is_right_at_the_edges() {
        assert_eq!(exp_nonpositive(0.0), 1.0);
        assert_eq!(exp_nonpositive(-0.0), 1.0);
        assert_eq!(exp_nonpositive(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(exp_nonpositive(-100.0).to_bits(), 0);
        assert_eq!(exp_nonpositive(f32::MIN).to_bits(), 0);
        assert!(exp_nonpositive(f32::NAN).is_nan());
    }

    vectorized! {
        fn sigmoid_and_tanh_all(x: &[f32], sigmoids: &mut [f32], tanhs: &mut [f32]) {
            for (out, &x) in sigmoids.iter_mut().zip(x) {
                *out = sigmoid(x);
            }
            for (out, &x) in tanhs.iter_mut().zip(x) {
                *out = tanh(x);
            }
        }
    }

    #[test]
    fn sigmoid_and_tanh_are_accurate_and_need_no_avx2() {
        let grid = (-400_000..=400_000).map(|i| i as f32 * (87.3 / 400_000.0));
        let near_zero = (0..2000).map(|i| 1.05f32.powi(-i) * if i % 2 == 0 { 1.0 } else { -1.0 });
        let x: Vec<f32> = grid.chain(near_zero).collect();
        let [mut sigmoids, mut tanhs] = [0; 2].map(|_| vec![0.0; x.len()]);
        sigmoid_and_tanh_all(&x, &mut sigmoids, &mut tanhs);
        let (mut worst_sigmoid, mut worst_tanh) = (0.0f64, 0.0f64);
        for ((&x, &sigmoid), &tanh) in x.iter().zip(&sigmoids).zip(&tanhs) {
            let exact = 1.0 / (1.0 + (-f64::from(x)).exp());
            worst_sigmoid = worst_sigmoid.max((f64::from(sigmoid) / exact - 1.0).abs());
            if x.is_normal() {
                let exact = f64::from(x).tanh();
                worst_tanh = worst_tanh.max((f64::from(tanh) / exact - 1.0).abs());
            }
            // These calls are compiled for the baseline.
            assert_eq!(sigmoid.to_bits(), super::sigmoid(x).to_bits(), "{x}");
            assert_eq!(tanh.to_bits(), super::tanh(x).to_bits(), "{x}");
        }
        assert!(worst_sigmoid < 3e-7, "sigmoid is off by {worst_sigmoid}");
        assert!(worst_tanh < 3e-7, "tanh is off by {worst_tanh}");
    }

    #[test]
    fn sigmoid_and_tanh_are_right_at_the_edges() {
        assert_eq!([sigmoid(0.0), sigmoid(-0.0)], [0.5, 0.5]);
        assert_eq!([sigmoid(f32::INFINITY), sigmoid(f32::NEG_INFINITY)], [1.0, 0.0]);
        assert_eq!([sigmoid(f32::MAX), sigmoid(f32::MIN)], [1.0, 0.0]);
        assert_eq!(tanh(0.0).to_bits(), 0.0f32.to_bits());
        assert_eq!(tanh(-0.0).to_bits(), (-0.0f32).to_bits());
        assert_eq!([tanh(f32::INFINITY), tanh(f32::NEG_INFINITY)], [1.0, -1.0]);
        assert_eq!([tanh(f32::MAX), tanh(-50.0)], [1.0, -1.0]);
        assert!(sigmoid(f32::NAN).is_nan() && tanh(f32::NAN).is_nan());
    }

    #[test]
    fn reductions_cover_every_element() {
        for n in [0, 1, 15, 16, 17, 100] {
            let x: Vec<f32> = (1..=n).map(|i| i as f32).collect();
            let total = (n * (n + 1) / 2) as f32;
            assert_eq!(sum_of(&x, |x| x), total);
            assert_eq!(sum_of_two(&x, &x, |x, y| 2.0 * x - y), total);
            assert_eq!(max_of(&x), if n == 0 { f32::NEG_INFINITY } else { n as f32 });
            assert_eq!(
                max_of(&x.iter().map(|x| -x).collect::<Vec<_>>()),
                if n == 0 { f32::NEG_INFINITY } else { -1.0 }
            );
        }
    }
}
