//! The kernels of training, at the sizes of a small Transformer: `cargo bench -p attentive-kernels`.

use std::hint::black_box;

use attentive_kernels::attention::{
    AttentionInputs, AttentionShape, Causality, Operands, OperandsMut, attention,
    attention_backward,
};
use attentive_kernels::cross_entropy::{ProjectionShape, cross_entropy_with_gradients};
use attentive_kernels::dropout::{Dropout, dropout_add};
use attentive_kernels::embedding::{embedding, embedding_backward};
use attentive_kernels::gemm::Precision;
use attentive_kernels::linear::{
    Activation, Affine, AffineGradients, LinearCall, linear, linear_backward,
};
use attentive_kernels::norm::{
    Norm, NormCall, NormGradients, residual_norm, residual_norm_backward,
};
use attentive_kernels::optimizer::{AdamStep, adam};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const ROWS: usize = 2048;
const D: usize = 256;
const D_FF: usize = 1024;
const VOCAB: usize = 8000;

const DROPOUT: Option<Dropout> = Some(Dropout {
    rate: 0.1,
    seed: 1,
    step: 1,
    site: 1,
});

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 23) as f32 / 23.0 - 0.5).collect()
}

fn linear_maps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("linear");
    for precision in [Precision::F32, Precision::Bf16] {
        let call = LinearCall {
            rows: ROWS,
            d_in: D,
            d_out: D_FF,
            activation: Activation::Relu,
            dropout: None,
            precision,
        };
        let (x, weight, bias) = (numbers(ROWS * D), numbers(D * D_FF), numbers(D_FF));
        let maps = [Affine {
            weight: &weight,
            bias: Some(&bias),
        }];
        let (mut out, grad) = (numbers(ROWS * D_FF), numbers(ROWS * D_FF));
        let products = (2 * ROWS * D * D_FF) as u64;
        group.throughput(Throughput::Elements(products));
        group.bench_function(format!("forward {precision:?}"), |bench| {
            bench.iter(|| linear(call, black_box(&x), &maps, &mut out));
        });
        let (mut dx, mut dweight, mut dbias) = (x.clone(), weight.clone(), bias.clone());
        group.throughput(Throughput::Elements(2 * products));
        group.bench_function(format!("backward {precision:?}"), |bench| {
            bench.iter(|| {
                let mut gradients = [AffineGradients {
                    weight: Some(&mut dweight),
                    bias: Some(&mut dbias),
                }];
                let dx = Some(&mut dx[..]);
                linear_backward(call, black_box(&x), &maps, &out, &grad, dx, &mut gradients);
            });
        });
    }
    group.finish();
}

fn attentions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("attention");
    for len in [32, 128] {
        let shape = AttentionShape {
            batch: ROWS / len,
            n_heads: 4,
            tgt_len: len,
            src_len: len,
            d_head: D / 4,
        };
        let joined = numbers(ROWS * 3 * D);
        let inputs = AttentionInputs {
            operands: Operands::Joined(&joined),
            pad: None,
            causality: Causality::Causal,
            dropout: DROPOUT,
        };
        let (mut out, grad, mut gradient) = (numbers(ROWS * D), numbers(ROWS * D), joined.clone());
        group.bench_function(format!("forward, length {len}"), |bench| {
            bench.iter(|| attention(shape, black_box(inputs), &mut out));
        });
        group.bench_function(format!("backward, length {len}"), |bench| {
            bench.iter(|| {
                let target = OperandsMut::Joined(&mut gradient);
                attention_backward(shape, black_box(inputs), &grad, target);
            });
        });
    }
    group.finish();
}

fn residual_norms(criterion: &mut Criterion) {
    let call = NormCall {
        kind: Norm::Layer,
        rows: ROWS,
        d: D,
        epsilon: 1e-5,
    };
    let (x, y, gain) = (numbers(ROWS * D), numbers(ROWS * D), numbers(D));
    let (mut sum, mut out, mut dy) = (x.clone(), x.clone(), x.clone());
    let mut group = criterion.benchmark_group("dropout, sum, norm");
    group.throughput(Throughput::Elements((ROWS * D) as u64));
    group.bench_function("forward", |bench| {
        bench.iter(|| {
            let x = black_box(&x);
            residual_norm(call, DROPOUT, x, &y, &gain, Some(&gain), &mut sum, &mut out);
        });
    });
    let (mut dx, mut dgain, mut dbias) = (x.clone(), gain.clone(), gain.clone());
    group.bench_function("backward", |bench| {
        bench.iter(|| {
            let gradients = NormGradients {
                x: &mut dx,
                gain: &mut dgain,
                bias: Some(&mut dbias),
            };
            residual_norm_backward(call, DROPOUT, &x, &gain, black_box(&y), gradients, &mut dy);
        });
    });
    group.bench_function("dropout alone", |bench| {
        bench.iter(|| dropout_add(0, black_box(&x), None, DROPOUT, &mut out));
    });
    group.finish();
}

fn losses(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("projection and loss");
    for precision in [Precision::F32, Precision::Bf16] {
        let shape = ProjectionShape {
            rows: ROWS,
            d_model: D,
            vocab: VOCAB,
            precision,
        };
        let (x, weight) = (numbers(ROWS * D), numbers(VOCAB * D));
        let targets: Vec<u32> = (0..ROWS as u32).map(|i| i * 37 % VOCAB as u32).collect();
        let (mut dx, mut dweight) = (x.clone(), weight.clone());
        group.throughput(Throughput::Elements((6 * ROWS * D * VOCAB) as u64));
        group.bench_function(format!("{precision:?}"), |bench| {
            bench.iter(|| {
                let x = black_box(&x);
                let (dx, dweight) = (&mut dx, &mut dweight);
                cross_entropy_with_gradients(
                    shape, x, &weight, None, &targets, 0.1, dx, dweight, None,
                )
            });
        });
    }
    group.finish();
}

fn tables(criterion: &mut Criterion) {
    let ids: Vec<u32> = (0..ROWS as u32).map(|i| i * 37 % VOCAB as u32).collect();
    let (mut table, mut out) = (numbers(VOCAB * D), numbers(ROWS * D));
    let mut group = criterion.benchmark_group("embedding");
    group.bench_function("forward", |bench| {
        bench.iter(|| embedding(black_box(&ids), &table, D, 16.0, None, &mut out));
    });
    group.bench_function("backward", |bench| {
        bench.iter(|| embedding_backward(black_box(&ids), &out, D, 16.0, &mut table));
    });
    group.finish();
}

fn optimisers(criterion: &mut Criterion) {
    let n = 1 << 22;
    let [mut weights, mut mean, mut square, gradient] = [0; 4].map(|_| numbers(n));
    let step = AdamStep {
        learning_rate: 1e-3,
        beta1: 0.9,
        beta2: 0.98,
        epsilon: 1e-9,
        weight_decay: 0.0,
        l2: 0.0,
        grad_scale: 1.0,
        step: 1,
    };
    let mut group = criterion.benchmark_group("optimiser");
    // Four arrays are read and three written.
    group.throughput(Throughput::Bytes(7 * 4 * n as u64));
    group.bench_function("adam", |bench| {
        bench.iter(|| {
            adam(
                &mut weights,
                &mut mean,
                &mut square,
                black_box(&gradient),
                step,
            )
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = linear_maps, attentions, residual_norms, losses, tables, optimisers
}
criterion_main!(benches);
