//! Activation functions.

use attentive_device::{ActivationKind, Buffer};

use crate::pipelines::{GpuKernel, kernels};
use crate::queue::Binding::{Read, Write};
use crate::queue::{Recording, elements};
use crate::word::words;

kernels!("../wgsl/nonlinearity.wgsl":
    NONLINEAR = "nonlinear", NONLINEAR_BACKWARD = "nonlinear_backward", GATED = "gated", GATED_BACKWARD = "gated_backward",
);

pub(crate) fn nonlinear(recording: &mut Recording<'_>, f: ActivationKind, x: &Buffer, out: &Buffer) {
    assert_eq!(x.len(), out.len(), "an operand and its result");
    run(recording, NONLINEAR, f, 1, [x], out, out.len());
}

pub(crate) fn nonlinear_backward(
    recording: &mut Recording<'_>,
    f: ActivationKind,
    inputs: [&Buffer; 2],
    dx: &Buffer,
) {
    assert_eq!(inputs.map(Buffer::len), [dx.len(); 2], "a gradient");
    run(recording, NONLINEAR_BACKWARD, f, 1, inputs, dx, dx.len());
}

pub(crate) fn gated(recording: &mut Recording<'_>, f: ActivationKind, d: usize, x: &Buffer, out: &Buffer) {
    assert_eq!(x.len(), 2 * out.len(), "an operand and its result");
    run(recording, GATED, f, d, [x], out, out.len());
}

pub(crate) fn gated_backward(
    recording: &mut Recording<'_>,
    f: ActivationKind,
    d: usize,
    [x, grad]: [&Buffer; 2],
    dx: &Buffer,
) {
    assert_eq!([x.len(), dx.len()], [2 * grad.len(); 2], "a gradient");
    run(recording, GATED_BACKWARD, f, d, [x, grad], dx, grad.len());
}

fn run<const N: usize>(
    recording: &mut Recording<'_>,
    kernel: GpuKernel,
    f: ActivationKind,
    d: usize,
    inputs: [&Buffer; N],
    out: &Buffer,
    n: usize,
) {
    if n == 0 {
        return;
    }
    let f = match f {
        ActivationKind::Relu => 0u32,
        ActivationKind::Gelu => 1,
        ActivationKind::GeluTanh => 2,
        ActivationKind::Silu => 3,
    };
    let inputs = inputs.into_iter().map(Read);
    let bindings: Vec<_> = inputs.chain([Write(out)]).collect();
    recording.run(kernel, &bindings, &words![n, f, d], elements(n));
}
