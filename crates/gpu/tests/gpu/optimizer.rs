use attentive_device::{AdamStep, Buffer, Part, SgdStep, on};
use attentive_kernels::optimizer::SUM_CHUNK;

use super::*;

#[test]
fn steps() {
    for n in [1, 7, 300, 5000] {
        agree(&format!("Adam, {n} elements"), |device| {
            let (mut param, mut mean, mut square) =
                (random(1, n + 5), random(2, n), Buffer::zeros(n));
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
                let part = Part {
                    buffer: &mut param,
                    range: 3..n + 3,
                };
                let grad = random(10 + step.step, n);
                device.adam(step, part, [&mut mean, &mut square], &grad);
            }
            vec![param, mean, square]
        });
        for momentum in [0.0, 0.9] {
            agree(&format!("SGD, {n} elements, {momentum}"), |device| {
                let (mut param, mut velocity) = (random(1, n + 5), random(2, n));
                let step = SgdStep {
                    learning_rate: 0.1,
                    momentum,
                    l2: 0.01,
                    grad_scale: 2.0,
                };
                for number in 0..3 {
                    let part = Part {
                        buffer: &mut param,
                        range: 2..n + 2,
                    };
                    let velocity = (momentum > 0.0).then_some(&mut velocity);
                    device.sgd(step, part, velocity, &random(10 + number, n));
                }
                vec![param, velocity]
            });
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
        let exact = x
            .chunks(SUM_CHUNK)
            .map(|chunk| chunk.iter().map(square).sum::<f64>());
        let exact: Vec<f64> = exact.collect();
        assert_eq!(found[0].len(), exact.len());
        for (found, exact) in found[0].iter().zip(&exact) {
            assert!(
                (found - exact).abs() <= 1e-6 * exact,
                "{n}: {found} and {exact}"
            );
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
