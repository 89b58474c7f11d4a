//! Dropout, whose masks are those of the CPU.

use std::borrow::Cow;

use attentive_device::{Buffer, DropoutCall};

use super::elementwise;
use crate::pipelines::GpuKernel;
use crate::queue::Binding::{Read, ReadIf, Write};
use crate::queue::{Recording, elements};
use crate::word::words;

const DROPOUT: GpuKernel = GpuKernel::new("dropout", source);
const DROPOUT_ADD: GpuKernel = GpuKernel::new("dropout_add", source);

fn source(_: usize) -> Cow<'static, str> {
    concat!(include_str!("../wgsl/dropout.wgsl"), include_str!("../wgsl/drop.wgsl")).into()
}

/// The words of a mask in kernels. Without dropout, everything is kept.
pub(crate) fn mask(dropout: Option<DropoutCall>) -> [u32; 7] {
    let Some(dropout) = dropout else {
        return words![0u32, 0u32, 0u32, 0u32, 0u32, 0u32, 1.0f32];
    };
    let halves = |number: u64| [number as u32, (number >> 32) as u32];
    let ([seed_low, seed_high], [batch_low, batch_high]) =
        (halves(dropout.seed), halves(dropout.micro_batch));
    words![
        seed_low,
        seed_high,
        dropout.site,
        batch_low,
        batch_high,
        dropout.threshold(),
        dropout.kept_scale(),
    ]
}

/// `x` = dropout(`x`)
pub(crate) fn dropout(recording: &mut Recording<'_>, dropout: DropoutCall, x: &Buffer) {
    if x.is_empty() {
        return;
    }
    let parameters = [&mask(Some(dropout))[..], &words![x.len(), 0u32]].concat();
    recording.run(DROPOUT, &[Write(x)], &parameters, draws(x.len()));
}

/// `out` = `residual` + dropout(`x`)
pub(crate) fn dropout_add(
    recording: &mut Recording<'_>,
    x: &Buffer,
    residual: Option<&Buffer>,
    dropout: Option<DropoutCall>,
    out: &Buffer,
) {
    let Some(dropout) = dropout else {
        return match residual {
            Some(residual) => elementwise::sum_of_two(recording, [residual, x], out),
            None => elementwise::copy(recording, x, out),
        };
    };
    assert_eq!(x.len(), out.len(), "an operand and its result");
    if out.is_empty() {
        return;
    }
    let parameters = [&mask(Some(dropout))[..], &words![x.len(), residual.is_some()]].concat();
    let bindings = [Read(x), ReadIf(residual), Write(out)];
    recording.run(DROPOUT_ADD, &bindings, &parameters, draws(x.len()));
}

/// The workgroups with an invocation for each draw; eight elements share one.
fn draws(len: usize) -> [u32; 2] {
    elements(8 * len.div_ceil(64))
}
