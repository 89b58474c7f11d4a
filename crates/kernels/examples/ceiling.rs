//! What this machine can do at best: `cargo run --release -p attentive-kernels --example ceiling`.
//!
//! Multiply-adds of registers alone, in GFLOP/s, and reading plus writing of memory, in GB/s, on one thread and on all.

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;

/// Independent sums: enough to keep every multiply-add unit busy.
const SUMS: usize = 12;
const WIDTH: usize = 8;
const ROUNDS: usize = 4_000_000;

/// Multiply-adds in registers; gives the sums so that they are not optimised away.
fn multiply_add(x: f32, y: f32) -> [[f32; WIDTH]; SUMS] {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn wide(x: f32, y: f32) -> [[f32; WIDTH]; SUMS] {
            body(x, y)
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the CPU has the two features.
            return unsafe { wide(x, y) };
        }
    }
    body(x, y)
}

#[inline(always)]
fn body(x: f32, y: f32) -> [[f32; WIDTH]; SUMS] {
    let mut sums = [[0.0f32; WIDTH]; SUMS];
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            for lane in sum {
                *lane = lane.mul_add(x, y);
            }
        }
    }
    sums
}

/// Billions of floating-point operations a second, the best of five.
fn gflops() -> f64 {
    let flops = 2.0 * (SUMS * WIDTH * ROUNDS * rayon::current_num_threads()) as f64;
    best(|| {
        rayon::broadcast(|_| black_box(multiply_add(black_box(0.999), black_box(0.001))));
    })
    .recip()
        * flops
        / 1e9
}

/// Billions of bytes a second, read and written, the best of five.
fn gigabytes() -> f64 {
    let numbers = 1 << 26;
    let (from, mut to) = (vec![1.0f32; numbers], vec![0.0f32; numbers]);
    let chunk = numbers / rayon::current_num_threads();
    let seconds = best(|| {
        let pairs = from.par_chunks(chunk).zip(to.par_chunks_mut(chunk));
        pairs.for_each(|(from, to)| black_box(to).copy_from_slice(black_box(from)));
    });
    8.0 * numbers as f64 / seconds / 1e9
}

fn best(mut work: impl FnMut()) -> f64 {
    let mut time = || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| time()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let all = rayon::current_num_threads();
    for threads in [1, all] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let (gflops, gigabytes) = pool.expect("a pool").install(|| (gflops(), gigabytes()));
        println!("{threads} threads: {gflops:.0} GFLOP/s in f32 registers, {gigabytes:.1} GB/s");
    }
}
