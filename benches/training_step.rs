//! Whole training steps of the three models of docs/performance.md: `cargo bench --bench training_step`.

#[path = "../bench/workload.rs"]
mod workload;

use attentive::config::Matmul;
use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use workload::{Workload, step};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TINY: Workload = Workload {
    d_model: 128,
    d_ff: 256,
    n_heads: 4,
    n_layers: 4,
    vocab: 10_000,
    batch: 128,
    length: 32,
    dropout: 0.3,
};

const SMALL: Workload = Workload {
    d_model: 256,
    d_ff: 1024,
    n_heads: 4,
    n_layers: 3,
    vocab: 8000,
    batch: 64,
    length: 32,
    dropout: 0.1,
};

const BASE: Workload = Workload {
    d_model: 512,
    d_ff: 2048,
    n_heads: 8,
    n_layers: 6,
    vocab: 32_000,
    batch: 32,
    length: 32,
    dropout: 0.1,
};

fn training_steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("training step");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    for (name, workload) in [("tiny", TINY), ("small", SMALL), ("base", BASE)] {
        group.throughput(Throughput::Elements(workload.tokens() as u64));
        for (products, matmul) in [("f32", Matmul::F32), ("bf16", Matmul::Bf16)] {
            group.bench_function(BenchmarkId::new(name, products), |bench| {
                let (mut learner, batch) = (workload.learner(matmul), workload.batch());
                let mut number = 0;
                bench.iter(|| {
                    number += 1;
                    step(&mut learner, &batch, number)
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, training_steps);
criterion_main!(benches);
