//! Steps of optimizers, and what they need to know of the gradients.

use attentive_device::{AdamStep, Buffer, BufferSliceMut, SgdStep, VERDICT, VerdictCall};
use attentive_kernels::optimizer::SUM_CHUNK;

use crate::gpu::Gpu;
use crate::pipelines::kernels;
use crate::queue::Binding::{Read, ReadIf, Write};
use crate::queue::{Recording, elements, grid};
use crate::word::words;

kernels!("../wgsl/optimizer.wgsl": ADAM = "adam", SGD = "sgd", SGD_WITH_VELOCITY = "sgd_with_velocity");
kernels!("../wgsl/check.wgsl": SQUARES = "squares", NON_FINITE = "non_finite", JUDGE = "verdict");

pub(crate) fn adam(
    recording: &mut Recording<'_>,
    step: AdamStep,
    part: BufferSliceMut<'_>,
    [mean, square]: [&Buffer; 2],
    grad: &Buffer,
    verdict: Option<&Buffer>,
) {
    let n = part.range.len();
    assert_eq!([mean.len(), square.len(), grad.len()], [n; 3], "a part");
    if n == 0 {
        return;
    }
    let power = |beta: f32| f64::from(beta).powf(step.step as f64);
    let rate = f64::from(step.learning_rate);
    let parameters = words![
        n,
        part.range.start,
        (1.0 - rate * f64::from(step.weight_decay)) as f32,
        step.l2,
        step.grad_scale,
        (1.0 - f64::from(step.beta1)) as f32,
        step.beta2,
        (1.0 - f64::from(step.beta2)) as f32,
        (1.0 - power(step.beta2)).sqrt() as f32,
        step.epsilon,
        (rate / (1.0 - power(step.beta1))) as f32,
        verdict.is_some(),
    ];
    let bindings = [Write(part.buffer), Write(mean), Write(square), Read(grad), ReadIf(verdict)];
    recording.run(ADAM, &bindings, &parameters, elements(n));
}

pub(crate) fn sgd(
    recording: &mut Recording<'_>,
    step: SgdStep,
    part: BufferSliceMut<'_>,
    velocity: Option<&Buffer>,
    grad: &Buffer,
    verdict: Option<&Buffer>,
) {
    let n = part.range.len();
    assert_eq!(grad.len(), n, "a part");
    if n == 0 {
        return;
    }
    let parameters = words![
        n,
        part.range.start,
        step.learning_rate,
        step.momentum,
        step.l2,
        step.grad_scale,
        verdict.is_some(),
    ];
    match velocity {
        Some(velocity) => {
            let bindings = [Write(part.buffer), Read(grad), Write(velocity), ReadIf(verdict)];
            recording.run(SGD_WITH_VELOCITY, &bindings, &parameters, elements(n));
        }
        None => {
            let bindings = [Write(part.buffer), Read(grad), ReadIf(verdict)];
            recording.run(SGD, &bindings, &parameters, elements(n));
        }
    }
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
    let places = recording.room(chunks);
    let bindings = [Read(x), Write(&places)];
    recording.run(NON_FINITE, &bindings, &words![x.len(), 0u32], grid(chunks));
    drop(recording);
    let places = gpu.read(&[&places]).concat();
    let place = places.into_iter().min().filter(|&place| place != u32::MAX);
    place.map(|place| place as usize)
}

fn chunks(x: &Buffer) -> usize {
    x.len().div_ceil(SUM_CHUNK)
}
