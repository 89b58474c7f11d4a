//! Fused output projection and label-smoothed cross-entropy, computed one block of rows at a time, so that the logits
//! of a whole batch are never materialized.

use std::ops::AddAssign;

use rayon::prelude::*;

use crate::area::area;
use crate::gemm::{Precision, Product, View};
use crate::linear::add_column_sums;
use crate::parallel::is_large;
use crate::scratch::with_scratch;
use crate::simd::{exp_and_sum, max_of, sum_of};

/// The ignore index: a position with this target contributes nothing.
pub const IGNORE: u32 = u32::MAX;

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
    pub precision: Precision,
}

/// Sums over the positions whose target is not [`IGNORE`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossSums {
    /// Label-smoothed cross-entropy.
    pub loss: f64,
    /// −log P(target), without smoothing.
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

/// The loss of the logits `x` `[rows, d_model]` · `weight` `[vocab, d_model]`ᵀ + `bias` `[vocab]` against the
/// distribution (1 − `label_smoothing`) · one-hot(`targets`) + `label_smoothing` / `vocab`.
///
/// # Panics
/// If a slice does not fit the shape, or a target is neither a class nor [`IGNORE`].
pub fn cross_entropy(
    shape: ProjectionShape,
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    targets: &[u32],
    label_smoothing: f32,
) -> LossSums {
    let problem = Problem {
        shape,
        x,
        weight,
        bias,
        targets,
        label_smoothing,
    };
    problem.run(None)
}

/// [`cross_entropy`] and the gradients of its summed loss: `dx` `[rows, d_model]`, `dweight` `[vocab, d_model]`, `dbias`
/// `[vocab]`.
///
/// # Panics
/// See [`cross_entropy`].
#[allow(clippy::too_many_arguments)]
pub fn cross_entropy_with_gradients(
    shape: ProjectionShape,
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    targets: &[u32],
    label_smoothing: f32,
    dx: &mut [f32],
    dweight: &mut [f32],
    mut dbias: Option<&mut [f32]>,
) -> LossSums {
    assert_eq!(dx.len(), x.len(), "`dx` of {shape:?}");
    assert_eq!(dweight.len(), weight.len(), "`dweight` of {shape:?}");
    dx.fill(0.0);
    dweight.fill(0.0);
    if let Some(dbias) = dbias.as_deref_mut() {
        assert_eq!(dbias.len(), shape.vocab, "`dbias` of {shape:?}");
        dbias.fill(0.0);
    }
    let problem = Problem {
        shape,
        x,
        weight,
        bias,
        targets,
        label_smoothing,
    };
    problem.run(Some(Gradients {
        x: dx,
        weight: dweight,
        bias: dbias,
    }))
}

/// Gradient outputs, initially zero.
struct Gradients<'a> {
    x: &'a mut [f32],
    weight: &'a mut [f32],
    bias: Option<&'a mut [f32]>,
}

/// Operands of a call.
#[derive(Clone, Copy)]
struct Problem<'a> {
    shape: ProjectionShape,
    x: &'a [f32],
    weight: &'a [f32],
    bias: Option<&'a [f32]>,
    targets: &'a [u32],
    label_smoothing: f32,
}

