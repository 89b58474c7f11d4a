//! The kernels of recurrent models: `cargo bench -p attentive-kernels --bench recurrent`.

use std::hint::black_box;

use attentive_kernels::attentive_recurrent::{
    AttentiveRecurrentCall, AttentiveRecurrentGradients, AttentiveRecurrentInputs,
    AttentiveRecurrentResult, attentive_recurrent, attentive_recurrent_backward,
};
use attentive_kernels::gemm::Precision;
use attentive_kernels::recurrent::{
    Cell, Direction, Recurrence, RecurrentCall, RecurrentGradients, RecurrentResult, recurrent,
    recurrent_backward,
};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};

const ROWS: usize = 2048;
const D: usize = 256;

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 23) as f32 / 23.0 - 0.5).collect()
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

/// 64 sentences of 32 words that attend to as many, with a bidirectional encoder's values.
fn attentive_layers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("attentive recurrent layer");
    let (batch, len) = (ROWS / 32, 32);
    let lens = vec![len; batch];
    let (keys, values) = (numbers(ROWS * D), numbers(ROWS * 2 * D));
    let (v, query_weight) = (numbers(D), numbers(D * D));
    for (cell, precision) in [
        (Cell::Gru, Precision::F32),
        (Cell::Lstm, Precision::F32),
        (Cell::Lstm, Precision::Bf16),
    ] {
        let [gates, states, saved] = [cell.gates(), cell.states(), cell.saved()].map(|n| n * D);
        let call = AttentiveRecurrentCall {
            recurrent: RecurrentCall {
                cell,
                direction: Direction::Forward,
                lens: &lens,
                len,
                d: D,
                precision,
            },
            src_len: len,
            d_key: D,
            d_value: 2 * D,
        };
        let (projected, weight, bias) = (numbers(ROWS * gates), numbers(gates * D), numbers(gates));
        let context_weight = numbers(gates * 2 * D);
        let inputs = AttentiveRecurrentInputs {
            projected: &projected,
            recurrence: Recurrence {
                weight: &weight,
                bias: Some(&bias),
                initial: None,
            },
            query_weight: &query_weight,
            context_weight: &context_weight,
            keys: &keys,
            values: &values,
            pad: None,
            v: &v,
        };
        let mut out = numbers(ROWS * (states + 2 * D));
        let (mut weights, mut kept) = (numbers(ROWS * len), numbers(ROWS * saved));
        group.bench_function(format!("{cell:?} {precision:?} forward"), |bench| {
            bench.iter(|| {
                let keep = (Some(&mut weights[..]), Some(&mut kept[..]));
                attentive_recurrent(call, black_box(inputs), &mut out, keep.0, keep.1);
            });
        });
        let result = AttentiveRecurrentResult {
            out: &out,
            attention_weights: &weights,
            saved: &kept,
        };
        let name = format!("{cell:?} {precision:?} backward");
        attentive_backward(&mut group, &name, call, inputs, result);
    }
    group.finish();
}

fn attentive_backward(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    call: AttentiveRecurrentCall<'_>,
    inputs: AttentiveRecurrentInputs<'_>,
    result: AttentiveRecurrentResult<'_>,
) {
    let grad = numbers(result.out.len());
    let Recurrence { weight, bias, .. } = inputs.recurrence;
    let [mut dprojected, mut dweight, mut dbias] =
        [inputs.projected, weight, bias.unwrap_or_default()].map(<[f32]>::to_vec);
    let [
        mut dquery_weight,
        mut dcontext_weight,
        mut dkeys,
        mut dvalues,
    ] = [
        inputs.query_weight,
        inputs.context_weight,
        inputs.keys,
        inputs.values,
    ]
    .map(<[f32]>::to_vec);
    let mut dv = numbers(call.d_key);
    group.bench_function(name, |bench| {
        bench.iter(|| {
            let gradients = AttentiveRecurrentGradients {
                recurrence: RecurrentGradients {
                    projected: &mut dprojected,
                    weight: Some(&mut dweight),
                    bias: Some(&mut dbias),
                    initial: None,
                },
                query_weight: Some(&mut dquery_weight),
                context_weight: Some(&mut dcontext_weight),
                keys: &mut dkeys,
                values: &mut dvalues,
                v: &mut dv,
            };
            attentive_recurrent_backward(call, inputs, result, black_box(&grad), gradients);
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = recurrent_layers, recurrent_steps, attentive_layers
}
criterion_main!(benches);
