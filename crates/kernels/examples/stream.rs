//! Times products with all weights of a decoder, one after the other: 154 MB in `f32` and 38 MB in 8-bit
//! integers, which come from RAM unless the caches are larger.
//! `cargo run --release -p attentive-kernels --example stream`. Two threads work at the same time, each with
//! rows of its own. `ATTENTIVE_ISA` limits the instruction set.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use attentive_kernels::gemm::Activation;
use attentive_kernels::instruction_set::limit;
use attentive_kernels::packed::{PackedWeightBuf, Precision, linear_packed};
use attentive_kernels::threads::Threads;

/// (k, n) of the base Transformer: six layers and the output projection.
const LAYER: [(usize, usize); 6] =
    [(512, 1536), (512, 512), (512, 512), (512, 512), (512, 2048), (2048, 512)];
const PROJECTION: (usize, usize) = (512, 32_000);
const WIDEST: usize = 2048;

const ROWS: [usize; 8] = [1, 2, 5, 8, 16, 32, 64, 160];
const THREADS: usize = 2;

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 23) as f32 / 23.0 - 0.5).collect()
}

/// Seconds of the median of several passes over all weights, on the calling thread. All threads begin
/// together.
fn median(weights: &[PackedWeightBuf], rows: usize, begin: &Barrier) -> f64 {
    let x = numbers(rows * WIDEST);
    let mut out = vec![0.0; rows * PROJECTION.1];
    let passes = (1200 / rows).clamp(6, 60);
    begin.wait();
    let seconds = (0..passes).map(|_| {
        let start = Instant::now();
        for weight in weights {
            let weight = weight.view();
            let (x, out) = (&x[..rows * weight.k()], &mut out[..rows * weight.n()]);
            let identity = Activation::Identity;
            linear_packed(rows, black_box(x), weight, None, identity, black_box(out));
        }
        start.elapsed().as_secs_f64()
    });
    let mut seconds: Vec<f64> = seconds.collect();
    seconds.sort_by(f64::total_cmp);
    seconds[passes / 2]
}

/// The mean of [`median`] of several threads.
fn together(weights: &[PackedWeightBuf], rows: usize) -> f64 {
    let begin = Barrier::new(THREADS);
    thread::scope(|scope| {
        let one = || Threads::alone(|| median(weights, rows, &begin));
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
        let seconds = threads.into_iter().map(|thread| thread.join());
        seconds.map(|s| s.expect("a thread")).sum::<f64>() / THREADS as f64
    })
}

fn main() {
    match limit() {
        Ok(limit) => println!("limit: {limit:?}"),
        Err(error) => return eprintln!("{error}"),
    }
    let shapes: Vec<_> = (0..6).flat_map(|_| LAYER).chain([PROJECTION]).collect();
    let multiply_adds: usize = shapes.iter().map(|(k, n)| k * n).sum();
    println!("{:<6}{:>6}{:>10}{:>10}{:>8}", "type", "rows", "ms", "G ops/s", "GB/s");
    for precision in [Precision::F32, Precision::Bf16, Precision::Int8] {
        let pack = |&(k, n)| PackedWeightBuf::pack(precision, &numbers(n * k), n, k);
        let weights: Vec<_> = shapes.iter().map(pack).collect();
        let bytes = match precision {
            Precision::F32 => 4,
            Precision::Bf16 => 2,
            Precision::Int8 => 1,
        } * multiply_adds;
        for rows in ROWS {
            let seconds = together(&weights, rows);
            let operations = 2.0 * (rows * multiply_adds) as f64;
            println!(
                "{:<6}{rows:>6}{:>10.3}{:>10.1}{:>8.1}",
                format!("{precision:?}"),
                seconds * 1e3,
                operations / seconds / 1e9,
                bytes as f64 / seconds / 1e9
            );
        }
    }
}
