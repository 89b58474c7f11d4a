//! Steps of optimizers, and what they need to know of the gradients.

use attentive_device::{AdamStep, Buffer, Part, SgdStep};
use attentive_kernels::optimizer::SUM_CHUNK;

use crate::gpu::Gpu;
use crate::pipelines::kernels;
use crate::queue::Binding::{Read, Write};
use crate::queue::{Recording, elements, grid};
use crate::word::words;

kernels!("../wgsl/optimizer.wgsl": ADAM = "adam", SGD = "sgd", SGD_WITH_VELOCITY = "sgd_with_velocity");
kernels!("../wgsl/check.wgsl": SQUARES = "squares", NON_FINITE = "non_finite");

pub(crate) fn adam(
    recording: &mut Recording<'_>,
    step: AdamStep,
    part: Part<'_>,
    [mean, square]: [&Buffer; 2],
    grad: &Buffer,
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
    ];
    let bindings = [Write(part.buffer), Write(mean), Write(square), Read(grad)];
    recording.run(ADAM, &bindings, &parameters, elements(n));
}

pub(crate) fn sgd(
    recording: &mut Recording<'_>,
    step: SgdStep,
    part: Part<'_>,
    velocity: Option<&Buffer>,
    grad: &Buffer,
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
    ];
    match velocity {
        Some(velocity) => {
            let bindings = [Write(part.buffer), Read(grad), Write(velocity)];
            recording.run(SGD_WITH_VELOCITY, &bindings, &parameters, elements(n));
        }
        None => {
            let bindings = [Write(part.buffer), Read(grad)];
            recording.run(SGD, &bindings, &parameters, elements(n));
        }
    }
}

/// Σ x² of each chunk of each vector, each in single precision.
pub(crate) fn all_sums_of_squares(gpu: &Gpu, all: &[&Buffer]) -> Vec<Vec<f64>> {
    let mut recording = gpu.record();
    let sums = |x: &&Buffer| {
        let chunks = x.len().div_ceil(SUM_CHUNK);
        let sums = recording.room(chunks);
        if chunks > 0 {
            let bindings = [Read(x), Write(&sums)];
            recording.run(SQUARES, &bindings, &words![x.len()], grid(chunks));
        }
        sums
    };
    let sums: Vec<Buffer> = all.iter().map(sums).collect();
    drop(recording);
    let found = gpu.read(&Vec::from_iter(&sums));
    let wide = |word: u32| f64::from(f32::from_bits(word));
    let all_wide = |words: Vec<u32>| words.into_iter().map(wide).collect();
    found.into_iter().map(all_wide).collect()
}

pub(crate) fn first_non_finite(gpu: &Gpu, x: &Buffer) -> Option<usize> {
    let chunks = x.len().div_ceil(SUM_CHUNK);
    if chunks == 0 {
        return None;
    }
    let mut recording = gpu.record();
    let places = recording.room(chunks);
    let bindings = [Read(x), Write(&places)];
    recording.run(NON_FINITE, &bindings, &words![x.len()], grid(chunks));
    drop(recording);
    let places = gpu.read(&[&places]).concat();
    let place = places.into_iter().min().filter(|&place| place != u32::MAX);
    place.map(|place| place as usize)
}
