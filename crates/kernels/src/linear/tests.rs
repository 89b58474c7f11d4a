use super::*;
use crate::reference;
use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, wide};

const SHAPES: [(usize, usize, usize); 6] =
    [(1, 1, 1), (5, 17, 33), (70, 64, 20), (300, 9, 7), (0, 4, 3), (3, 0, 2)];

const DROPOUT: DropoutCall = DropoutCall { rate: 0.3, seed: 1, micro_batch: 2, site: 3 };

fn call(rows: usize, d_in: usize, d_out: usize, activation: Activation) -> LinearCall {
    LinearCall { rows, d_in, d_out, activation, dropout: None, precision: Float::F32 }
}

/// Random inputs of a call with `N` layers.
struct Case<const N: usize> {
    call: LinearCall,
    x: Vec<f32>,
    weights: [Vec<f32>; N],
    biases: [Vec<f32>; N],
    grad: Vec<f32>,
}

impl<const N: usize> Case<N> {
    fn new(call: LinearCall) -> Self {
        let LinearCall { rows, d_in, d_out, .. } = call;
        Self {
            call,
            x: random(rows * d_in, 1),
            weights: std::array::from_fn(|map| random(d_out * d_in, 10 + map as u32)),
            biases: std::array::from_fn(|map| random(d_out, 20 + map as u32)),
            grad: random(rows * N * d_out, 4),
        }
    }

    fn run(&self) -> CallResults<N> {
        let maps: [Affine<&[f32]>; N] = std::array::from_fn(|map| Affine {
            weight: &self.weights[map][..],
            bias: Some(&self.biases[map][..]),
        });
        let mut out = vec![f32::NAN; self.grad.len()];
        linear(self.call, &self.x, &maps, &mut out);
        let (mut dx, mut dw, mut db) = (self.x.clone(), self.weights.clone(), self.biases.clone());
        let mut gradients: Vec<_> = dw
            .iter_mut()
            .zip(&mut db)
            .map(|(weight, bias)| AffineGradients {
                weight: Some(&mut weight[..]),
                bias: Some(&mut bias[..]),
            })
            .collect();
        let kept = LinearKept { x: &self.x[..], weights: &maps.map(|map| map.weight), out: &out[..] };
        let grad = &mut self.grad.clone();
        linear_backward(self.call, kept, grad, Some(&mut dx), &mut gradients);
        CallResults { out, dx, dw, db }
    }
}

/// Results of a call.
struct CallResults<const N: usize> {
    out: Vec<f32>,
    dx: Vec<f32>,
    dw: [Vec<f32>; N],
    db: [Vec<f32>; N],
}

#[test]
fn forward_and_backward_match_the_reference() {
    for (precision, (rows, d_in, d_out)) in
        [Float::F32, Float::Bf16].into_iter().flat_map(|precision| SHAPES.map(|shape| (precision, shape)))
    {
        for (activation, dropout) in
            [(Activation::Identity, None), (Activation::Relu, None), (Activation::Relu, Some(DROPOUT))]
        {
            let call = LinearCall { dropout, precision, ..call(rows, d_in, d_out, activation) };
            let case = Case::<1>::new(call);
            let CallResults { out, dx, dw: [dw], db: [db] } = case.run();
            let what = format!("{call:?}");
            let (x, w, b) = (wide(&case.x), wide(&case.weights[0]), wide(&case.biases[0]));
            let twin = reference::linear(call, &x, &w, Some(&b));
            assert_close(&out, &twin, 1e-5, &what);
            let twins = reference::linear_backward(call, &x, &w, &wide(&out), &wide(&case.grad));
            for (found, twin) in [dx, dw, db].iter().zip(&twins) {
                assert_close(found, twin, 2e-5, &what);
            }
        }
    }
}

