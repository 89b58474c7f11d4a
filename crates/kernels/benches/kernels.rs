//! Training kernels at the sizes of a small Transformer: `cargo bench -p attentive-kernels --bench kernels`.

use std::hint::black_box;

use attentive_kernels::attention::{
    AttentionInputs, AttentionShape, Causality, QkvOperands, Scores, attention, attention_backward,
};
use attentive_kernels::cross_entropy::{
    ProjectionGradients, ProjectionInputs, ProjectionShape, cross_entropy,
};
use attentive_kernels::dropout::{DropoutCall, dropout_add};
use attentive_kernels::gemm::{Activation, Float};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};

const ROWS: usize = 2048;
const D: usize = 256;
const D_FF: usize = 1024;
const VOCAB: usize = 8000;

const PRECISIONS: [Float; 2] = [Float::F32, Float::Bf16];

const DROPOUT: Option<DropoutCall> = Some(DropoutCall { rate: 0.1, seed: 1, micro_batch: 1, site: 1 });

fn main() {
    divan::main();
}

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 23) as f32 / 23.0 - 0.5).collect()
}

#[divan::bench_group(sample_count = 20)]
mod linear_map {
    use attentive_kernels::linear::{
        Affine, AffineGradients, LinearCall, LinearKept, linear, linear_backward,
    };

    use super::*;

    /// Floating-point operations of the forward pass.
    const OPERATIONS: usize = 2 * ROWS * D * D_FF;

    fn call(precision: Float) -> LinearCall {
        LinearCall {
            rows: ROWS,
            d_in: D,
            d_out: D_FF,
            activation: Activation::Relu,
            dropout: None,
            precision,
        }
    }

    #[divan::bench(args = PRECISIONS)]
    fn forward(bencher: Bencher<'_, '_>, precision: Float) {
        let (x, weight, bias) = (numbers(ROWS * D), numbers(D * D_FF), numbers(D_FF));
        let maps = [Affine { weight: &weight[..], bias: Some(&bias[..]) }];
        let mut out = numbers(ROWS * D_FF);
        bencher
            .counter(ItemsCount::new(OPERATIONS))
            .bench_local(|| linear(call(precision), black_box(&x), &maps, &mut out));
    }

    #[divan::bench(args = PRECISIONS)]
    fn backward(bencher: Bencher<'_, '_>, precision: Float) {
        let (x, weight, bias) = (numbers(ROWS * D), numbers(D * D_FF), numbers(D_FF));
        let (out, mut grad) = (numbers(ROWS * D_FF), numbers(ROWS * D_FF));
        let (mut dx, mut dweight, mut dbias) = (x.clone(), weight.clone(), bias.clone());
        bencher.counter(ItemsCount::new(2 * OPERATIONS)).bench_local(|| {
            let mut gradients =
                [AffineGradients { weight: Some(&mut dweight[..]), bias: Some(&mut dbias[..]) }];
            let kept = LinearKept { x: black_box(&x[..]), weights: &[&weight], out: &out[..] };
            linear_backward(call(precision), kept, &mut grad, Some(&mut dx), &mut gradients);
        });
    }
}

#[divan::bench_group(sample_count = 20)]
mod self_attention {
    use super::*;

    const LENGTHS: [usize; 3] = [32, 128, 512];

    fn shape(len: usize) -> AttentionShape {
        AttentionShape {
            batch: ROWS / len,
            n_heads: 4,
            n_kv_heads: 4,
            tgt_len: len,
            src_len: len,
            d_head: D / 4,
        }
    }

    fn inputs(joined: &[f32]) -> AttentionInputs<'_, &[f32]> {
        AttentionInputs {
            operands: QkvOperands::Joined(joined),
            lengths: None,
            scores: Scores::scaled(D / 4, Causality::Causal),
            dropout: DROPOUT,
        }
    }

    #[divan::bench(args = LENGTHS)]
    fn forward(bencher: Bencher<'_, '_>, len: usize) {
        let (joined, mut out) = (numbers(ROWS * 3 * D), numbers(ROWS * D));
        bencher.bench_local(|| attention(shape(len), black_box(inputs(&joined)), &mut out));
    }

    #[divan::bench(args = LENGTHS)]
    fn backward(bencher: Bencher<'_, '_>, len: usize) {
        let (joined, grad) = (numbers(ROWS * 3 * D), numbers(ROWS * D));
        let mut gradient = joined.clone();
        bencher.bench_local(|| {
            let target = QkvOperands::Joined(&mut gradient[..]);
            attention_backward(shape(len), black_box(inputs(&joined)), &grad, target, None);
        });
    }
}