impl Problem<'_> {
    fn run(&self, mut gradients: Option<Gradients<'_>>) -> LossSums {
        self.check();
        let real: Vec<usize> = (0..self.shape.rows)
            .filter(|&row| self.targets[row] != IGNORE)
            .collect();
        let mut sums = LossSums::default();
        for rows in real.chunks(BLOCK_ROWS) {
            self.block(rows, gradients.as_mut(), &mut sums);
        }
        sums
    }

    fn check(&self) {
        let shape @ ProjectionShape {
            rows,
            d_model,
            vocab,
            ..
        } = self.shape;
        assert_eq!(self.x.len(), area(rows, d_model), "`x` of {shape:?}");
        let expected = area(vocab, d_model);
        assert_eq!(self.weight.len(), expected, "`weight` of {shape:?}");
        assert_eq!(self.targets.len(), rows, "`targets` of {shape:?}");
        if let Some(bias) = self.bias {
            assert_eq!(bias.len(), vocab, "`bias` of {shape:?}");
        }
        if let Some(target) = self
            .targets
            .iter()
            .find(|&&t| t != IGNORE && t as usize >= vocab)
        {
            panic!("target {target} among {vocab} classes");
        }
    }

    /// Processes one block of rows whose targets are not ignored.
    fn block(&self, rows: &[usize], gradients: Option<&mut Gradients<'_>>, sums: &mut LossSums) {
        let shape @ ProjectionShape { d_model, vocab, .. } = self.shape;
        let n = rows.len();
        with_scratch(n * (d_model + vocab), |scratch| {
            let (gathered, logits) = scratch.split_at_mut(n * d_model);
            for (to, &row) in rows.iter().enumerate() {
                gathered[to * d_model..][..d_model]
                    .copy_from_slice(&self.x[row * d_model..][..d_model]);
            }
            let weight = View::transposed(self.weight, d_model);
            let product = Product::new(d_model, View::rows(gathered, d_model), weight);
            product.write(shape.precision, [n, vocab], logits);
            for loss in self.rows_losses(rows, logits, gradients.is_some()) {
                sums.loss += loss.smoothed;
                sums.nll += loss.nll;
                sums.n_correct += usize::from(loss.correct);
            }
            sums.n_tokens += n;
            if let Some(gradients) = gradients {
                self.block_backward(rows, gathered, logits, gradients);
            }
        });
    }

    /// The loss of each row of `logits`; if `differentiate`, the logits are replaced by their gradients.
    fn rows_losses(&self, rows: &[usize], logits: &mut [f32], differentiate: bool) -> Vec<RowLoss> {
        let vocab = self.shape.vocab;
        let one = |(&row, logits): (&usize, &mut [f32])| {
            row_loss(
                logits,
                self.bias,
                self.targets[row] as usize,
                self.label_smoothing,
                differentiate,
            )
        };
        if is_large(logits.len()) {
            rows.par_iter()
                .zip(logits.par_chunks_exact_mut(vocab))
                .map(one)
                .collect()
        } else {
            rows.iter()
                .zip(logits.chunks_exact_mut(vocab))
                .map(one)
                .collect()
        }
    }

    /// The gradients of a block given those of its logits; `gathered` is scratch.
    fn block_backward(
        &self,
        rows: &[usize],
        gathered: &mut [f32],
        grad: &[f32],
        gradients: &mut Gradients<'_>,
    ) {
        let ProjectionShape {
            d_model,
            vocab,
            precision,
            ..
        } = self.shape;
        let n = rows.len();
        let (grad, x) = (View::rows(grad, vocab), View::rows(gathered, d_model));
        Product::new(n, grad.t(), x)
            .added()
            .write(precision, [vocab, d_model], gradients.weight);
        if let Some(dbias) = gradients.bias.as_deref_mut() {
            add_column_sums(grad, n, dbias);
        }
        let weight = View::rows(self.weight, d_model);
        Product::new(vocab, grad, weight).write(precision, [n, d_model], gathered);
        for (from, &row) in rows.iter().enumerate() {
            gradients.x[row * d_model..][..d_model]
                .copy_from_slice(&gathered[from * d_model..][..d_model]);
        }
    }
}

/// The contribution of one row to [`LossSums`].
struct RowLoss {
    smoothed: f64,
    nll: f64,
    correct: bool,
}

vectorized! {
    /// The loss of one row. `logits` come without the bias and, if `differentiate`, are replaced by their gradient.
    fn row_loss(
        logits: &mut [f32],
        bias: Option<&[f32]>,
        target: usize,
        smoothing: f32,
        differentiate: bool,
    ) -> RowLoss {
        if let Some(bias) = bias {
            for (logit, &bias) in logits.iter_mut().zip(bias) {
                *logit += bias;
            }
        }
        let max = max_of(logits);
        let correct = logits[target] == max && max_of(&logits[..target]) < max;
        let share = smoothing / logits.len() as f32;
        let at_target = logits[target] - max;
        let total = if smoothing == 0.0 { 0.0 } else { sum_of(logits, |logit| logit - max) };
        let sum = exp_and_sum(logits, max);
        let log_sum = f64::from(sum).ln();
        let (keep, share_wide) = (1.0 - f64::from(smoothing), f64::from(share));
        let result = RowLoss {
            smoothed: log_sum - keep * f64::from(at_target) - share_wide * f64::from(total),
            nll: log_sum - f64::from(at_target),
            correct,
        };
        if differentiate {
            let inverse = 1.0 / sum;
            for logit in logits.iter_mut() {
                *logit = *logit * inverse - share;
            }
            logits[target] -= 1.0 - smoothing;
        }
        result
    }
}

#[cfg(test)]
mod tests;
