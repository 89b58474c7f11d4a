//! Times products with packed weights at the sizes of decoding:
//! `cargo run --release -p attentive-kernels --example packed`. `ATTENTIVE_ISA` limits the instruction set.

use std::hint::black_box;
use std::time::Instant;

use attentive_kernels::gemm::Activation;
use attentive_kernels::instruction_set::limit;
use attentive_kernels::packed::{PackedWeightBuf, Precision, linear_packed};

const TYPES: [Precision; 3] = [Precision::F32, Precision::Bf16, Precision::Int8];

/// (k, n)
const SHAPES: [(usize, usize); 6] =
    [(128, 128), (128, 512), (512, 512), (512, 2048), (2048, 512), (512, 32_000)];

const ROWS: [usize; 9] = [1, 2, 4, 5, 8, 16, 32, 64, 160];

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 23) as f32 / 23.0 - 0.5).collect()
}

/// The best rate of several runs, in billions of operations per second: two for each product.
fn speed(packed: &PackedWeightBuf, rows: usize) -> f64 {
    let weight = packed.view();
    let (n, k) = (weight.n(), weight.k());
    let (x, bias, mut out) = (numbers(rows * k), numbers(n), vec![0.0; rows * n]);
    let operations = 2.0 * (rows * n * k) as f64;
    let calls = (2e6 / operations).clamp(1.0, 100.0) as usize;
    let runs = (4e9 / (operations * calls as f64)).clamp(5.0, 300.0) as usize;
    let seconds = (0..runs)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                let (x, out) = (black_box(&x), black_box(&mut out[..]));
                linear_packed(rows, x, weight, Some(&bias), Activation::Identity, out);
            }
            start.elapsed().as_secs_f64() / calls as f64
        })
        .fold(f64::INFINITY, f64::min);
    operations / seconds / 1e9
}

fn main() {
    match limit() {
        Ok(limit) => println!("limit: {limit:?}"),
        Err(error) => return eprintln!("{error}"),
    }
    println!(
        "{:>6}{:>7}{:>6}{:>14}{:>10}{:>14}{:>10}{:>14}{:>10}",
        "k", "n", "rows", "F32, 1 thread", "2", "Bf16, 1", "2", "Int8, 1", "2"
    );
    let pools = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a thread pool")
    });
    for (k, n) in SHAPES {
        let weight = numbers(n * k);
        let packed = TYPES.map(|precision| PackedWeightBuf::pack(precision, &weight, n, k));
        for rows in ROWS {
            print!("{k:>6}{n:>7}{rows:>6}");
            for packed in &packed {
                for (pool, width) in pools.iter().zip([14, 10]) {
                    let speed = pool.install(|| speed(packed, rows));
                    print!("{speed:>width$.1}");
                }
            }
            println!();
        }
    }
}
