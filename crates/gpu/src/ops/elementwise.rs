//! Operations on single elements.

use attentive_device::Buffer;

use crate::pipelines::{GpuKernel, kernels};
use crate::queue::Binding::{Read, Write};
use crate::queue::{Recording, elements};
use crate::word::words;

kernels!("../wgsl/elementwise.wgsl":
    FILL = "fill", COPY = "copy", ADD = "add", SUM_OF_TWO = "sum_of_two", SCALE = "scale", SCALE_BY = "scale_by",
    MASK_RELU = "mask_relu", TANH = "tanh_forward", TANH_BACKWARD = "tanh_backward",
);

pub(crate) fn fill(recording: &mut Recording<'_>, x: &Buffer, value: f32) {
    in_place(recording, FILL, x, value);
}

pub(crate) fn scale(recording: &mut Recording<'_>, x: &Buffer, factor: f32) {
    in_place(recording, SCALE, x, factor);
}

fn in_place(recording: &mut Recording<'_>, kernel: GpuKernel, x: &Buffer, factor: f32) {
    if !x.is_empty() {
        let parameters = words![x.len(), factor];
        recording.run(kernel, &[Write(x)], &parameters, elements(x.len()));
    }
}

pub(crate) fn copy(recording: &mut Recording<'_>, x: &Buffer, out: &Buffer) {
    assert_eq!(x.len(), out.len(), "the lengths of a copy");
    from_one(recording, COPY, x, out, 0.0);
}

pub(crate) fn add(recording: &mut Recording<'_>, x: &Buffer, total: &Buffer) {
    assert_eq!(x.len(), total.len(), "the lengths of two terms");
    from_one(recording, ADD, x, total, 0.0);
}

pub(crate) fn scale_by(recording: &mut Recording<'_>, factor: &Buffer, x: &Buffer) {
    from_one(recording, SCALE_BY, factor, x, 0.0);
}

/// The gradient through a ReLU with the result `out`, times `factor`.
pub(crate) fn mask_relu(recording: &mut Recording<'_>, out: &Buffer, factor: f32, grad: &Buffer) {
    assert_eq!(out.len(), grad.len(), "a result and its gradient");
    from_one(recording, MASK_RELU, out, grad, factor);
}

pub(crate) fn tanh(recording: &mut Recording<'_>, x: &Buffer, out: &Buffer) {
    assert_eq!(x.len(), out.len(), "an operand and its result");
    from_one(recording, TANH, x, out, 0.0);
}

pub(crate) fn tanh_backward(recording: &mut Recording<'_>, y: &Buffer, grad: &Buffer) {
    assert_eq!(y.len(), grad.len(), "a result and its gradient");
    from_one(recording, TANH_BACKWARD, y, grad, 0.0);
}

fn from_one(recording: &mut Recording<'_>, kernel: GpuKernel, x: &Buffer, out: &Buffer, factor: f32) {
    if !out.is_empty() {
        let parameters = words![out.len(), factor];
        recording.run(kernel, &[Read(x), Write(out)], &parameters, elements(out.len()));
    }
}

/// `out` = `x` + `y`
pub(crate) fn sum_of_two(recording: &mut Recording<'_>, [x, y]: [&Buffer; 2], out: &Buffer) {
    assert_eq!([x.len(), y.len()], [out.len(); 2], "two terms and their sum");
    if !out.is_empty() {
        let parameters = words![out.len(), 0.0f32];
        let bindings = [Read(x), Read(y), Write(out)];
        recording.run(SUM_OF_TWO, &bindings, &parameters, elements(out.len()));
    }
}
