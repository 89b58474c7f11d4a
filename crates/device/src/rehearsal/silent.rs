//! A device that computes nothing.

use std::borrow::Cow;
use std::ops::Range;

use super::Imagined;
use crate::cached::*;
use crate::operands::*;
use crate::{Buffer, Device, Losses, VERDICT, VerdictCall};

/// Computes nothing, and has buffers without memory.
#[derive(Debug)]
pub(super) struct Rehearsal;

impl Device for Rehearsal {
    fn allocate(&self, len: usize) -> Buffer {
        let room = Imagined::take(len);
        Buffer::imagined_in(len, Some(room))
    }

    fn upload(&self, values: Vec<f32>) -> Buffer {
        let room = Imagined::own(values.len());
        Buffer::imagined_in(values.len(), Some(room))
    }

    fn download<'a>(&self, buffer: &'a Buffer) -> Cow<'a, [f32]> {
        if buffer.is_on_host() { Cow::Borrowed(buffer.host()) } else { Cow::Borrowed(&[]) }
    }

    fn fill(&self, _: &mut Buffer, _: f32) {}

    fn copy(&self, _: &Buffer, _: &mut Buffer) {}

    fn add(&self, _: &mut Buffer, _: &Buffer) {}

    fn scale(&self, _: &mut Buffer, _: f32) {}

    fn scale_by(&self, _: &mut Buffer, _: &Buffer) {}

    fn copy_columns(&self, _: usize, _: Columns<&Buffer>, _: Columns<&mut Buffer>) {}

    fn select_rows(&self, _: usize, _: &Buffer, _: &[usize], _: &mut Buffer) {}

    fn add_rows(&self, _: usize, _: &Buffer, _: &[usize], _: &mut Buffer) {}

    fn select_transposed(&self, _: usize, _: &Buffer, _: &[usize], _: &mut Buffer) {}

    fn add_transposed(&self, _: usize, _: &Buffer, _: &[usize], _: &mut Buffer) {}

    fn add_to_each(&self, _: &Buffer, _: Range<usize>, _: &mut Buffer) {}

    fn sum_of_each(&self, _: &Buffer, _: Range<usize>, _: &mut Buffer) {}

    fn dropout(&self, _: Dropout, _: &mut Buffer) {}

    fn dropout_add(&self, _: &Buffer, _: Option<&Buffer>, _: Option<Dropout>, _: &mut Buffer) {}

    fn embedding(
        &self,
        _: &[u32],
        _: &Buffer,
        _: usize,
        _: f32,
        _: Option<PositionRows<'_>>,
        _: &mut Buffer,
    ) {
    }

    fn embedding_backward(&self, _: &[u32], _: &Buffer, _: usize, _: f32, _: &mut Buffer) {}

    fn linear(&self, _: LinearCall, _: &Buffer, _: &[Affine<&Buffer>], _: &mut Buffer) {}

    fn linear_backward(
        &self,
        _: LinearCall,
        _: LinearKept<'_, &Buffer>,
        _: &mut Buffer,
        _: Option<&mut Buffer>,
        _: Vec<AffineGradients<&mut Buffer>>,
    ) {
    }

    fn norm(&self, _: NormCall, _: &Buffer, _: &Buffer, _: Option<&Buffer>, _: &mut Buffer) {}

    fn norm_backward(&self, _: NormCall, _: &Buffer, _: &Buffer, _: &Buffer, _: NormGradients<&mut Buffer>) {}

    fn residual_norm(
        &self,
        _: ResidualNormCall,
        _: [&Buffer; 2],
        _: &Buffer,
        _: Option<&Buffer>,
        _: [&mut Buffer; 2],
    ) {
    }

    fn residual_norm_backward(
        &self,
        _: ResidualNormCall,
        _: &Buffer,
        _: &Buffer,
        _: &Buffer,
        _: NormGradients<&mut Buffer>,
        _: &mut Buffer,
    ) {
    }

    fn nonlinear(&self, _: ActivationKind, _: &Buffer, _: &mut Buffer) {}

    fn nonlinear_backward(&self, _: ActivationKind, _: &Buffer, _: &Buffer, _: &mut Buffer) {}

    fn gated(&self, _: ActivationKind, _: usize, _: &Buffer, _: &mut Buffer) {}

    fn gated_backward(&self, _: ActivationKind, _: usize, _: &Buffer, _: &Buffer, _: &mut Buffer) {}

    fn tanh(&self, _: &Buffer, _: &mut Buffer) {}

    fn tanh_backward(&self, _: &Buffer, _: &mut Buffer) {}

    fn attention(&self, _: AttentionShape, _: AttentionInputs<'_, &Buffer>, _: &mut Buffer) {}

    fn attention_backward(
        &self,
        _: AttentionShape,
        _: AttentionInputs<'_, &Buffer>,
        _: &Buffer,
        _: Operands<&mut Buffer>,
        _: Option<&mut Buffer>,
    ) {
    }

    fn rotary(&self, _: RotaryCall<'_>, _: Turn, _: &Buffer, _: &mut Buffer) {}

    fn recurrent(&self, _: Vec<RecurrentForward<'_, &Buffer, &mut Buffer>>, _: &mut Buffer) {}

    fn recurrent_backward(
        &self,
        _: Vec<RecurrentBackward<'_, &Buffer, &mut Buffer>>,
        _: &Buffer,
        _: &Buffer,
    ) {
    }

    fn attentive_recurrent(
        &self,
        _: AttentiveRecurrentCall<'_>,
        _: AttentiveRecurrentInputs<'_, &Buffer>,
        _: &Buffer,
        _: &mut Buffer,
        _: Option<[&mut Buffer; 2]>,
    ) {
    }

    fn attentive_recurrent_backward(
        &self,
        _: AttentiveRecurrentCall<'_>,
        _: AttentiveRecurrentInputs<'_, &Buffer>,
        _: AttentiveRecurrentResult<&Buffer>,
        _: &Buffer,
        _: AttentiveRecurrentGradients<&mut Buffer>,
        _: &mut Buffer,
    ) {
    }

    fn mean_rows(&self, _: &Lengths, _: usize, _: &Buffer, _: &mut Buffer) {}

    fn mean_rows_backward(&self, _: &Lengths, _: usize, _: &Buffer, _: &mut Buffer) {}

    fn cross_entropy(
        &self,
        _: ProjectionShape,
        _: ProjectionInputs<'_, &Buffer>,
        _: ProjectionGradients<&mut Buffer>,
        _: &mut Buffer,
    ) -> Losses {
        Losses::Known(LossSums::default())
    }

    fn adam(&self, _: AdamStep, _: Part<'_>, _: [&mut Buffer; 2], _: &Buffer, _: Option<&Buffer>) {}

    fn sgd(&self, _: SgdStep, _: Part<'_>, _: Option<&mut Buffer>, _: &Buffer, _: Option<&Buffer>) {}

    fn verdict(&self, _: VerdictCall<'_>) -> Buffer {
        self.allocate(VERDICT)
    }

    fn sums_of_squares(&self, _: &Buffer) -> Vec<f64> {
        Vec::new()
    }

    fn first_non_finite(&self, _: &Buffer) -> Option<usize> {
        None
    }

    fn put_rows(&self, _: usize, _: Columns<&Buffer>, _: RowPairs<'_>, _: &mut Buffer) {}

    fn cached_attention(
        &self,
        _: CachedAttentionCall<'_>,
        _: CachedScores<&Buffer>,
        _: Columns<&Buffer>,
        _: &Buffer,
        _: &mut Buffer,
        _: &mut Buffer,
    ) {
    }

    fn likeliest(&self, _: LikeliestCall<'_>, _: &Buffer) -> Vec<LargestLogits> {
        Vec::new()
    }
}
