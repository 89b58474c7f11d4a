//! Shared test helpers: random numbers, comparison with the reference, thread pools.

use attentive_base::philox::philox;

/// Random numbers in (−1, 1), determined by `seed`.
pub(crate) fn random(len: usize, seed: u32) -> Vec<f32> {
    let word = |i: usize| philox([seed, 7], [(i / 4) as u32, 0, 0, 0])[i % 4];
    (0..len).map(|i| (word(i) >> 8) as f32 / (1 << 23) as f32 - 1.0 + f32::EPSILON).collect()
}

/// Random integers below `bound`.
pub(crate) fn random_below(len: usize, bound: u32, seed: u32) -> Vec<u32> {
    (0..len).map(|i| philox([seed, 9], [i as u32, 0, 0, 0])[0] % bound).collect()
}

/// Converts to double precision, for the reference.
pub(crate) fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().copied().map(f64::from).collect()
}

/// Asserts that |difference| ≤ `tolerance` · (1 + |expected|) everywhere.
pub(crate) fn assert_close(found: &[f32], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: lengths");
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let difference = (f64::from(found) - expected).abs();
        assert!(
            difference <= tolerance * (1.0 + expected.abs()),
            "{what}: element {i} is {found}, not {expected}"
        );
    }
}

/// The bit patterns, which distinguish even the sign of zero.
pub(crate) fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Asserts that `work` gives identical bits on pools of 1, 2 and 3 threads.
pub(crate) fn assert_same_on_all_pools(work: impl Fn() -> Vec<f32> + Sync + Send) {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
        bits(&pool.install(&work))
    };
    let one = on(1);
    for threads in [2, 3] {
        assert!(on(threads) == one, "{threads} threads give different bits than one thread");
    }
}

/// Asserts that `gradient` is the derivative of Σ `weights` · `f(x)`, by central differences.
pub(crate) fn assert_derivative(
    x: &[f64],
    weights: &[f64],
    gradient: &[f64],
    f: impl Fn(&[f64]) -> Vec<f64>,
) {
    const STEP: f64 = 1e-5;
    assert_eq!(x.len(), gradient.len(), "one derivative per input");
    let total = |x: &[f64]| f(x).iter().zip(weights).map(|(y, w)| y * w).sum::<f64>();
    for i in 0..x.len() {
        let moved = |by: f64| {
            let mut x = x.to_vec();
            x[i] += by;
            total(&x)
        };
        let slope = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
        let difference = (slope - gradient[i]).abs();
        assert!(
            difference <= 1e-6 * (1.0 + slope.abs()),
            "input {i}: {} but the difference quotient is {slope}",
            gradient[i]
        );
    }
}
