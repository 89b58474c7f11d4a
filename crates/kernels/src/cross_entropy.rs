//! Fused output projection and label-smoothed cross-entropy, computed one block of rows at a time, so that
//! the logits of a whole batch are never materialized.

mod row_loss;

use std::ops::AddAssign;

use rayon::prelude::*;

use self::row_loss::{RowLoss, TwinLogits, row_loss, twin_loss};
use crate::area::{assert_shape, assert_shape_if_any};
use crate::gemm::{
    Epilogue, Float, PreparedRight, Product, View, with_prepared_right, with_prepared_right_if_any,
};
use crate::linear::add_column_sums;
use crate::parallel::is_large;
use crate::scratch::with_scratch;
use crate::tile::TileMut;

pub use attentive_base::batch::IGNORE;

/// Rows per block of logits; also the block size of the products that sum over rows.
const BLOCK_ROWS: usize = 256;

/// Dimensions of a call.
#[derive(Clone, Copy, Debug)]
pub struct ProjectionShape {
    /// Positions.
    pub rows: usize,
    /// Columns of the decoder's output.
    pub d_model: usize,
    /// Classes.
    pub vocab: usize,
    /// Matmul precision.
    pub precision: Float,
}

/// Sums over the positions whose target is not [`IGNORE`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossSums {
    /// Label-smoothed cross-entropy, weighted.
    pub loss: f64,
    /// −log P(target), without smoothing and weights.
    pub nll: f64,
    /// Positions.
    pub n_tokens: usize,
    /// Positions whose most likely class is the target (the first class wins a tie).
    pub n_correct: usize,
}

impl AddAssign for LossSums {
    fn add_assign(&mut self, other: Self) {
        self.loss += other.loss;
        self.nll += other.nll;
        self.n_tokens += other.n_tokens;
        self.n_correct += other.n_correct;
    }
}

/// Operands of the loss.
#[derive(Clone, Copy, Debug)]
pub struct ProjectionInputs<'a, T> {
    /// `[rows, d_model]`
    pub x: T,
    /// `[vocab, d_model]`
    pub weight: T,
    /// `[vocab]`
    pub bias: Option<T>,
    /// `[rows]`: classes, or [`IGNORE`].
    pub targets: &'a [u32],
    /// `[rows]`: factors of the losses; `None` for 1.
    pub row_weights: Option<&'a [f32]>,
    /// The share of the target distribution that is spread evenly over the classes.
    pub label_smoothing: f32,
    /// The same positions from another pass with dropout; `None` for ordinary training.
    pub twin: Option<Twin<T>>,
}

/// The outputs of a second pass over the same positions, whose predictions are to agree with those of the
/// first (R-Drop: Wu et al. 2021, equation 4).
#[derive(Clone, Copy, Debug)]
pub struct Twin<T> {
    /// `[rows, d_model]`
    pub x: T,
    /// The factor of the symmetric Kullback–Leibler divergence of the two predictions.
    pub strength: f32,
}

impl<T> Twin<T> {
    /// Applies `f` to the operand.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> Twin<U> {
        Twin { x: f(self.x), strength: self.strength }
    }
}

impl<'a, T> ProjectionInputs<'a, T> {
    /// Applies `f` to each operand.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> ProjectionInputs<'a, U> {
        ProjectionInputs {
            x: f(self.x),
            weight: f(self.weight),
            bias: self.bias.map(&f),
            targets: self.targets,
            row_weights: self.row_weights,
            label_smoothing: self.label_smoothing,
            twin: self.twin.map(|twin| twin.map(f)),
        }
    }
}

/// Gradient outputs. `None` skips the computation.
#[derive(Debug)]
pub struct ProjectionGradients<T> {
    /// `[rows, d_model]`
    pub x: Option<T>,
    /// `[rows, d_model]`, of [`Twin::x`].
    pub twin: Option<T>,
    /// `[vocab, d_model]`
    pub weight: Option<T>,
    /// `[vocab]`
    pub bias: Option<T>,
}

impl<T> Default for ProjectionGradients<T> {
    fn default() -> Self {
        Self { x: None, twin: None, weight: None, bias: None }
    }
}

impl<T> ProjectionGradients<T> {
    /// Applies `f` to each output.
    pub fn map<U>(self, f: impl Fn(T) -> U + Copy) -> ProjectionGradients<U> {
        ProjectionGradients {
            x: self.x.map(f),
            twin: self.twin.map(f),
            weight: self.weight.map(f),
            bias: self.bias.map(f),
        }
    }
}

impl ProjectionGradients<&mut [f32]> {
    fn are_wanted(&self) -> bool {
        self.x.is_some() || self.twin.is_some() || self.weight.is_some() || self.bias.is_some()
    }
}

