//! Norms.

use std::borrow::Cow;

use attentive_device::{Buffer, NormCall, NormGradients, ResidualNormCall};
use attentive_kernels::norm::NormKind;

use super::dropout::dropout_add;
use super::elementwise::fill;
use super::sums::ColumnSums;
use crate::pipelines::GpuKernel;
use crate::queue::Binding::{Read, ReadIf, Write};
use crate::queue::{Recording, grid};
use crate::word::words;

const NORM: GpuKernel = GpuKernel::new("norm", source);
const BACKWARD: GpuKernel = GpuKernel::new("norm_backward", source);
const COLUMNS: GpuKernel = GpuKernel::new("norm_columns", source);

/// Rows whose terms of the gradients of gain and bias are summed first.
const ROWS: usize = 64;

fn source(_: usize) -> Cow<'static, str> {
    concat!(include_str!("../wgsl/reduce.wgsl"), include_str!("../wgsl/norm.wgsl")).into()
}

fn parameters(call: NormCall, has_bias: bool) -> [u32; 5] {
    words![call.rows, call.d, call.kind as u32, has_bias, call.epsilon]
}

pub(crate) fn norm(
    recording: &mut Recording<'_>,
    call: NormCall,
    x: &Buffer,
    gain: &Buffer,
    bias: Option<&Buffer>,
    out: &Buffer,
) {
    assert_eq!([x.len(), out.len()], [call.rows * call.d; 2], "{call:?}");
    if out.is_empty() {
        return;
    }
    let parameters = parameters(call, bias.is_some());
    let bindings = [Read(x), Read(gain), ReadIf(bias), Write(out)];
    recording.run(NORM, &bindings, &parameters, grid(call.rows));
}

pub(crate) fn residual_norm(
    recording: &mut Recording<'_>,
    call: ResidualNormCall,
    [x, y]: [&Buffer; 2],
    gain: &Buffer,
    bias: Option<&Buffer>,
    [sum, out]: [&Buffer; 2],
) {
    dropout_add(recording, y, Some(x), call.dropout, sum);
    norm(recording, call.norm, sum, gain, bias, out);
}

pub(crate) fn residual_norm_backward(
    recording: &mut Recording<'_>,
    call: ResidualNormCall,
    sum: &Buffer,
    gain: &Buffer,
    grad: &Buffer,
    gradients: NormGradients<&Buffer>,
    dy: &Buffer,
) {
    let dx = gradients.x;
    norm_backward(recording, call.norm, sum, gain, grad, gradients);
    dropout_add(recording, dx, None, call.dropout, dy);
}

pub(crate) fn norm_backward(
    recording: &mut Recording<'_>,
    call: NormCall,
    x: &Buffer,
    gain: &Buffer,
    grad: &Buffer,
    gradients: NormGradients<&Buffer>,
) {
    let NormCall { kind, rows, d, .. } = call;
    assert_eq!([x.len(), grad.len(), gradients.x.len()], [rows * d; 3], "{call:?}");
    if rows * d == 0 {
        fill(recording, gradients.gain, 0.0);
        if let Some(bias) = gradients.bias {
            fill(recording, bias, 0.0);
        }
        return;
    }
    let parameters = parameters(call, false);
    let (statistics, of_rows) = (recording.room(2 * rows), recording.room(2 * rows));
    let bindings = [Read(x), Read(gain), Read(grad), Write(gradients.x), Write(&statistics), Write(&of_rows)];
    recording.run(BACKWARD, &bindings, &parameters, grid(rows));
    let sums = |matrix, rows, columns, first, width| ColumnSums { rows, columns, matrix, first, width };
    if kind == NormKind::Scalar {
        sums(&of_rows, rows, 1, 0, 2).write(recording, gradients.gain, false);
        if let Some(bias) = gradients.bias {
            sums(&of_rows, rows, 1, 1, 2).write(recording, bias, false);
        }
        return;
    }
    let chunks = rows.div_ceil(ROWS);
    let parts = recording.room(2 * chunks * d);
    let bindings = [Read(x), Read(&statistics), Read(grad), Write(&parts)];
    let groups = [d.div_ceil(64) as u32, chunks as u32];
    recording.run(COLUMNS, &bindings, &parameters, groups);
    sums(&parts, chunks, d, 0, 2 * d).write_at_once(recording, gradients.gain, false);
    if let Some(bias) = gradients.bias {
        sums(&parts, chunks, d, d, 2 * d).write_at_once(recording, bias, false);
    }
}
