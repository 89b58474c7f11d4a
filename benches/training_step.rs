//! Whole training steps of the three models of docs/performance.md: `cargo bench --bench training_step`.

#[path = "../bench/workload.rs"]
mod workload;

use attentive::config::Matmul;
use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use workload::{step, workloads};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn training_steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("training step");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    for workload in workloads() {
        group.throughput(Throughput::Elements(workload.tokens() as u64));
        for (products, matmul) in [("f32", Matmul::F32), ("bf16", Matmul::Bf16)] {
            group.bench_function(BenchmarkId::new(&workload.name, products), |bench| {
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
