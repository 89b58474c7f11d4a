//! Times the matrix products of training and decoding:
//! `cargo run --release -p attentive-kernels --example gemm`.

use std::hint::black_box;
use std::time::Instant;

use attentive_kernels::gemm::{Float, Product, View};

/// Layout of the operands.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// `a` and `b` row-major, as in the gradient of an input.
    Plain,
    /// `b` transposed, as in a linear layer.
    Weight,
    /// `a` transposed, as in the gradient of a weight.
    Gradient,
}

/// The best rate of several runs, in GFLOP/s.
fn speed(precision: Float, layout: Layout, m: usize, n: usize, k: usize) -> f64 {
    let fill = |len: usize| (0..len).map(|i| (i % 17) as f32 / 17.0 - 0.5).collect::<Vec<f32>>();
    let (a, b, mut out) = (fill(m * k), fill(k * n), vec![0.0; m * n]);
    let left = match layout {
        Layout::Gradient => View::transposed(&a, m),
        Layout::Plain | Layout::Weight => View::rows(&a, k),
    };
    let right = match layout {
        Layout::Weight => View::transposed(&b, k),
        Layout::Plain | Layout::Gradient => View::rows(&b, n),
    };
    let flops = 2.0 * (m * n * k) as f64;
    let runs = (2e9 / flops).clamp(3.0, 300.0) as usize;
    let seconds = (0..runs)
        .map(|_| {
            let start = Instant::now();
            let product = Product::new(k, black_box(left), black_box(right));
            product.write(precision, [m, n], black_box(&mut out));
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    flops / seconds / 1e9
}

fn main() {
    let shapes = [
        (Layout::Plain, 1024, 1024, 1024),
        (Layout::Weight, 1024, 1024, 1024),
        (Layout::Gradient, 1024, 1024, 1024),
        (Layout::Weight, 2048, 1024, 256),
        (Layout::Plain, 2048, 256, 1024),
        (Layout::Gradient, 1024, 256, 2048),
        (Layout::Weight, 256, 8000, 256),
        (Layout::Weight, 4096, 512, 128),
        (Layout::Weight, 4096, 128, 512),
        (Layout::Gradient, 128, 512, 4096),
        (Layout::Weight, 4096, 10_000, 128),
        (Layout::Weight, 1, 512, 512),
        (Layout::Weight, 5, 512, 512),
        (Layout::Weight, 64, 512, 512),
        (Layout::Weight, 1, 10_000, 512),
        (Layout::Weight, 5, 10_000, 512),
        (Layout::Weight, 64, 10_000, 512),
    ];
    let precisions = [Float::F32, Float::Bf16];
    for precision in precisions {
        println!("{precision:?}: {}", precision.instructions());
    }
    println!(
        "{:<10}{:>6}{:>7}{:>6}{:>14}{:>14}{:>14}{:>14}",
        "layout", "m", "n", "k", "F32, 1 thread", "2 threads", "Bf16, 1", "2 threads"
    );
    for (layout, m, n, k) in shapes {
        print!("{:<10}{m:>6}{n:>7}{k:>6}", format!("{layout:?}"));
        for precision in precisions {
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let speed = pool.map_or(f64::NAN, |pool| pool.install(|| speed(precision, layout, m, n, k)));
                print!("{speed:>14.1}");
            }
        }
        println!();
    }
}