/// The loss of the logits `x` · `weight`ᵀ + `bias` against the distribution (1 − `label_smoothing`) ·
/// one-hot(`targets`) + `label_smoothing` / `vocab`, and the gradients of its sum, in which each row counts
/// `row_weights` times.
///
/// With a [`Twin`], the loss of a row is the mean of the two passes' losses plus `strength` · ½ (KL(p‖q) +
/// KL(q‖p)) of their predictions p and q. Of the other sums, `nll` is a mean, too, and `n_correct` counts
/// those of the first pass.
///
/// # Panics
/// If a slice does not fit the shape, or a target is neither a class nor [`IGNORE`].
pub fn cross_entropy(
    shape: ProjectionShape,
    inputs: ProjectionInputs<'_, &[f32]>,
    mut gradients: ProjectionGradients<&mut [f32]>,
) -> LossSums {
    let ProjectionShape { d_model, vocab, .. } = shape;
    let problem = Problem { shape, inputs };
    problem.check();
    let outputs = [
        ("dx", &mut gradients.x, [shape.rows, d_model]),
        ("dtwin", &mut gradients.twin, [shape.rows, d_model]),
        ("dweight", &mut gradients.weight, [vocab, d_model]),
        ("dbias", &mut gradients.bias, [1, vocab]),
    ];
    for (name, out, shape) in outputs {
        if let Some(out) = out {
            assert_shape(name, out, shape);
            out.fill(0.0);
        }
    }
    let is_real = |&row: &usize| inputs.targets[row] != IGNORE;
    let real: Vec<usize> = (0..shape.rows).filter(is_real).collect();
    let mut sums = LossSums::default();
    let wants_input = gradients.x.is_some() || gradients.twin.is_some();
    problem.with_weights(wants_input, |weights| {
        for rows in real.chunks(BLOCK_ROWS / problem.passes().len()) {
            problem.block(rows, weights, &mut gradients, &mut sums);
        }
    });
    sums
}

/// The weight, packed once for all blocks.
#[derive(Clone, Copy)]
struct Weights<'a> {
    /// `[d_model, vocab]`, for the logits.
    forward: PreparedRight<'a>,
    /// `[vocab, d_model]`, for the gradient of the input.
    backward: Option<PreparedRight<'a>>,
}

/// Operands of a call.
struct Problem<'a> {
    shape: ProjectionShape,
    inputs: ProjectionInputs<'a, &'a [f32]>,
}

