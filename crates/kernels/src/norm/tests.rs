use super::*;
use crate::reference;
use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, wide};

const KINDS: [NormKind; 3] = [NormKind::Layer, NormKind::Rms, NormKind::Scalar];

/// All kinds, without and with dropout.
fn kinds_with_dropout() -> impl Iterator<Item = (NormKind, Option<DropoutCall>)> {
    let dropout = DropoutCall { rate: 0.3, seed: 1, micro_batch: 2, site: 3 };
    let of_kind = move |kind| [(kind, None), (kind, Some(dropout))];
    KINDS.into_iter().flat_map(of_kind)
}

fn call(kind: NormKind, rows: usize, d: usize) -> NormCall {
    NormCall { kind, rows, d, epsilon: 1e-5 }
}

/// A gain and, if the kind has one, a bias.
fn parameters(kind: NormKind, d: usize) -> (Vec<f32>, Option<Vec<f32>>) {
    let len = kind.width(d);
    (random(len, 2), (kind != NormKind::Rms).then(|| random(len, 3)))
}

/// Output, dx, dgain and dbias.
fn run(kind: NormKind, d: usize, x: &[f32], grad: &[f32]) -> [Vec<f32>; 4] {
    let (gain, bias) = parameters(kind, d);
    let call = call(kind, x.len() / d, d);
    let (mut out, mut dx) = (vec![f32::NAN; x.len()], vec![f32::NAN; x.len()]);
    let (mut dgain, mut dbias) =
        (vec![f32::NAN; gain.len()], vec![f32::NAN; bias.as_ref().map_or(0, Vec::len)]);
    norm(call, x, &gain, bias.as_deref(), &mut out);
    let gradients = NormGradients {
        x: &mut dx[..],
        gain: &mut dgain[..],
        bias: bias.is_some().then_some(&mut dbias[..]),
    };
    norm_backward(call, x, &gain, grad, gradients);
    [out, dx, dgain, dbias]
}

#[test]
fn forward_and_backward_match_the_reference() {
    for kind in KINDS {
        for (rows, d) in [(1, 2), (3, 17), (70, 33), (130, 64), (0, 4)] {
            let (x, grad) = (random(rows * d, 1), random(rows * d, 4));
            let [out, dx, dgain, dbias] = run(kind, d, &x, &grad);
            let (gain, bias) = parameters(kind, d);
            let (call, x, gain) = (call(kind, rows, d), wide(&x), wide(&gain));
            let bias = bias.map(|bias| wide(&bias));
            let what = format!("{kind:?} [{rows}, {d}]");
            let twin = reference::norm(call, &x, &gain, bias.as_deref());
            assert_close(&out, &twin, 1e-5, &what);
            let [twin_dx, twin_dgain, twin_dbias] = reference::norm_backward(call, &x, &gain, &wide(&grad));
            let slack = if d == 2 { 1e-2 } else { 1e-4 };
            assert_close(&dx, &twin_dx, slack, &what);
            assert_close(&dgain, &twin_dgain, 1e-4, &what);
            if kind != NormKind::Rms {
                assert_close(&dbias, &twin_dbias, 1e-4, &what);
            }
        }
    }
}

