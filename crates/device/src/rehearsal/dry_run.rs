//! The device of a rehearsal.

use std::borrow::Cow;

use super::VirtualBuffer;
use crate::cached::*;
use crate::operands::*;
use crate::{Buffer, Device, Losses, Op, VERDICT, VerdictCall};

/// Computes nothing, and has buffers without memory.
#[derive(Debug)]
pub(super) struct DryRunDevice;

impl Device for DryRunDevice {
    fn allocate(&self, len: usize) -> Buffer {
        let memory = VirtualBuffer::take(len);
        Buffer::imagined_in(len, Some(memory))
    }

    fn upload(&self, values: Vec<f32>) -> Buffer {
        let memory = VirtualBuffer::own(values.len());
        Buffer::imagined_in(values.len(), Some(memory))
    }

    fn download<'a>(&self, buffer: &'a Buffer) -> Cow<'a, [f32]> {
        if buffer.is_on_host() { Cow::Borrowed(buffer.host()) } else { Cow::Borrowed(&[]) }
    }

    fn run(&self, _: Op<'_>) {}

    fn cross_entropy(
        &self,
        _: ProjectionShape,
        _: ProjectionInputs<'_, &Buffer>,
        _: ProjectionGradients<&mut Buffer>,
        _: &mut Buffer,
    ) -> Losses {
        Losses::Known(LossSums::default())
    }

    fn verdict(&self, _: VerdictCall<'_>) -> Buffer {
        self.allocate(VERDICT)
    }

    fn sums_of_squares(&self, _: &Buffer) -> Vec<f64> {
        Vec::new()
    }

    fn first_non_finite(&self, _: &Buffer) -> Option<usize> {
        None
    }

    fn likeliest(&self, _: LikeliestCall<'_>, _: &Buffer) -> Vec<LargestLogits> {
        Vec::new()
    }
}
