//! Fully connected layers.

use attentive_device::{Affine, AffineGradients, Buffer, LinearCall, LinearKept};
use attentive_kernels::gemm::Activation;

use super::dropout;
use super::elementwise;
use super::product::{GpuMatrix, GpuProduct};
use super::sums::ColumnSums;
use crate::queue::Recording;

pub(crate) fn linear(
    recording: &mut Recording<'_>,
    call: LinearCall,
    x: &Buffer,
    maps: &[Affine<&Buffer>],
    out: &Buffer,
) {
    let LinearCall { rows, d_in, d_out, .. } = call;
    let width = maps.len() * d_out;
    assert_eq!([x.len(), out.len()], [rows * d_in, rows * width], "{call:?}");
    for (number, map) in maps.iter().enumerate() {
        assert_eq!(map.weight.len(), d_out * d_in, "{call:?}");
        let (x, weight) = (GpuMatrix::rows(x, d_in), GpuMatrix::rows(map.weight, d_in).t());
        let product = GpuProduct::new([rows, d_out, d_in], x, weight, call.precision);
        let product = GpuProduct { activation: call.activation, ..product.with_bias(map.bias) };
        product.write(recording, GpuMatrix::rows(out, width).skip_columns(number * d_out));
    }
    if let Some(dropout) = call.dropout {
        dropout::dropout(recording, dropout, out);
    }
}

pub(crate) fn linear_backward(
    recording: &mut Recording<'_>,
    call: LinearCall,
    kept: LinearKept<'_, &Buffer>,
    grad: &Buffer,
    dx: Option<&mut Buffer>,
    gradients: Vec<AffineGradients<&mut Buffer>>,
) {
    let LinearCall { rows, d_in, d_out, precision, .. } = call;
    let width = gradients.len() * d_out;
    assert_eq!(grad.len(), rows * width, "{call:?}");
    if call.activation == Activation::Relu {
        let factor = call.dropout.map_or(1.0, |dropout| dropout.kept_scale());
        elementwise::mask_relu(recording, kept.out, factor, grad);
    }
    let part = |number: usize| GpuMatrix::rows(grad, width).skip_columns(number * d_out);
    if let Some(dx) = dx {
        assert_eq!(kept.weights.len(), gradients.len(), "a weight per layer");
        for (number, weight) in kept.weights.iter().enumerate() {
            let (shape, weight) = ([rows, d_in, d_out], GpuMatrix::rows(weight, d_in));
            let product = GpuProduct::new(shape, part(number), weight, precision);
            let product = product.added_if(number > 0);
            product.write(recording, GpuMatrix::rows(dx, d_in));
        }
    }
    for (number, AffineGradients { weight, bias }) in gradients.into_iter().enumerate() {
        if let Some(dweight) = weight {
            let (shape, x) = ([d_out, d_in, rows], GpuMatrix::rows(kept.x, d_in));
            let product = GpuProduct::new(shape, part(number).t(), x, precision);
            product.write(recording, GpuMatrix::rows(dweight, d_in));
        }
        if let Some(dbias) = bias {
            let sums = ColumnSums { rows, columns: d_out, matrix: grad, first: number * d_out, width };
            sums.write(recording, dbias, false);
        }
    }
}
