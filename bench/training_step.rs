//! Times training steps of an encoder-decoder Transformer on random tokens without padding, for
//! `bench/peers/compare.py`: `cargo run --release --example training_step -- --model small`.

#[path = "workload.rs"]
mod workload;

use std::time::Instant;

use attentive::config::TrainPrecision;
use clap::Parser;
use workload::{step, workloads};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Times training steps of an encoder-decoder Transformer on random tokens without padding.
#[derive(Parser)]
struct Arguments {
    /// A model of bench/models.json.
    #[arg(long)]
    model: String,
    #[arg(long, default_value_t = 6)]
    steps: u64,
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Round matmul operands to bfloat16.
    #[arg(long)]
    bf16: bool,
}

/// Prints the time and the loss of each step.
fn main() {
    let Arguments {
        model,
        steps,
        threads,
        bf16,
    } = Arguments::parse();
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .expect("the pool is built once");
    let workload = workloads().into_iter().find(|known| known.name == model);
    let workload = workload.expect("`--model` must name a model of bench/models.json");
    let mut learner = workload.learner(if bf16 {
        TrainPrecision::Bf16
    } else {
        TrainPrecision::F32
    });
    let batch = workload.batch();
    for number in 1..=steps {
        let start = Instant::now();
        let loss = step(&mut learner, &batch, number);
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{seconds:.4} s, loss {loss:.3}, {:.0} tokens/s",
            workload.tokens() as f64 / seconds
        );
    }
}
