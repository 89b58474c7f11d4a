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
use attentive_kernels::recurrent::{
    Cell, Direction, Recurrence, RecurrentCall, RecurrentGradients, RecurrentResult, recurrent,
    recurrent_backward,
};
use attentive_kernels::scored_attention::{
    Score, ScoredAttentionGradients, ScoredAttentionInputs, ScoredAttentionShape, scored_attention,
    scored_attention_backward,
};
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

fn recurrent_layers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("recurrent layer");
    let (batch, len) = (ROWS / 32, 32);
    for cell in [Cell::Rnn, Cell::Lstm, Cell::CoupledLstm, Cell::Gru] {
        let lens = vec![len; batch];
        let call = RecurrentCall {
            cell,
            direction: Direction::Forward,
            lens: &lens,
            len,
            d: D,
            precision: Precision::F32,
        };
        let [gates, states, saved] = [cell.gates(), cell.states(), cell.saved()].map(|n| n * D);
        let (projected, weight, bias) = (numbers(ROWS * gates), numbers(gates * D), numbers(gates));
        let recurrence = Recurrence {
            weight: &weight,
            bias: Some(&bias),
            initial: None,
        };
        let (mut out, mut kept) = (numbers(ROWS * states), numbers(ROWS * saved));
        let products = (2 * ROWS * D * gates) as u64;
        group.throughput(Throughput::Elements(products));
        group.bench_function(format!("{cell:?} forward"), |bench| {
            let projected = black_box(&projected);
            bench.iter(|| recurrent(call, recurrence, projected, &mut out, Some(&mut kept)));
        });
        let grad = numbers(ROWS * states);
        let [mut dprojected, mut dweight, mut dbias] = [&projected, &weight, &bias].map(Vec::clone);
        group.throughput(Throughput::Elements(2 * products));
        group.bench_function(format!("{cell:?} backward"), |bench| {
            bench.iter(|| {
                let result = RecurrentResult {
                    states: &out,
                    saved: &kept,
                };
                let gradients = RecurrentGradients {
                    projected: &mut dprojected,
                    weight: Some(&mut dweight),
                    bias: Some(&mut dbias),
                    initial: None,
                };
                recurrent_backward(call, recurrence, result, black_box(&grad), gradients);
            });
        });
    }
    group.finish();
}

fn recurrent_steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("step of an LSTM");
    for batch in [1, 5, 64] {
        let lens = vec![1; batch];
        let call = RecurrentCall {
            cell: Cell::Lstm,
            direction: Direction::Forward,
            lens: &lens,
            len: 1,
            d: D,
            precision: Precision::F32,
        };
        let (projected, weight) = (numbers(batch * 4 * D), numbers(4 * D * D));
        let (initial, mut states) = (numbers(batch * 2 * D), numbers(batch * 2 * D));
        let recurrence = Recurrence {
            weight: &weight,
            bias: None,
            initial: Some(&initial),
        };
        group.throughput(Throughput::Elements((2 * batch * 4 * D * D) as u64));
        group.bench_function(format!("{batch} sequences"), |bench| {
            let projected = black_box(&projected);
            bench.iter(|| recurrent(call, recurrence, projected, &mut states, None));
        });
    }
    group.finish();
}

fn scored_attentions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scored attention");
    let shape = ScoredAttentionShape {
        rows: ROWS / 32,
        src_len: 32,
        d_key: D,
        d_value: 2 * D,
    };
    let (queries, v) = (numbers(shape.rows * D), numbers(D));
    let (keys, values) = (numbers(ROWS * D), numbers(ROWS * 2 * D));
    let (mut weights, mut contexts) = (numbers(ROWS), numbers(shape.rows * 2 * D));
    let grad = contexts.clone();
    let [mut dqueries, mut dkeys, mut dvalues] = [&queries, &keys, &values].map(Vec::clone);
    for (name, score) in [("additive", Score::Additive { v: &v }), ("dot", Score::Dot)] {
        let inputs = ScoredAttentionInputs {
            queries: &queries,
            keys: &keys,
            values: &values,
            pad: None,
            score,
        };
        group.bench_function(format!("{name} forward"), |bench| {
            bench.iter(|| scored_attention(shape, black_box(inputs), &mut weights, &mut contexts));
        });
        group.bench_function(format!("{name} backward"), |bench| {
            bench.iter(|| {
                let gradients = ScoredAttentionGradients {
                    queries: &mut dqueries,
                    keys: &mut dkeys,
                    values: &mut dvalues,
                    v: None,
                };
                let inputs = black_box(inputs);
                scored_attention_backward(shape, inputs, &weights, &grad, gradients);
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = linear_maps, attentions, residual_norms, losses, tables, optimisers, recurrent_layers,
        recurrent_steps, scored_attentions
}
criterion_main!(benches);
