//! Kernels of recurrent models: `cargo bench -p attentive-kernels --bench recurrent`.

use std::hint::black_box;

use attentive_kernels::Lengths;
use attentive_kernels::additive_attention::{
    AdditiveAttentionGradients, AdditiveAttentionInputs, AdditiveAttentionShape, additive_attention_backward,
    additive_attention_of_each,
};
use attentive_kernels::gemm::Float;
use attentive_kernels::linear::Affine;
use attentive_kernels::recurrent::{
    CellKind, Direction, Recurrence, RecurrentBackward, RecurrentCall, RecurrentForward, RecurrentGradients,
    recurrent, recurrent_backward,
};
use divan::Bencher;
use divan::counter::ItemsCount;

const ROWS: usize = 2048;
const D: usize = 256;

/// Words per sentence.
const LEN: usize = 32;

/// Sentences per batch.
const BATCH: usize = ROWS / LEN;

fn main() {
    divan::main();
}

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 23) as f32 / 23.0 - 0.5).collect()
}

fn call(cell: CellKind, precision: Float, lengths: &Lengths) -> RecurrentCall<'_> {
    RecurrentCall { cell, direction: Direction::Forward, lengths, d: D, precision }
}

/// The operands and results of one direction of a layer.
struct Layer {
    projected: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    saved: Vec<f32>,
    dprojected: Vec<f32>,
    dweight: Vec<f32>,
    dbias: Vec<f32>,
    room: Vec<f32>,
}

impl Layer {
    fn new(call: RecurrentCall<'_>) -> Self {
        let (rows, gates) = (call.lengths.positions(), call.cell.gates() * call.d);
        let (projected, weight, bias) = (numbers(rows * gates), numbers(gates * call.d), numbers(gates));
        Self {
            dprojected: projected.clone(),
            dweight: weight.clone(),
            dbias: bias.clone(),
            projected,
            weight,
            bias,
            saved: numbers(rows * call.cell.saved() * call.d),
            room: numbers(call.room()),
        }
    }

    fn forward<'a>(&'a mut self, call: RecurrentCall<'a>) -> RecurrentForward<'a, &'a [f32], &'a mut [f32]> {
        RecurrentForward {
            call,
            recurrence: recurrence(&self.weight, &self.bias),
            projected: black_box(&self.projected),
            saved: Some(&mut self.saved),
        }
    }

    fn backward<'a>(
        &'a mut self,
        call: RecurrentCall<'a>,
    ) -> RecurrentBackward<'a, &'a [f32], &'a mut [f32]> {
        RecurrentBackward {
            call,
            recurrence: recurrence(&self.weight, &self.bias),
            saved: black_box(&self.saved),
            gradients: RecurrentGradients {
                projected: &mut self.dprojected,
                weight: Some(&mut self.dweight),
                bias: Some(&mut self.dbias),
                initial: None,
            },
            room: &mut self.room,
        }
    }
}

fn recurrence<'a>(weight: &'a [f32], bias: &'a [f32]) -> Recurrence<&'a [f32]> {
    Recurrence { hidden: Some(Affine { weight, bias: Some(bias) }), initial: None }
}

/// Floating-point operations of the forward pass of one direction.
fn operations(call: RecurrentCall<'_>) -> usize {
    2 * ROWS * call.d * call.cell.gates() * call.d
}

#[divan::bench_group(sample_count = 20)]
mod layer {
    use super::*;

    const CELLS: [CellKind; 4] = [CellKind::Rnn, CellKind::Lstm, CellKind::CoupledLstm, CellKind::Gru];

    #[divan::bench(args = CELLS)]
    fn forward(bencher: Bencher<'_, '_>, cell: CellKind) {
        let lengths = Lengths::full(BATCH, LEN);
        let call = call(cell, Float::F32, &lengths);
        let (mut layer, mut out) = (Layer::new(call), numbers(ROWS * cell.states() * D));
        bencher
            .counter(ItemsCount::new(operations(call)))
            .bench_local(|| recurrent(vec![layer.forward(call)], &mut out));
    }

    #[divan::bench(args = CELLS)]
    fn backward(bencher: Bencher<'_, '_>, cell: CellKind) {
        let lengths = Lengths::full(BATCH, LEN);
        let call = call(cell, Float::F32, &lengths);
        let states = numbers(ROWS * cell.states() * D);
        let (mut layer, grad) = (Layer::new(call), states.clone());
        bencher
            .counter(ItemsCount::new(2 * operations(call)))
            .bench_local(|| recurrent_backward(vec![layer.backward(call)], &states, black_box(&grad)));
    }
}

/// Additive attention with a query per sentence.
#[divan::bench_group(sample_count = 20)]
mod additive {
    use super::*;