#[test]
fn the_residual_norm_equals_dropout_sum_and_norm() {
    for (kind, dropout) in kinds_with_dropout() {
        for (rows, d) in [(1, 3), (150, 33), (700, 130)] {
            let (x, y, grad) = (random(rows * d, 1), random(rows * d, 5), random(rows * d, 4));
            let (gain, bias) = parameters(kind, d);
            let mut expected = vec![0.0; x.len()];
            dropout_add(0, &y, Some(&x), dropout, &mut expected);
            let [out, dx, dgain, dbias] = run(kind, d, &expected, &grad);
            let call = call(kind, rows, d);
            let (mut sum, mut found) = (vec![f32::NAN; x.len()], vec![f32::NAN; x.len()]);
            let (inputs, bias) = ([&x[..], &y[..]], bias.as_deref());
            residual_norm(call, dropout, inputs, &gain, bias, &mut sum, &mut found);
            assert_eq!((bits(&sum), bits(&found)), (bits(&expected), bits(&out)));
            let mut found = [x.clone(), gain.clone(), gain.clone(), y.clone()];
            let [found_dx, found_dgain, found_dbias, dy] = &mut found;
            let gradients =
                NormGradients { x: found_dx, gain: found_dgain, bias: bias.is_some().then_some(found_dbias) };
            residual_norm_backward(call, dropout, &sum, &gain, &grad, gradients.map(Vec::as_mut_slice), dy);
            let mut expected_dy = vec![0.0; x.len()];
            dropout_add(0, &dx, None, dropout, &mut expected_dy);
            assert_eq!(bits(&found[0]), bits(&dx));
            assert_eq!(bits(&found[1]), bits(&dgain));
            if bias.is_some() {
                assert_eq!(bits(&found[2]), bits(&dbias));
            }
            assert_eq!(bits(&found[3]), bits(&expected_dy));
        }
    }
}

#[test]
fn the_residual_norm_matches_the_reference() {
    let (rows, d) = (70, 33);
    let [x, y, grad] = [1, 5, 4].map(|seed| random(rows * d, seed));
    for (kind, dropout) in kinds_with_dropout() {
        let (call, (gain, bias)) = (call(kind, rows, d), parameters(kind, d));
        let bias = bias.as_deref();
        let mut out = [x.clone(), x.clone()];
        let [sum, normed] = &mut out;
        residual_norm(call, dropout, [&x, &y], &gain, bias, sum, normed);
        let mut gradients = [x.clone(), gain.clone(), gain.clone(), x.clone()];
        let [dx, dgain, dbias, dy] = &mut gradients;
        let targets = NormGradients { x: dx, gain: dgain, bias: bias.is_some().then_some(dbias) };
        residual_norm_backward(call, dropout, &out[0], &gain, &grad, targets.map(Vec::as_mut_slice), dy);
        let wide_bias = bias.map(wide);
        let [x, y, gain, sum, grad] = [&x, &y, &gain, &out[0], &grad].map(|x| wide(x));
        let bias = wide_bias.as_deref();
        let twins = reference::residual_norm(call, dropout, [&x, &y], &gain, bias);
        for (found, twin) in out.iter().zip(&twins) {
            assert_close(found, twin, 1e-5, &format!("{kind:?}, {dropout:?}"));
        }
        let twins = reference::residual_norm_backward(call, dropout, &sum, &gain, &grad);
        for (number, (found, twin)) in gradients.iter().zip(&twins).enumerate() {
            // The RMS norm has no bias.
            if (kind, number) != (NormKind::Rms, 2) {
                let what = format!("{kind:?}, {dropout:?}, gradient {number}");
                assert_close(found, twin, 1e-4, &what);
            }
        }
    }
}

#[test]
fn constant_rows_and_single_columns_stay_finite() {
    for kind in KINDS {
        for d in [1, 8] {
            for parts in run(kind, d, &vec![3.0; 2 * d], &vec![1.0; 2 * d]) {
                assert!(parts.iter().all(|x| x.is_finite()), "{kind:?} with {d} columns: {parts:?}");
            }
        }
    }
}

#[test]
fn rows_do_not_depend_on_each_other() {
    for kind in KINDS {
        let d = 37;
        let (x, grad) = (random(70 * d, 1), random(70 * d, 4));
        let [out, dx, ..] = run(kind, d, &x, &grad);
        for rows in [1, 5, 69] {
            let [some_out, some_dx, ..] = run(kind, d, &x[..rows * d], &grad[..rows * d]);
            assert_eq!(bits(&some_out), bits(&out[..rows * d]));
            assert_eq!(bits(&some_dx), bits(&dx[..rows * d]));
        }
    }
}

#[test]
fn the_thread_count_changes_nothing() {
    let (x, grad) = (random(700 * 130, 1), random(700 * 130, 4));
    for kind in KINDS {
        assert_same_on_all_pools(|| run(kind, 130, &x, &grad).concat());
    }
}
