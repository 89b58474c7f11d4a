//! Fully connected layers, one or several with the same input, and their gradients.

use rayon::prelude::*;

use crate::area::{area, assert_shape, assert_shape_if_any};
use crate::dropout::DropoutCall;
use crate::gemm::{
    Activation, Epilogue, Float, PreparedLeft, Product, View, with_prepared_left, with_prepared_right,
};
use crate::parallel::{for_chunks, is_large};
use crate::simd::LANES;
use crate::threads::Threads;
use crate::tile::TileMut;

/// Rows whose gradients are summed before they are added to the running total.
const SUM_ROWS: usize = 128;
/// The most columns summed together: their sums stay in the L1 cache.
const SUM_COLS: usize = 1024;

/// A call: `out = dropout(activation(x Wᵀ + b))` for each of several layers (W, b), with concatenated
/// results.
#[derive(Clone, Copy, Debug)]
pub struct LinearCall {
    /// Rows of input and output.
    pub rows: usize,
    /// Columns of the input.
    pub d_in: usize,
    /// Columns of one layer's result.
    pub d_out: usize,
    /// Applied to the result of each layer.
    pub activation: Activation,
    /// Applied after the activation, which must then be [`Activation::Relu`]: the zeros of the result serve
    /// as the mask.
    pub dropout: Option<DropoutCall>,
    /// Matmul precision.
    pub precision: Float,
}

/// Weight and bias of one layer.
#[derive(Clone, Copy, Debug)]
pub struct Affine<T> {
    /// `[d_out, d_in]`
    pub weight: T,
    /// `[d_out]`
    pub bias: Option<T>,
}

impl<T> Affine<T> {
    /// Applies `f` to each operand.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> Affine<U> {
        Affine { weight: f(self.weight), bias: self.bias.map(f) }
    }
}

impl Affine<&[f32]> {
    pub(crate) fn check(self, d_out: usize, d_in: usize) {
        assert_shape("weight", self.weight, [d_out, d_in]);
        assert_shape_if_any("bias", self.bias, [d_out]);
    }
}

/// Gradient outputs of one layer. `None` skips the computation.
#[derive(Debug)]
pub struct AffineGradients<T> {
    /// `[d_out, d_in]`
    pub weight: Option<T>,
    /// `[d_out]`
    pub bias: Option<T>,
}

impl<T> Default for AffineGradients<T> {
    fn default() -> Self {
        Self { weight: None, bias: None }
    }
}

impl<T> AffineGradients<T> {
    /// Applies `f` to each output.
    pub fn map<U>(self, f: impl Fn(T) -> U + Copy) -> AffineGradients<U> {
        AffineGradients { weight: self.weight.map(f), bias: self.bias.map(f) }
    }
}

impl LinearCall {
    fn check(&self, x: &[f32], maps: &[Affine<&[f32]>], out: &[f32]) {
        let Self { rows, d_in, d_out, .. } = *self;
        let width = area(maps.len(), d_out);
        assert_shape("x", x, [rows, d_in]);
        assert_shape("out", out, [rows, width]);
        for map in maps {
            map.check(d_out, d_in);
        }
        assert!(self.dropout.is_none() || self.activation == Activation::Relu, "dropout requires a ReLU");
    }
}

/// Computes `out` `[rows, maps.len() * d_out]` from `x` `[rows, d_in]`.
///
/// # Panics
/// If a slice does not fit.
pub fn linear(call: LinearCall, x: &[f32], maps: &[Affine<&[f32]>], out: &mut [f32]) {
    call.check(x, maps, out);
    let LinearCall { rows, d_in, d_out, .. } = call;
    let width = maps.len() * d_out;
    let tile = TileMut::new(out, rows, width, width);
    let write = |x: PreparedLeft<'_>| {
        for (number, map) in maps.iter().enumerate() {
            // SAFETY: the layers write disjoint columns, one layer after the other.
            let mut part = unsafe { tile.part(0, number * d_out, rows, d_out) };
            let epilogue = Epilogue { bias: map.bias, activation: call.activation };
            let weight = View::transposed(map.weight, d_in);
            Product::new(d_in, x, weight).then(epilogue).write_to(&mut part);
        }
    };
    let x = View::rows(x, d_in);
    match maps.len() {
        // The tasks of a single product pack its input part by part, and find it in their caches.
        1 => write(PreparedLeft::plain(call.precision, x)),
        _ => with_prepared_left(call.precision, x, [rows, d_in], write),
    }
    if let Some(dropout) = call.dropout {
        dropout.apply(out);
    }
}

/// What the backward pass reads; slices that it does not need may be empty.
#[derive(Clone, Copy, Debug)]
pub struct LinearKept<'a, T> {
    /// The input `[rows, d_in]`, read for the gradients of weights.
    pub x: T,
    /// The weight `[d_out, d_in]` of each layer, read for the gradient of the input.
    pub weights: &'a [T],
    /// The result `[rows, maps * d_out]`, read for [`Activation::Relu`].
    pub out: T,
}