    const SHAPE: AdditiveAttentionShape =
        AdditiveAttentionShape { rows: BATCH, src_len: LEN, d_key: D, d_value: D };

    fn inputs(all: &[Vec<f32>; 4]) -> AdditiveAttentionInputs<'_, &[f32]> {
        let [queries, keys, values, v] = all;
        AdditiveAttentionInputs { queries, keys, values, lengths: None, v }
    }

    fn operands() -> [Vec<f32>; 4] {
        [BATCH * D, ROWS * D, ROWS * D, D].map(numbers)
    }

    #[divan::bench]
    fn forward(bencher: Bencher<'_, '_>) {
        let (all, mut out, mut weights) = (operands(), numbers(BATCH * D), numbers(ROWS));
        bencher.bench_local(|| {
            additive_attention_of_each(SHAPE, black_box(inputs(&all)), &mut out, &mut weights);
        });
    }

    #[divan::bench]
    fn backward(bencher: Bencher<'_, '_>) {
        let (all, weights, grad) = (operands(), numbers(ROWS), numbers(BATCH * D));
        let [mut queries, mut keys, mut values, mut v] = operands();
        bencher.bench_local(|| {
            let gradients = AdditiveAttentionGradients {
                queries: &mut queries[..],
                keys: &mut keys[..],
                values: &mut values[..],
                v: &mut v[..],
            };
            additive_attention_backward(SHAPE, black_box(inputs(&all)), &weights, &grad, gradients);
        });
    }
}

/// Both directions of an LSTM with `d` columns each.
#[divan::bench_group(sample_count = 20)]
mod both_directions {
    use super::*;

    const CASES: [(Float, usize); 8] = [
        (Float::F32, 64),
        (Float::F32, 128),
        (Float::F32, 256),
        (Float::F32, 512),
        (Float::Bf16, 64),
        (Float::Bf16, 128),
        (Float::Bf16, 256),
        (Float::Bf16, 512),
    ];

    fn calls(precision: Float, d: usize, lengths: &Lengths) -> [RecurrentCall<'_>; 2] {
        [Direction::Forward, Direction::Backward].map(|direction| RecurrentCall {
            direction,
            d,
            ..call(CellKind::Lstm, precision, lengths)
        })
    }

    #[divan::bench(args = CASES)]
    fn forward(bencher: Bencher<'_, '_>, (precision, d): (Float, usize)) {
        let lengths = Lengths::full(BATCH, LEN);
        let calls = calls(precision, d, &lengths);
        let (mut layers, mut states) = (calls.map(Layer::new), numbers(ROWS * 4 * d));
        bencher.counter(ItemsCount::new(2 * operations(calls[0]))).bench_local(|| {
            let layers = layers.iter_mut().zip(calls);
            let directions = layers.map(|(layer, call)| layer.forward(call));
            recurrent(directions.collect(), &mut states);
        });
    }

    #[divan::bench(args = CASES)]
    fn backward(bencher: Bencher<'_, '_>, (precision, d): (Float, usize)) {
        let lengths = Lengths::full(BATCH, LEN);
        let calls = calls(precision, d, &lengths);
        let (mut layers, states) = (calls.map(Layer::new), numbers(ROWS * 4 * d));
        let grad = states.clone();
        bencher.counter(ItemsCount::new(4 * operations(calls[0]))).bench_local(|| {
            let layers = layers.iter_mut().zip(calls);
            let directions = layers.map(|(layer, call)| layer.backward(call));
            recurrent_backward(directions.collect(), &states, black_box(&grad));
        });
    }
}

/// One timestep of an LSTM for `batch` sequences.
#[divan::bench(args = [1, 5, 64])]
fn step_of_lstm(bencher: Bencher<'_, '_>, batch: usize) {
    let lengths = Lengths::full(batch, 1);
    let (projected, weight) = (numbers(batch * 4 * D), numbers(4 * D * D));
    let (initial, mut states) = (numbers(batch * 2 * D), numbers(batch * 2 * D));
    let call = call(CellKind::Lstm, Float::F32, &lengths);
    bencher.counter(ItemsCount::new(2 * batch * 4 * D * D)).bench_local(|| {
        let forward = RecurrentForward {
            call,
            recurrence: Recurrence {
                hidden: Some(Affine { weight: &weight[..], bias: None }),
                initial: Some(&initial[..]),
            },
            projected: black_box(&projected[..]),
            saved: None,
        };
        recurrent(vec![forward], &mut states);
    });
}