#[test]
fn only_what_is_wanted_is_read() {
    let case = Case::<2>::new(call(70, 33, 20, Activation::Identity));
    let CallResults { dx, dw, db, .. } = case.run();
    let nothing = LinearKept::<&[f32]> { x: &[], weights: &[], out: &[] };
    let weights = case.weights.each_ref().map(Vec::as_slice);
    let kept = LinearKept { weights: &weights[..], ..nothing };
    let mut grad = case.grad.clone(); // nothing changes it without an activation
    let mut found = vec![f32::NAN; dx.len()];
    let mut none = [AffineGradients::default(), AffineGradients::default()];
    linear_backward(case.call, kept, &mut grad, Some(&mut found), &mut none);
    assert_eq!(bits(&found), bits(&dx));
    for map in 0..2 {
        let [mut weight, mut bias] = [&dw, &db].map(|all| vec![f32::NAN; all[map].len()]);
        let mut gradients = [AffineGradients::default(), AffineGradients::default()];
        gradients[map].bias = Some(&mut bias[..]);
        linear_backward(case.call, nothing, &mut grad, None, &mut gradients);
        assert_eq!(bits(&bias), bits(&db[map]));
        let mut gradients = [AffineGradients::default(), AffineGradients::default()];
        gradients[map].weight = Some(&mut weight[..]);
        let kept = LinearKept { x: &case.x[..], ..nothing };
        linear_backward(case.call, kept, &mut grad, None, &mut gradients);
        assert_eq!(bits(&weight), bits(&dw[map]));
    }
}

#[test]
fn joined_layers_give_the_bits_of_separate_ones() {
    let case = Case::<3>::new(call(70, 33, 20, Activation::Identity));
    let CallResults { out, dx, dw, db } = case.run();
    let mut total = vec![0.0; dx.len()];
    for map in 0..3 {
        let columns =
            |x: &[f32]| -> Vec<f32> { x.chunks(60).flat_map(|row| row[map * 20..][..20].to_vec()).collect() };
        let mut alone = Case::<1>::new(case.call);
        alone.weights[0].clone_from(&case.weights[map]);
        alone.biases[0].clone_from(&case.biases[map]);
        alone.grad = columns(&case.grad);
        let alone = alone.run();
        assert_eq!(bits(&alone.out), bits(&columns(&out)));
        assert_eq!(bits(&alone.dw[0]), bits(&dw[map]));
        assert_eq!(bits(&alone.db[0]), bits(&db[map]));
        total.iter_mut().zip(alone.dx).for_each(|(total, dx)| *total += dx);
    }
    assert_close(&dx, &wide(&total), 1e-6, "dx of three layers");
}

#[test]
fn rows_do_not_depend_on_each_other_and_bias_is_optional() {
    let (d_in, d_out) = (40, 30);
    let (x, weight, zero) = (random(50 * d_in, 1), random(d_out * d_in, 2), vec![0.0; d_out]);
    for precision in [Float::F32, Float::Bf16] {
        let run = |rows: usize, bias: Option<&[f32]>| {
            let mut out = vec![0.0; rows * d_out];
            let call = LinearCall { precision, ..call(rows, d_in, d_out, Activation::Relu) };
            let map = Affine { weight: &weight[..], bias };
            linear(call, &x[..rows * d_in], &[map], &mut out);
            bits(&out)
        };
        let all = run(50, None);
        assert!(run(50, Some(&zero)) == all);
        for rows in [1, 2, 7, 49] {
            assert!(run(rows, None) == all[..rows * d_out], "{rows} rows");
        }
    }
}

#[test]
fn relu_propagates_nan() {
    for precision in [Float::F32, Float::Bf16] {
        let mut out = [0.0];
        let map = Affine { weight: &[1.0][..], bias: None };
        let call = LinearCall { precision, ..call(1, 1, 1, Activation::Relu) };
        linear(call, &[f32::NAN], &[map], &mut out);
        assert!(out[0].is_nan());
    }
}

#[test]
fn the_thread_count_changes_nothing() {
    for precision in [Float::F32, Float::Bf16] {
        let case = Case::<2>::new(LinearCall {
            precision,
            dropout: Some(DROPOUT),
            ..call(500, 150, 300, Activation::Relu)
        });
        assert_same_on_all_pools(|| {
            let CallResults { out, dx, dw, db } = case.run();
            [out, dx, dw.concat(), db.concat()].concat()
        });
    }
}
