//! Steps of optimizers, and what they need to know of the gradients.

use attentive_device::{Buffer, BufferSliceMut, OptimizerStep, VERDICT, VerdictCall};
use attentive_kernels::optimizer::{AdamStep, SUM_CHUNK, SgdStep};

use crate::gpu::Gpu;
use crate::pipelines::kernels;
use crate::queue::Binding::{Read, ReadIf, Write};
use crate::queue::{Recording, elements, grid};
use crate::word::words;

kernels!("../wgsl/optimizer.wgsl": ADAM = "adam", SGD = "sgd", SGD_WITH_VELOCITY = "sgd_with_velocity");
kernels!("../wgsl/check.wgsl": SQUARES = "squares", NON_FINITE = "non_finite", JUDGE = "verdict");

pub(crate) fn optimize(
    recording: &mut Recording<'_>,
    step: OptimizerStep,
    part: BufferSliceMut<'_>,
    state: &[&Buffer],
    grad: &Buffer,
    verdict: Option<&Buffer>,
) {
    let n = part.range.len();
    let lens = state.iter().copied().chain([grad]).map(Buffer::len);
    assert!(lens.into_iter().all(|len| len == n), "a state and a gradient for the part");
    if n == 0 {
        return;
    }
    let first = part.range.start;
    let param = Write(part.buffer);
    match (step, state) {
        (OptimizerStep::Adam(step), &[mean, square]) => {
            let bindings = [param, Write(mean), Write(square), Read(grad), ReadIf(verdict)];
            recording.run(ADAM, &bindings, &adam_words(step, n, first, verdict.is_some()), elements(n));
        }
        (OptimizerStep::Sgd(step), &[velocity]) => {
            let bindings = [param, Read(grad), Write(velocity), ReadIf(verdict)];
            let parameters = sgd_words(step, n, first, verdict.is_some());
            recording.run(SGD_WITH_VELOCITY, &bindings, &parameters, elements(n));
        }
        (OptimizerStep::Sgd(step), []) => {
            let bindings = [param, Read(grad), ReadIf(verdict)];
            recording.run(SGD, &bindings, &sgd_words(step, n, first, verdict.is_some()), elements(n));
        }
        _ => panic!("a state of another optimizer"),
    }
}

fn adam_words(step: AdamStep, n: usize, first: usize, has_verdict: bool) -> Vec<u32> {
    let power = |beta: f32| f64::from(beta).powf(step.step as f64);
    let rate = f64::from(step.learning_rate);
    words![
        n,
        first,
        (1.0 - rate * f64::from(step.weight_decay)) as f32,
        step.l2,
        step.grad_scale,
        (1.0 - f64::from(step.beta1)) as f32,
        step.beta2,
        (1.0 - f64::from(step.beta2)) as f32,
        (1.0 - power(step.beta2)).sqrt() as f32,
        step.epsilon,
        (rate / (1.0 - power(step.beta1))) as f32,
        has_verdict,
    ]
    .into()
}

fn sgd_words(step: SgdStep, n: usize, first: usize, has_verdict: bool) -> Vec<u32> {
    words![n, first, step.learning_rate, step.momentum, step.l2, step.grad_scale, has_verdict].into()
}

/// Σ x² of each chunk of each vector, one after the other.
pub(crate) fn squares(recording: &mut Recording<'_>, all: &[&Buffer]) -> Buffer {
    let sums = recording.room(all.iter().map(|x| chunks(x)).sum());
    let mut first = 0;
    for x in all {
        if !x.is_empty() {
            let parameters = words![x.len(), first];
            let bindings = [Read(x), Write(&sums)];
            recording.run(SQUARES, &bindings, &parameters, grid(chunks(x)));
        }
        first += chunks(x);
    }
    sums
}

pub(crate) fn all_sums_of_squares(gpu: &Gpu, all: &[&Buffer]) -> Vec<Vec<f64>> {
    let sums = squares(&mut gpu.record(), all);
    let found = gpu.read(&[&sums]).concat().into_iter();
    let mut found = found.map(|word| f64::from(f32::from_bits(word)));
    let of = |x: &&Buffer| found.by_ref().take(chunks(x)).collect();
    all.iter().map(of).collect()
}

pub(crate) fn verdict(recording: &mut Recording<'_>, call: VerdictCall<'_>) -> Buffer {
    let verdict = recording.room(VERDICT);
    let parameters = words![call.squares.len(), call.clip_norm, call.n_tokens, call.before.is_some(),];
    let bindings = [Read(call.loss), Read(call.squares), ReadIf(call.before), Write(&verdict)];
    recording.run(JUDGE, &bindings, &parameters, grid(1));
    verdict
}

pub(crate) fn first_non_finite(gpu: &Gpu, x: &Buffer) -> Option<usize> {
    let chunks = chunks(x);
    if chunks == 0 {
        return None;
    }
    let mut recording = gpu.record();
    let indices = recording.room(chunks);
    let bindings = [Read(x), Write(&indices)];
    recording.run(NON_FINITE, &bindings, &words![x.len(), 0u32], grid(chunks));
    drop(recording);
    let indices = gpu.read(&[&indices]).concat();
    let first = indices.into_iter().min().filter(|&index| index != u32::MAX);
    first.map(|index| index as usize)
}

fn chunks(x: &Buffer) -> usize {
    x.len().div_ceil(SUM_CHUNK)
}
