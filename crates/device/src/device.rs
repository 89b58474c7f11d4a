//! The operations of a device.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;

use attentive_kernels::gemm::bf16;

use crate::cached::*;
use crate::operands::*;
use crate::{Buffer, Failure, Hardware, Losses, VerdictCall};

/// A device that can compute. Methods take buffers of this device only and panic if one belongs to another
/// device, or is too short.
///
/// The arguments and the results of an operation are those of the kernel of the same name in
/// `attentive_kernels`, with buffers instead of slices; where it is not said otherwise here, they are
/// explained there. Results are written completely, so buffers for them may hold anything. A device may
/// return before it has computed; only [`Device::download`] and the methods that return numbers wait.
pub trait Device: Debug + Sync {
    /// Returns a buffer of `len` elements with unspecified contents.
    fn allocate(&self, len: usize) -> Buffer;

    /// Returns a buffer with the elements `values`.
    fn upload(&self, values: Vec<f32>) -> Buffer;

    /// Returns a buffer of weights, `values` rounded to bf16, for which the device may use half of the
    /// memory. It may be downloaded, multiplied by, or used as a table of embeddings; any other use may
    /// panic, cloning included.
    fn upload_bf16(&self, mut values: Vec<f32>) -> Buffer {
        values.iter_mut().for_each(|x| *x = bf16::round(*x));
        self.upload(values)
    }