impl Problem<'_> {
    fn check(&self) {
        let ProjectionShape { rows, d_model, vocab, .. } = self.shape;
        assert_shape("x", self.inputs.x, [rows, d_model]);
        assert_shape("weight", self.inputs.weight, [vocab, d_model]);
        assert_shape("targets", self.inputs.targets, [rows]);
        assert_shape_if_any("bias", self.inputs.bias, [vocab]);
        assert_shape_if_any("row_weights", self.inputs.row_weights, [rows]);
        assert_shape_if_any("twin", self.inputs.twin.map(|twin| twin.x), [rows, d_model]);
        let is_wrong = |&&target: &&u32| target != IGNORE && target as usize >= vocab;
        if let Some(target) = self.inputs.targets.iter().find(is_wrong) {
            panic!("target {target} among {vocab} classes");
        }
    }

    /// Calls `work` with the packed weight, for the gradient of the input too if `differentiate`.
    fn with_weights(&self, differentiate: bool, work: impl FnOnce(Weights<'_>)) {
        let ProjectionShape { d_model, vocab, precision, .. } = self.shape;
        let weight = View::rows(self.inputs.weight, d_model);
        let to_input = differentiate.then_some(weight);
        with_prepared_right(precision, weight.t(), [d_model, vocab], |forward| {
            with_prepared_right_if_any(precision, to_input, [vocab, d_model], |backward| {
                work(Weights { forward, backward });
            });
        });
    }

    /// The outputs of each pass.
    fn passes(&self) -> Vec<&[f32]> {
        std::iter::once(self.inputs.x).chain(self.inputs.twin.map(|twin| twin.x)).collect()
    }

    /// Processes one block of rows whose targets are not ignored.
    fn block(
        &self,
        rows: &[usize],
        weights: Weights<'_>,
        gradients: &mut ProjectionGradients<&mut [f32]>,
        sums: &mut LossSums,
    ) {
        let differentiate = gradients.are_wanted();
        let ProjectionShape { d_model, vocab, .. } = self.shape;
        let passes = self.passes();
        let n = rows.len() * passes.len();
        // A twin needs room for the differences of logits.
        let differences = (n - rows.len()) * vocab;
        with_scratch(n * (d_model + vocab) + differences, |scratch| {
            let (gathered, scratch) = scratch.split_at_mut(n * d_model);
            let (logits, differences) = scratch.split_at_mut(n * vocab);
            let places = passes.iter().flat_map(|x| rows.iter().map(|&row| &x[row * d_model..][..d_model]));
            for (to, from) in gathered.chunks_exact_mut(d_model).zip(places) {
                to.copy_from_slice(from);
            }
            let product = Product::new(d_model, View::rows(gathered, d_model), weights.forward)
                .then(Epilogue::bias(self.inputs.bias));
            product.write_to(&mut TileMut::new(logits, n, vocab, vocab));
            let losses = match self.inputs.twin {
                None => self.rows_losses(rows, logits, differentiate),
                Some(twin) => self.twins_losses(rows, logits, differences, twin.strength, differentiate),
            };
            for loss in losses {
                sums.loss += loss.smoothed;
                sums.nll += loss.nll;
                sums.n_correct += usize::from(loss.correct);
            }
            sums.n_tokens += rows.len();
            if differentiate {
                self.block_backward(rows, weights, gathered, logits, gradients);
            }
        });
    }

    /// The loss of each row of `logits`; if `differentiate`, the logits are replaced by their gradients.
    fn rows_losses(&self, rows: &[usize], logits: &mut [f32], differentiate: bool) -> Vec<RowLoss> {
        let (inputs, vocab) = (self.inputs, self.shape.vocab);
        let one = |(&row, logits): (&usize, &mut [f32])| {
            let target = inputs.targets[row] as usize;
            let loss = row_loss(logits, target, inputs.label_smoothing, differentiate);
            self.weighted(row, loss, [logits])
        };
        if is_large(logits.len()) {
            rows.par_iter().zip(logits.par_chunks_exact_mut(vocab)).map(one).collect()
        } else {
            rows.iter().zip(logits.chunks_exact_mut(vocab)).map(one).collect()
        }
    }

    /// Like [`Problem::rows_losses`] for two passes, whose logits follow each other. `differences` is
    /// scratch.
    fn twins_losses(
        &self,
        rows: &[usize],
        logits: &mut [f32],
        differences: &mut [f32],
        strength: f32,
        differentiate: bool,
    ) -> Vec<RowLoss> {
        let (inputs, vocab) = (self.inputs, self.shape.vocab);
        let is_large = is_large(logits.len());
        let (first, second) = logits.split_at_mut(rows.len() * vocab);
        let one = |(&row, (first, (second, differences))): (&usize, TwinLogits<'_>)| {
            let target = inputs.targets[row] as usize;
            let smoothing = inputs.label_smoothing;
            let loss = twin_loss(first, second, differences, target, smoothing, strength, differentiate);
            self.weighted(row, loss, [first, second])
        };
        if is_large {
            let both = second.par_chunks_exact_mut(vocab).zip(differences.par_chunks_exact_mut(vocab));
            rows.par_iter().zip(first.par_chunks_exact_mut(vocab).zip(both)).map(one).collect()
        } else {
            let both = second.chunks_exact_mut(vocab).zip(differences.chunks_exact_mut(vocab));
            rows.iter().zip(first.chunks_exact_mut(vocab).zip(both)).map(one).collect()
        }
    }

    /// The loss of `row`, times its weight; so are the gradients.
    fn weighted<const N: usize>(&self, row: usize, loss: RowLoss, gradients: [&mut [f32]; N]) -> RowLoss {
        let Some(weight) = self.inputs.row_weights.map(|weights| weights[row]) else {
            return loss;
        };
        for gradient in gradients.into_iter().flatten() {
            *gradient *= weight;
        }
        RowLoss { smoothed: loss.smoothed * f64::from(weight), ..loss }
    }

    /// The gradients of a block given those of its logits; `gathered` is scratch.
    fn block_backward(
        &self,
        rows: &[usize],
        weights: Weights<'_>,
        gathered: &mut [f32],
        grad: &[f32],
        gradients: &mut ProjectionGradients<&mut [f32]>,
    ) {
        let ProjectionShape { d_model, vocab, precision, .. } = self.shape;
        let n = gathered.len() / d_model;
        let grad = View::rows(grad, vocab);
        if let Some(dweight) = gradients.weight.as_deref_mut() {
            let product = Product::new(n, grad.t(), View::rows(gathered, d_model));
            product.added().write(precision, [vocab, d_model], dweight);
        }
        if let Some(dbias) = gradients.bias.as_deref_mut() {
            add_column_sums(grad, n, dbias);
        }
        let Some(weight) = weights.backward else {
            return;
        };
        Product::new(vocab, grad, weight).write_to(&mut TileMut::new(gathered, n, d_model, d_model));
        let (first, second) = gathered.split_at(rows.len() * d_model);
        for (dx, found) in [(&mut gradients.x, first), (&mut gradients.twin, second)] {
            let Some(dx) = dx.as_deref_mut() else { continue };
            for (from, &row) in found.chunks_exact(d_model).zip(rows) {
                dx[row * d_model..][..d_model].copy_from_slice(from);
            }
        }
    }
}

#[cfg(test)]
mod tests;
