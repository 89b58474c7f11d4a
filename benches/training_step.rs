//! Training steps of the three models in docs/performance.md: `cargo bench --bench training_step`.

#[path = "../bench/workload.rs"]
mod workload;

use attentive::config::TrainPrecision;
use divan::Bencher;
use divan::counter::ItemsCount;
use workload::{step, workloads};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

/// The names of the models.
fn models() -> Vec<String> {
    workloads().into_iter().map(|known| known.name).collect()
}

fn steps(bencher: Bencher<'_, '_>, model: &str, matmul: TrainPrecision) {
    let Some(workload) = workloads().into_iter().find(|known| known.name == model) else {
        return;
    };
    let (mut learner, batch) = (workload.learner(matmul), workload.batch());
    let mut number = 0;
    bencher
        .counter(ItemsCount::new(workload.tokens()))
        .bench_local(|| {
            number += 1;
            step(&mut learner, &batch, number)
        });
}

#[divan::bench(args = models(), sample_count = 10, sample_size = 1)]
fn f32(bencher: Bencher<'_, '_>, model: &str) {
    steps(bencher, model, TrainPrecision::F32);
}

#[divan::bench(args = models(), sample_count = 10, sample_size = 1)]
fn bf16(bencher: Bencher<'_, '_>, model: &str) {
    steps(bencher, model, TrainPrecision::Bf16);
}
