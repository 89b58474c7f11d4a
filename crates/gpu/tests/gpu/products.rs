use attentive_device::{Affine, AffineGradients, Buffer, Device, LinearCall, LinearKept, on};
use attentive_kernels::gemm::{Activation, Float};

use super::*;

pub(super) fn call([rows, d_in, d_out]: [usize; 3]) -> LinearCall {
    LinearCall { rows, d_in, d_out, activation: Activation::Identity, dropout: None, precision: Float::F32 }
}

/// The result and all gradients of `maps` layers.
pub(super) fn both(
    device: &dyn Device,
    call: LinearCall,
    stored: Float,
    maps: usize,
    biased: bool,
) -> Vec<Buffer> {
    let LinearCall { rows, d_in, d_out, .. } = call;
    let x = random(1, rows * d_in);
    let weights: Vec<Buffer> = (0..maps as u64).map(|map| weights(stored, 10 + map, d_out * d_in)).collect();
    let biases: Vec<Buffer> = (0..maps as u64).map(|map| random(20 + map, d_out)).collect();
    let map = |(weight, bias)| Affine { weight, bias: biased.then_some(bias) };
    let affine: Vec<Affine<&Buffer>> = weights.iter().zip(&biases).map(map).collect();
    let mut out = room(rows * maps * d_out);
    device.linear(call, &x, &affine, &mut out);
    let weights: Vec<&Buffer> = weights.iter().collect();
    let kept = LinearKept { x: &x, weights: &weights, out: &out };
    let mut grad = random(3, rows * maps * d_out);
    let mut dx = room(rows * d_in);
    let mut of_weights: Vec<Buffer> = (0..maps).map(|_| room(d_out * d_in)).collect();
    let mut of_biases: Vec<Buffer> = (0..maps).map(|_| room(d_out)).collect();
    let gradients = of_weights.iter_mut().zip(&mut of_biases);
    let gradients = gradients
        .map(|(weight, bias)| AffineGradients { weight: Some(weight), bias: biased.then_some(bias) });
    device.linear_backward(call, kept, &mut grad, Some(&mut dx), gradients.collect());
    let mut results = vec![out, dx];
    results.extend(of_weights);
    if biased {
        results.extend(of_biases);
    }
    results
}

const SHAPES: [[usize; 3]; 9] = [
    [1, 1, 1],
    [5, 7, 3],
    [33, 17, 65],
    [64, 64, 64],
    [130, 40, 70],
    [3, 300, 5],
    [0, 4, 5],
    [7, 4, 0],
    [200, 1, 129],
];

#[test]
fn linear_layers() {
    for stored in [Float::F32, Float::Bf16] {
        for shape in SHAPES {
            let plain = call(shape);
            for (maps, biased) in [(1, true), (1, false), (3, true)] {
                let what = format!("{shape:?} · {maps} in {stored:?}, {biased}");
                agree(&what, |device| both(device, plain, stored, maps, biased));
            }
            let relu = LinearCall { activation: Activation::Relu, ..plain };
            let dropped = LinearCall { dropout: Some(dropout(0.3)), ..relu };
            let in_bf16 = LinearCall { precision: Float::Bf16, ..plain };
            for call in [relu, dropped, in_bf16] {
                let what = format!("{call:?} in {stored:?}");
                agree(&what, |device| both(device, call, stored, 1, true));
            }
        }
    }
}

#[test]
fn numbers_in_bf16_are_read_back() {
    for len in [0, 1, 2, 7, 1000] {
        let found = agree(&format!("{len}"), |device| {
            let buffer = device.upload_bf16(numbers(1, len));
            assert_eq!(buffer.len(), len);
            vec![device.download(&buffer).into_owned().into()]
        });
        let expected = numbers(1, len).into_iter().map(attentive_kernels::gemm::bf16::round);
        assert!(found.is_empty() || found == [Vec::from_iter(expected)], "{len}");
    }
}

#[test]
#[should_panic(expected = "only weights are bf16")]
fn what_is_not_a_weight_is_not_read_as_bf16() {
    let Some(gpu) = gpu() else {
        panic!("only weights are bf16");
    };
    on(gpu, || {
        let x = gpu.upload_bf16(vec![1.0; 4]);
        crate::current().scale(&mut { x }, 2.0);
    });
}

/// Asserts that `rows(first, count)`, of `d_out` numbers each, do not depend on the other rows.
fn are_the_same_alone(d_out: usize, rows: impl Fn(usize, usize) -> Vec<f32>) {
    // In tiles of each size.
    let all = rows(0, 600);
    for (first, count) in [(0, 1), (599, 1), (17, 40), (100, 400), (3, 130)] {
        let part = &all[first * d_out..][..count * d_out];
        assert_eq!(bits(&[rows(first, count)]), bits(&[part.to_vec()]), "{count} rows from {first}");
    }
}

#[test]
fn a_row_alone_has_the_bits_it_has_among_others() {
    let Some(gpu) = gpu() else {
        return;
    };
    let d_out = 1100;
    for (d_in, stored) in [(100, Float::F32), (101, Float::Bf16)] {
        let x = numbers(1, 600 * d_in);
        let rows = |first: usize, rows: usize| {
            on(gpu, || {
                let x = Buffer::from(x[first * d_in..][..rows * d_in].to_vec());
                let (weight, bias) = (weights(stored, 2, d_out * d_in), random(3, d_out));
                let map = Affine { weight: &weight, bias: Some(&bias) };
                let mut out = room(rows * d_out);
                crate::current().linear(call([rows, d_in, d_out]), &x, &[map], &mut out);
                out.into_vec()
            })
        };
        are_the_same_alone(d_out, rows);
    }
}