/// 64 sentences of 32 words attending to 64 others, with the values of a bidirectional encoder.
#[divan::bench_group(sample_count = 20)]
mod attentive_layer {
    use attentive_kernels::attentive_recurrent::{
        AttentiveRecurrentCall, AttentiveRecurrentGradients, AttentiveRecurrentInputs,
        AttentiveRecurrentResult, attentive_recurrent, attentive_recurrent_backward,
    };

    use super::*;

    const D_VALUE: usize = 2 * D;

    const CASES: [(CellKind, Float); 3] =
        [(CellKind::Gru, Float::F32), (CellKind::Lstm, Float::F32), (CellKind::Lstm, Float::Bf16)];

    /// Inputs of the layer.
    struct Layer {
        cell: CellKind,
        precision: Float,
        lengths: Lengths,
        projected: Vec<f32>,
        weight: Vec<f32>,
        bias: Vec<f32>,
        query_weight: Vec<f32>,
        context_weight: Vec<f32>,
        keys: Vec<f32>,
        values: Vec<f32>,
        v: Vec<f32>,
    }

    impl Layer {
        fn new((cell, precision): (CellKind, Float)) -> Self {
            let gates = cell.gates() * D;
            Self {
                cell,
                precision,
                lengths: Lengths::full(BATCH, LEN),
                projected: numbers(ROWS * gates),
                weight: numbers(gates * D),
                bias: numbers(gates),
                query_weight: numbers(D * D),
                context_weight: numbers(gates * D_VALUE),
                keys: numbers(ROWS * D),
                values: numbers(ROWS * D_VALUE),
                v: numbers(D),
            }
        }

        fn call(&self) -> AttentiveRecurrentCall<'_> {
            AttentiveRecurrentCall {
                recurrent: call(self.cell, self.precision, &self.lengths),
                src_len: LEN,
                d_key: D,
                d_value: D_VALUE,
            }
        }

        fn inputs(&self) -> AttentiveRecurrentInputs<'_, &[f32]> {
            AttentiveRecurrentInputs {
                recurrence: Recurrence {
                    hidden: Some(Affine { weight: &self.weight[..], bias: Some(&self.bias[..]) }),
                    initial: None,
                },
                query_weight: &self.query_weight[..],
                context_weight: &self.context_weight[..],
                keys: &self.keys[..],
                values: &self.values[..],
                src_lengths: None,
                v: &self.v[..],
            }
        }

        /// Buffers for the result, the attention weights and the values saved for the backward pass.
        fn results(&self) -> [Vec<f32>; 3] {
            let [states, saved] = [self.cell.states(), self.cell.saved()].map(|n| n * D);
            [states + D_VALUE, LEN, saved].map(|width| numbers(ROWS * width))
        }
    }

    #[divan::bench(args = CASES)]
    fn forward(bencher: Bencher<'_, '_>, case: (CellKind, Float)) {
        let layer = Layer::new(case);
        let [mut out, mut weights, mut kept] = layer.results();
        bencher.bench_local(|| {
            let keep = (Some(&mut weights[..]), Some(&mut kept[..]));
            let inputs = black_box(layer.inputs());
            attentive_recurrent(layer.call(), inputs, &layer.projected, &mut out, keep.0, keep.1);
        });
    }

    #[divan::bench(args = CASES)]
    fn backward(bencher: Bencher<'_, '_>, case: (CellKind, Float)) {
        let layer = Layer::new(case);
        let [out, weights, kept] = layer.results();
        let grad = numbers(out.len());
        let [mut dprojected, mut dweight, mut dbias, mut dkeys, mut dvalues] =
            [&layer.projected, &layer.weight, &layer.bias, &layer.keys, &layer.values].map(Vec::clone);
        let [mut dquery_weight, mut dcontext_weight, mut dv] =
            [&layer.query_weight, &layer.context_weight, &layer.v].map(Vec::clone);
        let room = &mut vec![f32::NAN; layer.call().room()];
        bencher.bench_local(|| {
            let result =
                AttentiveRecurrentResult { out: &out[..], attention_weights: &weights[..], saved: &kept[..] };
            let gradients = AttentiveRecurrentGradients {
                recurrence: RecurrentGradients {
                    projected: &mut dprojected[..],
                    weight: Some(&mut dweight[..]),
                    bias: Some(&mut dbias[..]),
                    initial: None,
                },
                query_weight: Some(&mut dquery_weight[..]),
                context_weight: Some(&mut dcontext_weight[..]),
                keys: &mut dkeys[..],
                values: &mut dvalues[..],
                v: &mut dv[..],
            };
            let grad = black_box(&grad);
            let (call, inputs) = (layer.call(), layer.inputs());
            attentive_recurrent_backward(call, inputs, result, grad, gradients, room);
        });
    }
}
