use super::*;
use crate::reference;
use crate::testing::{assert_close, assert_derivative, assert_same_on_all_pools, random, wide};

const ALL: [ActivationKind; 4] =
    [ActivationKind::Relu, ActivationKind::Gelu, ActivationKind::GeluTanh, ActivationKind::Silu];

#[test]
fn values_and_derivatives_match_the_reference() {
    let x: Vec<f32> = (-800..=800).map(|i| i as f32 / 100.0 + 0.003).collect();
    let ones = vec![1.0; x.len()];
    for f in ALL {
        let [mut y, mut dx] = [0; 2].map(|_| vec![f32::NAN; x.len()]);
        nonlinear(f, &x, &mut y);
        nonlinear_backward(f, &x, &ones, &mut dx);
        let twin: Vec<[f64; 2]> = wide(&x).iter().map(|&x| reference::nonlinear(f, x)).collect();
        let part = |number: usize| twin.iter().map(|pair| pair[number]).collect::<Vec<f64>>();
        assert_close(&y, &part(0), 5e-7, &format!("{f:?}"));
        assert_close(&dx, &part(1), 1e-6, &format!("derivative of {f:?}"));
    }
}

#[test]
fn exact_gelu_and_tanh_match_the_reference() {
    let x: Vec<f32> = (-800..=800).map(|i| i as f32 / 100.0 + 0.003).collect();
    let ones = vec![1.0; x.len()];
    let [mut y, mut dx] = [0; 2].map(|_| vec![f32::NAN; x.len()]);
    exact_gelu(&x, &mut y);
    exact_gelu_backward(&x, &ones, &mut dx);
    let twin = |part: usize| -> Vec<f64> {
        let wide = wide(&x).into_iter();
        wide.map(|x| reference::nonlinear(ActivationKind::Gelu, x)[part]).collect()
    };
    assert_close(&y, &twin(0), 5e-7, "GELU");
    assert_close(&dx, &twin(1), 1e-6, "derivative of GELU");
    let mut dx = ones;
    tanh(&x, &mut y);
    tanh_backward(&y, &mut dx);
    let wide = wide(&x);
    let values: Vec<f64> = wide.iter().map(|x| x.tanh()).collect();
    let slopes: Vec<f64> = wide.iter().map(|x| 1.0 - x.tanh().powi(2)).collect();
    assert_close(&y, &values, 5e-7, "tanh");
    assert_close(&dx, &slopes, 1e-6, "derivative of tanh");
}

#[test]
fn the_reference_derivatives_are_correct() {
    let x: Vec<f64> = (-40..=40).map(|i| f64::from(i) / 10.0 + 0.03).collect();
    let weights = vec![1.0; x.len()];
    for f in ALL {
        let slopes: Vec<f64> = x.iter().map(|&x| reference::nonlinear(f, x)[1]).collect();
        let values = |x: &[f64]| x.iter().map(|&x| reference::nonlinear(f, x)[0]).collect();
        assert_derivative(&x, &weights, &slopes, values);
    }
}

#[test]
fn gates_match_the_reference() {
    for f in ALL {
        for (rows, d) in [(0, 3), (2, 0), (1, 1), (5, 17), (300, 130)] {
            let x: Vec<f32> = random(rows * 2 * d, 1).iter().map(|x| 4.0 * x).collect();
            let grad = random(rows * d, 2);
            let mut out = vec![f32::NAN; rows * d];
            let mut dx = vec![f32::NAN; x.len()];
            gated(f, d, &x, &mut out);
            gated_backward(f, d, &x, &grad, &mut dx);
            let [twin, dtwin] = reference::gated(f, d, &wide(&x), &wide(&grad));
            assert_close(&out, &twin, 1e-6, &format!("{f:?}"));
            assert_close(&dx, &dtwin, 2e-6, &format!("gradient of {f:?}"));
        }
    }
}

#[test]
fn the_thread_count_changes_nothing() {
    let (x, grad) = (random(400 * 400, 1), random(400 * 200, 2));
    assert_same_on_all_pools(|| {
        let (mut out, mut dx) = (grad.clone(), x.clone());
        gated(ActivationKind::Gelu, 200, &x, &mut out);
        gated_backward(ActivationKind::Gelu, 200, &x, &grad, &mut dx);
        let (mut gelu, mut slopes, mut tanhs) = (x.clone(), x.clone(), x.clone());
        exact_gelu(&x, &mut gelu);
        exact_gelu_backward(&x, &dx, &mut slopes);
        tanh(&x, &mut tanhs);
        tanh_backward(&x, &mut dx);
        [out, dx, gelu, slopes, tanhs].concat()
    });
}
