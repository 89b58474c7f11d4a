use attentive_device::{Buffer, BufferSliceMut, OptimizerStep, VerdictCall, on};
use attentive_kernels::optimizer::SUM_CHUNK;
use attentive_kernels::optimizer::{AdamStep, SgdStep};

use super::*;

/// None, one that clips, and one that leaves everything as it is.
fn verdict(device: &dyn Device, number: u64) -> Option<Buffer> {
    let verdict = match number % 3 {
        0 => return None,
        1 => [0.5, 0.0],
        _ => [1.0, 1.0],
    };
    Some(device.upload(verdict.to_vec()))
}

#[test]
fn verdicts() {
    let (small, nan, inf) = (1e-3, f32::NAN, f32::INFINITY);
    let cases = [
        // The limit, the loss, a gradient, whether the update before was damaged.
        (0.0, 1.0, 1.0, Some(0.0)),
        (small, 1.0, 1.0, None),
        (100.0, 1.0, 1.0, Some(0.0)),
        (small, nan, 1.0, Some(0.0)),
        (0.0, inf, 1.0, None),
        (small, 1.0, nan, None),
        (0.0, 1.0, -inf, Some(0.0)),
        (small, 1.0, 1.0, Some(1.0)),
    ];
    for (index, (clip_norm, loss, element, before)) in cases.into_iter().enumerate() {
        let found = agree(&format!("verdict {index}"), |device| {
            let mut gradient = numbers(1, 2 * SUM_CHUNK + 7);
            gradient[SUM_CHUNK + 3] = element;
            let gradients = [gradient.into(), Buffer::EMPTY, random(2, 5)];
            let squares = device.squares(&Vec::from_iter(&gradients));
            let before = before.map(|before| vec![1.0, before].into());
            let verdict = device.verdict(VerdictCall {
                clip_norm,
                n_tokens: 3.0,
                loss: &vec![loss].into(),
                squares: &squares,
                before: before.as_ref(),
            });
            if element.is_finite() {
                vec![squares, verdict]
            } else {
                // The factor may be anything.
                vec![vec![verdict.values()[1]].into()]
            }
        });
        if let Some(verdict) = found.last() {
            let damaged = if index > 2 { 1.0 } else { 0.0 };
            assert_eq!(verdict.last(), Some(&damaged), "{index}");
            let is_clipped = verdict.len() == 2 && verdict[0] < 0.5;
            assert_eq!(is_clipped, matches!(index, 1 | 3 | 7), "{index}");
        }
    }
}

/// `n` parameters and their moments after three steps.
pub(super) fn adam(device: &dyn Device, n: usize) -> Vec<Buffer> {
    let (mut param, mut mean, mut square) = (random(1, n + 5), random(2, n), Buffer::from(vec![0.25; n]));
    for step in 1..=3 {
        let step = AdamStep {
            learning_rate: 0.01,
            beta1: 0.9,
            beta2: 0.98,
            epsilon: 1e-9,
            weight_decay: 0.1,
            l2: 0.05,
            grad_scale: 0.5,
            step,
        };
        let part = BufferSliceMut { buffer: &mut param, range: 3..n + 3 };
        let grad = random(10 + step.step, n);
        let verdict = verdict(device, step.step);
        let moments = [&mut mean, &mut square];
        device.optimize(OptimizerStep::Adam(step), part, moments.into(), &grad, verdict.as_ref());
    }
    vec![param, mean, square]
}

/// `n` parameters and their velocities after three steps.
pub(super) fn sgd(device: &dyn Device, n: usize, momentum: f32) -> Vec<Buffer> {
    let (mut param, mut velocity) = (random(1, n + 5), random(2, n));
    let step = SgdStep { learning_rate: 0.1, momentum, l2: 0.01, grad_scale: 2.0 };
    for number in 0..3 {
        let part = BufferSliceMut { buffer: &mut param, range: 2..n + 2 };
        let velocity = (momentum > 0.0).then_some(&mut velocity);
        let verdict = verdict(device, number);
        let grad = random(10 + number, n);
        let state = velocity.into_iter().collect();
        device.optimize(OptimizerStep::Sgd(step), part, state, &grad, verdict.as_ref());
    }
    vec![param, velocity]
}

#[test]
fn steps() {
    for n in [1, 7, 300, 5000] {
        agree(&format!("Adam, {n} elements"), |device| adam(device, n));
        for momentum in [0.0, 0.9] {
            agree(&format!("SGD, {n} elements, {momentum}"), |device| sgd(device, n, momentum));
        }
    }
}

#[test]
fn sums_of_squares() {
    let Some(gpu) = gpu() else {
        return;
    };
    for n in [0, 1, 7, SUM_CHUNK, SUM_CHUNK + 1, 100_000] {
        let x = numbers(n as u64, n);
        let found = on(gpu, || {
            let (x, y) = (Buffer::from(x.clone()), Buffer::from(vec![2.0; 3]));
            gpu.all_sums_of_squares(&[&x, &y])
        });
        assert_eq!(found[1], [12.0]);
        let square = |x: &f32| f64::from(*x) * f64::from(*x);
        let exact = x.chunks(SUM_CHUNK).map(|chunk| chunk.iter().map(square).sum::<f64>());
        let exact: Vec<f64> = exact.collect();
        assert_eq!(found[0].len(), exact.len());
        for (found, exact) in found[0].iter().zip(&exact) {
            assert!((found - exact).abs() <= 1e-6 * exact, "{n}: {found} and {exact}");
        }
    }
}

#[test]
fn the_first_non_finite_element_is_found() {
    let Some(gpu) = gpu() else {
        return;
    };
    let first = |x: &[f32]| on(gpu, || gpu.first_non_finite(&x.to_vec().into()));
    assert_eq!(first(&[]), None);
    for n in [1, 20, 10_000] {
        let mut x = numbers(1, n);
        assert_eq!(first(&x), None);
        x[n - 1] = f32::NEG_INFINITY;
        assert_eq!(first(&x), Some(n - 1));
        x[n / 2] = f32::NAN;
        assert_eq!(first(&x), Some(n / 2));
    }
    assert_eq!(first(&[f32::MAX, f32::MIN_POSITIVE / 2.0, -0.0]), None);
}