    /// Returns the elements of `buffer`: the only way to read them.
    fn download<'a>(&self, buffer: &'a Buffer) -> Cow<'a, [f32]>;

    /// [`Device::download`] of several buffers, for which a device that computes later waits only once.
    fn download_all(&self, buffers: &[&Buffer]) -> Vec<Vec<f32>> {
        let download = |buffer: &&Buffer| self.download(buffer).into_owned();
        buffers.iter().map(download).collect()
    }

    /// Returns true if operations return before they are computed, so that it pays not to wait for numbers.
    /// The losses of [`Device::cross_entropy`] are [`Losses::Pending`] then, and only then.
    fn computes_later(&self) -> bool {
        false
    }

    /// Every element of `x` = `value`.
    fn fill(&self, x: &mut Buffer, value: f32);

    /// `out` = `x`
    fn copy(&self, x: &Buffer, out: &mut Buffer);

    /// `total` += `x`
    fn add(&self, total: &mut Buffer, x: &Buffer);

    /// `x` = `factor` · `x`
    fn scale(&self, x: &mut Buffer, factor: f32);

    /// Like [`Device::scale`], with the only element of a buffer.
    fn scale_by(&self, x: &mut Buffer, factor: &Buffer);

    /// Copies `count` columns of each row of a matrix to columns of another one with as many rows.
    fn copy_columns(&self, count: usize, from: Columns<&Buffer>, to: Columns<&mut Buffer>);

    /// `out[i]` = `x[rows[i]]`, rows of width `d`.
    fn select_rows(&self, d: usize, x: &Buffer, rows: &[usize], out: &mut Buffer);

    /// `total[rows[i]]` += `x[i]` for one i after the other, rows of width `d`.
    fn add_rows(&self, d: usize, x: &Buffer, rows: &[usize], total: &mut Buffer);

    /// Column i of `out` `[d, rows.len()]` = row `rows[i]` of `x` `[_, d]`.
    fn select_transposed(&self, d: usize, x: &Buffer, rows: &[usize], out: &mut Buffer);

    /// Row `rows[i]` of `total` `[_, d]` += column i of `x` `[d, rows.len()]`, for one i after the other.
    fn add_transposed(&self, d: usize, x: &Buffer, rows: &[usize], total: &mut Buffer);

    /// Adds the elements `part` of `table` to each sequence; sequences are as long as `part`.
    fn add_to_each(&self, table: &Buffer, part: Range<usize>, sequences: &mut Buffer);

    /// `table` = 0, but in its elements `part` the sum of all sequences, added one after the other.
    fn sum_of_each(&self, sequences: &Buffer, part: Range<usize>, table: &mut Buffer);

    /// `x` = dropout(`x`); its own backward pass.
    fn dropout(&self, dropout: Dropout, x: &mut Buffer);

    /// `out` = `residual` + dropout(`x`)
    fn dropout_add(&self, x: &Buffer, residual: Option<&Buffer>, dropout: Option<Dropout>, out: &mut Buffer);

    /// `out[i]` = `scale` · `table[ids[i]]` + the position embedding of token i, rows of width `d`.
    fn embedding(
        &self,
        ids: &[u32],
        table: &Buffer,
        d: usize,
        scale: f32,
        positions: Option<PositionRows<'_>>,
        out: &mut Buffer,
    );

    /// The gradient of the table of [`Device::embedding`].
    fn embedding_backward(&self, ids: &[u32], grad: &Buffer, d: usize, scale: f32, dtable: &mut Buffer);

    /// Several fully connected layers with the same input.
    fn linear(&self, call: LinearCall, x: &Buffer, maps: &[Affine<&Buffer>], out: &mut Buffer);

    /// The gradients of [`Device::linear`], whose activation is undone in `grad`.
    fn linear_backward(
        &self,
        call: LinearCall,
        kept: LinearKept<'_, &Buffer>,
        grad: &mut Buffer,
        dx: Option<&mut Buffer>,
        gradients: Vec<AffineGradients<&mut Buffer>>,
    );

    /// The norm of each row.
    fn norm(&self, call: NormCall, x: &Buffer, gain: &Buffer, bias: Option<&Buffer>, out: &mut Buffer);

    /// The gradients of [`Device::norm`].
    fn norm_backward(
        &self,
        call: NormCall,
        x: &Buffer,
        gain: &Buffer,
        grad: &Buffer,
        gradients: NormGradients<&mut Buffer>,
    );

    /// `sum` = `x` + dropout(`y`), and `out` = its norm.
    fn residual_norm(
        &self,
        call: ResidualNormCall,
        inputs: [&Buffer; 2],
        gain: &Buffer,
        bias: Option<&Buffer>,
        sum_and_out: [&mut Buffer; 2],
    );

    /// The gradients of [`Device::residual_norm`]; those of `x` are in `gradients`.
    fn residual_norm_backward(
        &self,
        call: ResidualNormCall,
        sum: &Buffer,
        gain: &Buffer,
        grad: &Buffer,
        gradients: NormGradients<&mut Buffer>,
        dy: &mut Buffer,
    );

    /// `out` = f(`x`)
    fn nonlinear(&self, f: ActivationKind, x: &Buffer, out: &mut Buffer);

    /// The gradient of [`Device::nonlinear`].
    fn nonlinear_backward(&self, f: ActivationKind, x: &Buffer, grad: &Buffer, dx: &mut Buffer);

    /// `out` = f(a) ⊙ b, rows of width `d`, for the halves a and b of each row of `x`.
    fn gated(&self, f: ActivationKind, d: usize, x: &Buffer, out: &mut Buffer);

    /// The gradient of [`Device::gated`].
    fn gated_backward(&self, f: ActivationKind, d: usize, x: &Buffer, grad: &Buffer, dx: &mut Buffer);

    /// `out` = tanh(`x`)
    fn tanh(&self, x: &Buffer, out: &mut Buffer);

    /// Turns the gradient of the result `y` of [`Device::tanh`] into that of its operand.
    fn tanh_backward(&self, y: &Buffer, grad: &mut Buffer);

    /// Multi-head attention.
    fn attention(&self, shape: AttentionShape, inputs: AttentionInputs<'_, &Buffer>, out: &mut Buffer);

    /// The gradients of [`Device::attention`]: of the operands, and of the bias if wanted.
    fn attention_backward(
        &self,
        shape: AttentionShape,
        inputs: AttentionInputs<'_, &Buffer>,
        grad: &Buffer,
        gradients: Operands<&mut Buffer>,
        dbias: Option<&mut Buffer>,
    );

    /// Rotates the heads of each row; turning back is the backward pass.
    fn rotary(&self, call: RotaryCall<'_>, turn: Turn, x: &Buffer, out: &mut Buffer);

    /// The states of the directions of a recurrent layer side by side; `saved` of each receives what the
    /// backward pass of this device reads, in a form of its own.
    fn recurrent(&self, directions: Vec<RecurrentForward<'_, &Buffer, &mut Buffer>>, states: &mut Buffer);

    /// The gradients of [`Device::recurrent`], whose result was `states`.
    fn recurrent_backward(
        &self,
        directions: Vec<RecurrentBackward<'_, &Buffer, &mut Buffer>>,
        states: &Buffer,
        grad: &Buffer,
    );

    /// The states and contexts of a recurrent layer that attends; `kept` receives the attention weights and,
    /// in a form of its own, what else the backward pass of this device reads.
    fn attentive_recurrent(
        &self,
        call: AttentiveRecurrentCall<'_>,
        inputs: AttentiveRecurrentInputs<'_, &Buffer>,
        projected: &Buffer,
        out: &mut Buffer,
        kept: Option<[&mut Buffer; 2]>,
    );

    /// The gradients of [`Device::attentive_recurrent`]; `room` has [`AttentiveRecurrentCall::room`] elements
    /// of any value.
    fn attentive_recurrent_backward(
        &self,
        call: AttentiveRecurrentCall<'_>,
        inputs: AttentiveRecurrentInputs<'_, &Buffer>,
        result: AttentiveRecurrentResult<&Buffer>,
        grad: &Buffer,
        gradients: AttentiveRecurrentGradients<&mut Buffer>,
        room: &mut Buffer,
    );

    /// The mean over the real positions of each sequence, rows of width `d`.
    fn mean_rows(&self, lengths: &Lengths, d: usize, x: &Buffer, out: &mut Buffer);

    /// The gradient of [`Device::mean_rows`].
    fn mean_rows_backward(&self, lengths: &Lengths, d: usize, grad: &Buffer, dx: &mut Buffer);

    /// Projection and cross-entropy: the sums, and the gradients that are wanted. `loss` `[1]` receives the
    /// loss in single precision.
    fn cross_entropy(
        &self,
        shape: ProjectionShape,
        inputs: ProjectionInputs<'_, &Buffer>,
        gradients: ProjectionGradients<&mut Buffer>,
        loss: &mut Buffer,
    ) -> Losses;

    /// A step of Adam for a part of a parameter; the moments and the gradient have the elements of the part.
    /// The `verdict`, if there is one, scales the gradient or leaves everything as it is.
    fn adam(
        &self,
        step: AdamStep,
        part: Part<'_>,
        moments: [&mut Buffer; 2],
        grad: &Buffer,
        verdict: Option<&Buffer>,
    );

    /// A step of stochastic gradient descent for a part of a parameter; the velocity and the gradient have
    /// its elements. The verdict is that of [`Device::adam`].
    fn sgd(
        &self,
        step: SgdStep,
        part: Part<'_>,
        velocity: Option<&mut Buffer>,
        grad: &Buffer,
        verdict: Option<&Buffer>,
    );

    /// The [verdict](crate::VERDICT) on an update.
    fn verdict(&self, call: VerdictCall<'_>) -> Buffer;

    /// Σ x² of each [`SUM_CHUNK`](attentive_kernels::optimizer::SUM_CHUNK) elements of each vector, one after
    /// the other, in single precision.
    fn squares(&self, all: &[&Buffer]) -> Buffer {
        let sums = all.iter().flat_map(|x| self.sums_of_squares(x));
        self.upload(sums.map(|sum| sum as f32).collect())
    }

    /// Σ x² of each [`SUM_CHUNK`](attentive_kernels::optimizer::SUM_CHUNK) elements.
    fn sums_of_squares(&self, x: &Buffer) -> Vec<f64>;

    /// [`Device::sums_of_squares`] of several vectors, for which a device that computes later waits only
    /// once.
    fn all_sums_of_squares(&self, all: &[&Buffer]) -> Vec<Vec<f64>> {
        all.iter().map(|x| self.sums_of_squares(x)).collect()
    }

    /// The index of the first NaN or infinite element.
    fn first_non_finite(&self, x: &Buffer) -> Option<usize>;

    /// Columns of rows of `from` become rows of `to`, which are `count` wide.
    fn put_rows(&self, count: usize, from: Columns<&Buffer>, pairs: RowPairs<'_>, to: &mut Buffer);

    /// Attention to cached positions. The queries are columns of a matrix; `out` receives the contexts, and
    /// `weights` the attention weights of the positions that are seen, and anything behind them.
    fn cached_attention(
        &self,
        call: CachedAttentionCall<'_>,
        scores: CachedScores<&Buffer>,
        queries: Columns<&Buffer>,
        cache: &Buffer,
        out: &mut Buffer,
        weights: &mut Buffer,
    );

    /// The largest logits of each row of `logits` `[rows, vocab]`, without NaN and −∞; +∞ counts as the
    /// largest finite number.
    fn likeliest(&self, call: LikeliestCall<'_>, logits: &Buffer) -> Vec<LargestLogits>;

    /// Why it can compute no more until the process is started again, as when a GPU is lost.
    fn failure(&self) -> Option<Failure> {
        None
    }

    /// What computes, unless it is the CPU.
    fn hardware(&self) -> Option<Hardware> {
        None
    }
}
