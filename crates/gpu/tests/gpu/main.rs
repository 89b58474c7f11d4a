//! Every operation on a GPU against the same in double precision. Without a GPU the tests are skipped; Mesa's
//! lavapipe (`mesa-vulkan-drivers`) is one in software. `ATTENTIVE_GPU_TESTS=required` makes them fail
//! instead.

mod attention;
mod decoding;
mod engine;
mod fuzz;
mod layers;
mod loss;
mod memory;
mod optimizer;
mod products;
mod recurrent;
mod rows;

use std::cell::LazyCell;

use attentive_device::{Buffer, Cpu, Device, DropoutCall, Failure, current, on};
use attentive_gpu::Gpu;
use attentive_kernels::gemm::Float;
use attentive_oracle::PLAIN;

/// The error of a result that is allowed, see [`worst`].
const TOLERANCE: f32 = 1e-4;

/// The best GPU.
fn gpu() -> Option<&'static Gpu> {
    match attentive_gpu::open(None) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            let is_required = std::env::var_os("ATTENTIVE_GPU_TESTS").is_some_and(|x| x == "required");
            assert!(!is_required, "{error}; {}", error.hint());
            println!("skipped: {error}; {}", error.hint());
            None
        }
    }
}

/// Numbers between −1 and 1 that depend on `seed`.
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678;
    let mut next = || {
        // SplitMix64 (Steele et al. 2014).
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let z = (z ^ (z >> 31)) >> 40;
        2.0 * (z as f32 / (1u32 << 24) as f32) - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// A buffer of the current device with [`numbers`].
fn random(seed: u64, count: usize) -> Buffer {
    numbers(seed, count).into()
}

/// Weights of the current device with [`numbers`], stored in f32 or in bf16.
fn weights(stored: Float, seed: u64, count: usize) -> Buffer {
    match stored {
        Float::F32 => random(seed, count),
        Float::Bf16 => current().upload_bf16(numbers(seed, count)),
    }
}

/// A buffer for a result, which holds something else.
fn room(len: usize) -> Buffer {
    vec![7.5; len].into()
}

fn dropout(rate: f32) -> DropoutCall {
    DropoutCall { rate, seed: 1 << 40 | 3, micro_batch: 1 << 33 | 5, site: 7 }
}

fn values(results: Vec<Buffer>) -> Vec<Vec<f32>> {
    results.into_iter().map(Buffer::into_vec).collect()
}

fn bits(results: &[Vec<f32>]) -> Vec<Vec<u32>> {
    let bits = |values: &Vec<f32>| values.iter().map(|value| value.to_bits()).collect();
    results.iter().map(bits).collect()
}

/// Asserts that the results of `work` on the GPU are those in double precision within [`TOLERANCE`], and the
/// same bits twice. Returns those of the GPU.
fn agree(what: &str, work: impl Fn(&dyn Device) -> Vec<Buffer>) -> Vec<Vec<f32>> {
    compare(what, work, 0.0)
}

/// [`agree`] for recurrent cells, in which rounding grows from step to step if weights are large: the results
/// may also be eight times as far away as those of the CPU.
fn agree_roughly(what: &str, work: impl Fn(&dyn Device) -> Vec<Buffer>) {
    compare(what, work, 8.0);
}

/// [`agree`], where errors may also be `factor` times those of the CPU.
fn compare(what: &str, work: impl Fn(&dyn Device) -> Vec<Buffer>, factor: f32) -> Vec<Vec<f32>> {
    let Some(gpu) = gpu() else {
        return Vec::new();
    };
    let once = || on(gpu, || caught(|| values(work(gpu))));
    let (found, again) = (once(), once());
    assert_eq!(bits(&found), bits(&again), "{what}: two runs");
    let expected = on(&PLAIN, || values(work(&PLAIN)));
    assert_eq!(found.len(), expected.len(), "{what}: results");
    let on_cpu = LazyCell::new(|| on(&Cpu, || values(work(&Cpu))));
    for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let error = worst(found, expected);
        if error > TOLERANCE {
            let of_cpu = worst(&on_cpu[number], expected);
            assert!(
                of_cpu.is_finite() && error <= factor * of_cpu,
                "{what}, result {number}: an error of {error}, of the CPU {of_cpu}"
            );
        }
    }
    found
}

/// The largest difference, relative to the larger of 1 and the largest magnitude.
fn worst(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len(), "lengths");
    let scale = (expected.iter()).fold(1.0f32, |scale, value| scale.max(value.abs()));
    let difference = |(found, expected): (&f32, &f32)| match (found - expected).abs() / scale {
        nan if nan.is_nan() => f32::INFINITY,
        difference => difference,
    };
    let differences = found.iter().zip(expected).map(difference);
    differences.fold(0.0, f32::max)
}

/// The result of `work`, whose failures are panics with a message.
fn caught<R>(work: impl FnOnce() -> R) -> R {
    let failed = |failure: Failure| panic!("{}", failure.problem);
    Failure::caught(work).unwrap_or_else(failed)
}

/// Asserts equality within [`TOLERANCE`].
fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
    let error = worst(found, expected);
    assert!(error <= TOLERANCE, "{what}: an error of {error}");
}
