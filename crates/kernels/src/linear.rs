//! Fully connected layers: `y = activation(x Wᵀ + b)`, and their gradients.

use rayon::prelude::*;

use crate::gemm::{Accumulate, Epilogue, View, gemm, gemm_parallel};
use crate::parallel::{for_row_chunks, is_large};
use crate::scratch::with_scratch;
use crate::tile::TileMut;

/// Rows whose gradients are summed up before they are added to those of the rows before.
const SUM_ROWS: usize = 128;
/// Columns that one task sums up.
const SUM_COLS: usize = 64;

/// What follows the affine map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activation {
    /// Nothing.
    Identity,
    /// max(0, y).
    Relu,
}

/// The shape of a linear layer's call.
#[derive(Clone, Copy, Debug)]
pub struct LinearShape {
    /// Rows of input and output.
    pub rows: usize,
    /// Columns of the input.
    pub d_in: usize,
    /// Columns of the output.
    pub d_out: usize,
}

impl LinearShape {
    fn check(&self, x: &[f32], weight: &[f32], out: &[f32]) {
        let Self { rows, d_in, d_out } = *self;
        assert_eq!(x.len(), rows * d_in, "`x` is [{rows}, {d_in}]");
        assert_eq!(weight.len(), d_out * d_in, "`weight` is [{d_out}, {d_in}]");
        assert_eq!(out.len(), rows * d_out, "`out` is [{rows}, {d_out}]");
    }
}

/// `out` `[rows, d_out]` = activation(`x` `[rows, d_in]` · `weight` `[d_out, d_in]`ᵀ + `bias` `[d_out]`).
///
/// # Panics
/// If a slice does not fit the shape.
pub fn linear(
    shape: LinearShape,
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    activation: Activation,
    out: &mut [f32],
) {
    shape.check(x, weight, out);
    let LinearShape { rows, d_in, d_out } = shape;
    if let Some(bias) = bias {
        assert_eq!(bias.len(), d_out, "`bias` is [{d_out}]");
    }
    let mut out = TileMut::new(out, rows, d_out, d_out);
    let (x, weight) = (View::rows(x, d_in), View::transposed(weight, d_in));
    gemm_parallel(
        d_in,
        x,
        weight,
        &mut out,
        Accumulate::Overwrite,
        Epilogue { bias, activation },
    );
}

/// Where [`linear_backward`] puts the gradients. What is `None` is not computed.
#[derive(Debug, Default)]
pub struct LinearGradients<'a> {
    /// Of the input, `[rows, d_in]`.
    pub x: Option<&'a mut [f32]>,
    /// Of the weight, `[d_out, d_in]`.
    pub weight: Option<&'a mut [f32]>,
    /// Of the bias, `[d_out]`.
    pub bias: Option<&'a mut [f32]>,
}

/// The gradients of [`linear`], whose result was `out`, from the gradient `grad_out` of that result, both
/// `[rows, d_out]`. `out` is read for [`Activation::Relu`] only.
///
/// # Panics
/// If a slice does not fit the shape.
pub fn linear_backward(
    shape: LinearShape,
    x: &[f32],
    weight: &[f32],
    out: &[f32],
    grad_out: &[f32],
    activation: Activation,
    gradients: LinearGradients<'_>,
) {
    let LinearShape { rows, d_out, .. } = shape;
    shape.check(x, weight, grad_out);
    match activation {
        Activation::Identity => affine_backward(shape, x, weight, grad_out, gradients),
        Activation::Relu => {
            assert_eq!(out.len(), rows * d_out, "`out` is [{rows}, {d_out}]");
            with_scratch(rows * d_out, |masked| {
                for_row_chunks(masked, 1, |start, masked| {
                    let end = start + masked.len();
                    mask_relu(&out[start..end], &grad_out[start..end], masked);
                });
                affine_backward(shape, x, weight, masked, gradients);
            });
        }
    }
}

vectorised! {
    fn mask_relu(out: &[f32], grad_out: &[f32], masked: &mut [f32]) {
        for ((masked, &out), &grad) in masked.iter_mut().zip(out).zip(grad_out) {
            *masked = if out > 0.0 { grad } else { 0.0 };
        }
    }
}

fn affine_backward(
    shape: LinearShape,
    x: &[f32],
    weight: &[f32],
    grad: &[f32],
    gradients: LinearGradients<'_>,
) {
    let LinearShape { rows, d_in, d_out } = shape;
    if let Some(dx) = gradients.x {
        let (grad, weight) = (View::rows(grad, d_out), View::rows(weight, d_in));
        gemm(rows, d_in, d_out, grad, weight, dx, Accumulate::Overwrite);
    }
    if let Some(dweight) = gradients.weight {
        let (grad, x) = (View::transposed(grad, d_out), View::rows(x, d_in));
        gemm(d_out, d_in, rows, grad, x, dweight, Accumulate::Overwrite);
    }
    if let Some(dbias) = gradients.bias {
        assert_eq!(dbias.len(), d_out, "`bias` gradient is [{d_out}]");
        dbias.fill(0.0);
        add_column_sums(grad, dbias);
    }
}

