//! What a device can do.

use std::borrow::Cow;
use std::fmt::Debug;

use attentive_kernels::gemm::bf16;

use crate::cached::*;
use crate::operands::*;
use crate::{Buffer, Failure, Hardware, Losses, Op, VerdictCall};

/// A device that can compute: each [`Op`] is also a method of `dyn Device`. Methods take buffers of this
/// device only and panic if one belongs to another device, or is too short. A device may return before it has
/// computed; only [`Device::download`] and the methods that return numbers wait.
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

    /// Computes an operation.
    fn run(&self, op: Op<'_>);

    /// Projection and cross-entropy: the sums, and the gradients that are wanted. `loss` `[1]` receives the
    /// loss in single precision.
    fn cross_entropy(
        &self,
        shape: ProjectionShape,
        inputs: ProjectionInputs<'_, &Buffer>,
        gradients: ProjectionGradients<&mut Buffer>,
        loss: &mut Buffer,
    ) -> Losses;

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