/// The gradients of [`linear`] given the gradient `grad` of its result, `[rows, maps * d_out]`: `dx`
/// `[rows, d_in]` and those of each layer. An activation is undone in `grad`.
///
/// # Panics
/// If a slice does not fit.
pub fn linear_backward(
    call: LinearCall,
    kept: LinearKept<'_, &[f32]>,
    grad: &mut [f32],
    dx: Option<&mut [f32]>,
    gradients: &mut [AffineGradients<&mut [f32]>],
) {
    let LinearCall { rows, d_out, .. } = call;
    assert_shape("grad", grad, [rows, gradients.len() * d_out]);
    if call.activation == Activation::Relu {
        let scale = call.dropout.map_or(1.0, |dropout| dropout.kept_scale());
        for_chunks([kept.out], grad, |[out], grad| mask_relu(out, scale, grad));
    }
    affine_backward(call, kept, grad, dx, gradients);
}

vectorized! {
    fn mask_relu(out: &[f32], scale: f32, grad: &mut [f32]) {
        for (grad, &out) in grad.iter_mut().zip(out) {
            *grad = if out > 0.0 { *grad * scale } else { 0.0 };
        }
    }
}

fn affine_backward(
    call: LinearCall,
    kept: LinearKept<'_, &[f32]>,
    grad: &[f32],
    dx: Option<&mut [f32]>,
    gradients: &mut [AffineGradients<&mut [f32]>],
) {
    let LinearCall { rows, d_in, d_out, precision, .. } = call;
    let grad = View::rows(grad, gradients.len() * d_out);
    if let Some(dx) = dx {
        assert_eq!(kept.weights.len(), gradients.len(), "a weight per layer");
        for (number, weight) in kept.weights.iter().enumerate() {
            let grad = grad.from(0, number * d_out);
            let product = Product::new(d_out, grad, View::rows(weight, d_in));
            let product = if number > 0 { product.added() } else { product };
            product.write(precision, [rows, d_in], dx);
        }
    }
    if gradients.iter().any(|gradients| gradients.weight.is_some()) {
        with_prepared_right(precision, View::rows(kept.x, d_in), [rows, d_in], |x| {
            for (number, gradients) in gradients.iter_mut().enumerate() {
                let grad = grad.from(0, number * d_out);
                if let Some(dweight) = gradients.weight.as_deref_mut() {
                    assert_shape("dweight", dweight, [d_out, d_in]);
                    let mut dweight = TileMut::new(dweight, d_out, d_in, d_in);
                    Product::new(rows, grad.t(), x).write_to(&mut dweight);
                }
            }
        });
    }
    for (number, gradients) in gradients.iter_mut().enumerate() {
        let grad = grad.from(0, number * d_out);
        if let Some(dbias) = gradients.bias.as_deref_mut() {
            assert_shape("dbias", dbias, [d_out]);
            dbias.fill(0.0);
            add_column_sums(grad, rows, dbias);
        }
    }
}

/// Adds to `sums[j]` the sum of column j of the first `rows` rows of `matrix`, whose rows are contiguous.
pub(crate) fn add_column_sums(matrix: View<'_>, rows: usize, sums: &mut [f32]) {
    let parallel = is_large(rows * sums.len());
    let parts = if parallel { Threads::current().count() } else { 1 };
    // As wide as possible, since whole rows are read fastest.
    let width = sums.len().div_ceil(parts).next_multiple_of(LANES).clamp(LANES, SUM_COLS);
    let task = |(part, sums): (usize, &mut [f32])| {
        let columns = matrix.from(0, part * width);
        add_columns(columns.data, columns.row_stride, rows, sums);
    };
    if parallel {
        sums.par_chunks_mut(width).enumerate().for_each(task);
    } else {
        sums.chunks_mut(width).enumerate().for_each(task);
    }
}

vectorized! {
    /// Adds to `sums[j]` the sum of `columns[i * stride + j]` over the rows i. There are at most [`SUM_COLS`]
    /// columns.
    fn add_columns(columns: &[f32], stride: usize, rows: usize, sums: &mut [f32]) {
        let cols = sums.len();
        let row = |row: usize| &columns[row * stride..][..cols];
        let mut room = [0.0f32; SUM_COLS];
        let block = &mut room[..cols];
        for first in (0..rows).step_by(SUM_ROWS) {
            let end = rows.min(first + SUM_ROWS);
            let whole = end - (end - first) % 4;
            block.fill(0.0);
            for four in (first..whole).step_by(4) {
                let others = row(four + 1).iter().zip(row(four + 2)).zip(row(four + 3));
                for ((sum, &a), ((&b, &c), &d)) in block.iter_mut().zip(row(four)).zip(others) {
                    *sum = *sum + a + b + c + d;
                }
            }
            for last in whole..end {
                for (sum, &x) in block.iter_mut().zip(row(last)) {
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
mod tests;