#[divan::bench_group(sample_count = 20, counters = [ItemsCount::new(ROWS * D)])]
mod residual {
    use attentive_kernels::norm::{NormCall, NormGradients, NormKind, residual_norm, residual_norm_backward};

    use super::*;

    const CALL: NormCall = NormCall { kind: NormKind::Layer, rows: ROWS, d: D, epsilon: 1e-5 };

    #[divan::bench]
    fn forward(bencher: Bencher<'_, '_>) {
        let (x, y, gain) = (numbers(ROWS * D), numbers(ROWS * D), numbers(D));
        let (mut sum, mut out) = (x.clone(), x.clone());
        bencher.bench_local(|| {
            let inputs = [black_box(&x[..]), &y[..]];
            residual_norm(CALL, DROPOUT, inputs, &gain, Some(&gain), &mut sum, &mut out);
        });
    }

    #[divan::bench]
    fn backward(bencher: Bencher<'_, '_>) {
        let (x, y, gain) = (numbers(ROWS * D), numbers(ROWS * D), numbers(D));
        let (mut dx, mut dy) = (x.clone(), x.clone());
        let (mut dgain, mut dbias) = (gain.clone(), gain.clone());
        bencher.bench_local(|| {
            let gradients =
                NormGradients { x: &mut dx[..], gain: &mut dgain[..], bias: Some(&mut dbias[..]) };
            residual_norm_backward(CALL, DROPOUT, &x, &gain, black_box(&y), gradients, &mut dy);
        });
    }

    #[divan::bench]
    fn dropout_alone(bencher: Bencher<'_, '_>) {
        let (x, mut out) = (numbers(ROWS * D), numbers(ROWS * D));
        bencher.bench_local(|| dropout_add(0, black_box(&x), None, DROPOUT, &mut out));
    }
}

#[divan::bench(args = PRECISIONS, sample_count = 20)]
fn projection_and_loss(bencher: Bencher<'_, '_>, precision: Float) {
    let shape = ProjectionShape { rows: ROWS, d_model: D, vocab: VOCAB, precision };
    let (x, weight) = (numbers(ROWS * D), numbers(VOCAB * D));
    let targets: Vec<u32> = (0..ROWS as u32).map(|i| i * 37 % VOCAB as u32).collect();
    let (mut dx, mut dweight) = (x.clone(), weight.clone());
    bencher.counter(ItemsCount::new(6 * ROWS * D * VOCAB)).bench_local(|| {
        let inputs = ProjectionInputs {
            x: black_box(&x[..]),
            weight: &weight[..],
            bias: None,
            targets: &targets[..],
            row_weights: None,
            label_smoothing: 0.1,
            twin: None,
        };
        let gradients = ProjectionGradients {
            x: Some(&mut dx[..]),
            twin: None,
            weight: Some(&mut dweight[..]),
            bias: None,
        };
        cross_entropy(shape, inputs, gradients)
    });
}

#[divan::bench_group(sample_count = 20)]
mod table {
    use attentive_kernels::embedding::{embedding, embedding_backward};

    use super::*;

    fn ids() -> Vec<u32> {
        (0..ROWS as u32).map(|i| i * 37 % VOCAB as u32).collect()
    }

    #[divan::bench]
    fn forward(bencher: Bencher<'_, '_>) {
        let (ids, table, mut out) = (ids(), numbers(VOCAB * D), numbers(ROWS * D));
        bencher.bench_local(|| embedding(black_box(&ids), &table, D, 16.0, None, &mut out));
    }

    #[divan::bench]
    fn backward(bencher: Bencher<'_, '_>) {
        let (ids, mut table, out) = (ids(), numbers(VOCAB * D), numbers(ROWS * D));
        bencher.bench_local(|| embedding_backward(black_box(&ids), &out, D, 16.0, &mut table));
    }
}

#[divan::bench(sample_count = 20)]
fn adam(bencher: Bencher<'_, '_>) {
    use attentive_kernels::optimizer::{AdamStep, adam};

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
    // Reads four arrays and writes three.
    bencher.counter(BytesCount::new(7 * 4 * n)).bench_local(|| {
        let gradient = black_box(&gradient);
        adam(&mut weights, &mut mean, &mut square, gradient, step)
    });
}