/// Adds to `sums[j]` the sum of column j of the row-major `matrix` with `sums.len()` columns.
pub(crate) fn add_column_sums(matrix: &[f32], sums: &mut [f32]) {
    let d = sums.len();
    let task =
        |(block, sums): (usize, &mut [f32])| add_column_block(matrix, d, block * SUM_COLS, sums);
    if is_large(matrix.len()) {
        sums.par_chunks_mut(SUM_COLS).enumerate().for_each(task);
    } else {
        sums.chunks_mut(SUM_COLS).enumerate().for_each(task);
    }
}

vectorised! {
    fn add_column_block(matrix: &[f32], d: usize, first: usize, sums: &mut [f32]) {
        for rows in matrix.chunks(SUM_ROWS * d) {
            let mut block = [0.0f32; SUM_COLS];
            let block = &mut block[..sums.len()];
            for row in rows.chunks_exact(d) {
                for (sum, &x) in block.iter_mut().zip(&row[first..]) {
                    *sum += x;
                }
            }
            for (sum, &block) in sums.iter_mut().zip(&*block) {
                *sum += block;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, wide};

    const SHAPES: [(usize, usize, usize); 6] = [
        (1, 1, 1),
        (5, 17, 33),
        (70, 64, 20),
        (300, 9, 7),
        (0, 4, 3),
        (3, 0, 2),
    ];

    #[test]
    fn forward_and_backward_match_the_twins() {
        for (rows, d_in, d_out) in SHAPES {
            for activation in [Activation::Identity, Activation::Relu] {
                let shape = LinearShape { rows, d_in, d_out };
                let (x, w, b) = (
                    random(rows * d_in, 1),
                    random(d_out * d_in, 2),
                    random(d_out, 3),
                );
                let grad = random(rows * d_out, 4);
                let mut out = vec![f32::NAN; rows * d_out];
                linear(shape, &x, &w, Some(&b), activation, &mut out);
                let what = format!("{shape:?} {activation:?}");
                let twin =
                    reference::linear(shape, &wide(&x), &wide(&w), Some(&wide(&b)), activation);
                assert_close(&out, &twin, 1e-5, &what);
                let (mut dx, mut dw, mut db) = (x.clone(), w.clone(), b.clone());
                let gradients = LinearGradients {
                    x: Some(&mut dx),
                    weight: Some(&mut dw),
                    bias: Some(&mut db),
                };
                linear_backward(shape, &x, &w, &out, &grad, activation, gradients);
                let (x, w, out, grad) = (wide(&x), wide(&w), wide(&out), wide(&grad));
                let twins = reference::linear_backward(shape, &x, &w, &out, &grad, activation);
                for (found, twin) in [dx, dw, db].iter().zip(&twins) {
                    assert_close(found, twin, 2e-5, &what);
                }
            }
        }
    }

    #[test]
    fn rows_do_not_depend_on_each_other_and_bias_is_optional() {
        let (d_in, d_out) = (40, 30);
        let (x, w, zero) = (
            random(50 * d_in, 1),
            random(d_out * d_in, 2),
            vec![0.0; d_out],
        );
        let run = |rows: usize, bias: Option<&[f32]>| {
            let mut out = vec![0.0; rows * d_out];
            let shape = LinearShape { rows, d_in, d_out };
            linear(
                shape,
                &x[..rows * d_in],
                &w,
                bias,
                Activation::Relu,
                &mut out,
            );
            bits(&out)
        };
        let all = run(50, None);
        assert!(run(50, Some(&zero)) == all);
        for rows in [1, 2, 7, 49] {
            assert!(run(rows, None) == all[..rows * d_out], "{rows} rows");
        }
    }

    #[test]
    fn nan_passes_through_relu() {
        let shape = LinearShape {
            rows: 1,
            d_in: 1,
            d_out: 1,
        };
        let mut out = [0.0];
        linear(shape, &[f32::NAN], &[1.0], None, Activation::Relu, &mut out);
        assert!(out[0].is_nan());
    }

    #[test]
    fn threads_change_nothing() {
        let shape = LinearShape {
            rows: 500,
            d_in: 150,
            d_out: 300,
        };
        let (x, w, b) = (random(500 * 150, 1), random(300 * 150, 2), random(300, 3));
        let grad = random(500 * 300, 4);
        assert_same_on_all_pools(|| {
            let mut out = vec![0.0; 500 * 300];
            linear(shape, &x, &w, Some(&b), Activation::Relu, &mut out);
            let (mut dx, mut dw, mut db) = (x.clone(), w.clone(), b.clone());
            let gradients = LinearGradients {
                x: Some(&mut dx),
                weight: Some(&mut dw),
                bias: Some(&mut db),
            };
            linear_backward(shape, &x, &w, &out, &grad, Activation::Relu, gradients);
            [out, dx, dw, db].concat()
        });
    }
}
