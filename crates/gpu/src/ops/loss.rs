//! Projection and cross-entropy.

use std::borrow::Cow;
use std::sync::Arc;

use attentive_device::{Buffer, Losses, ProjectionGradients, ProjectionInputs, ProjectionShape, RowLosses};
use attentive_kernels::cross_entropy::IGNORE;

use super::elementwise::fill;
use super::product::{GpuMatrix, GpuProduct};
use super::rows::{scatter_rows, select_rows};
use super::sums::ColumnSums;
use crate::pipelines::GpuKernel;
use crate::queue::Binding::{Host, Read, Write};
use crate::queue::{Recording, grid};
use crate::word::{all_words, words};

const ROW_LOSS: GpuKernel = GpuKernel::new("row_loss", source);
const LOSS_OF_ROWS: GpuKernel = GpuKernel::new("loss_of_rows", source);

fn source(_: usize) -> Cow<'static, str> {
    concat!(include_str!("../wgsl/reduce.wgsl"), include_str!("../wgsl/loss.wgsl")).into()
}

/// The loss and the gradients.
pub(crate) fn cross_entropy(
    recording: &mut Recording<'_>,
    shape: ProjectionShape,
    inputs: ProjectionInputs<'_, &Buffer>,
    gradients: ProjectionGradients<&mut Buffer>,
    loss: &Buffer,
) -> Losses {
    let ProjectionShape { rows, d_model, vocab, .. } = shape;
    assert_eq!(inputs.x.len(), rows * d_model, "{shape:?}");
    assert_eq!(inputs.weight.len(), vocab * d_model, "{shape:?}");
    assert_eq!(inputs.targets.len(), rows, "{shape:?}");
    let is_real = |&row: &usize| inputs.targets[row] != IGNORE;
    let real: Vec<usize> = (0..rows).filter(is_real).collect();
    for &row in &real {
        let target = inputs.targets[row];
        assert!((target as usize) < vocab, "target {target} among {vocab} classes");
    }
    assert!(inputs.twin.is_none(), "a loss of two passes, which configurations refuse on GPUs");
    let gradients = ProjectionGradients {
        twin: None,
        x: gradients.x.map(|x| &*x),
        weight: gradients.weight.map(|weight| &*weight),
        bias: gradients.bias.map(|bias| &*bias),
    };
    let results = [Some(loss), gradients.x, gradients.weight, gradients.bias];
    for result in results.into_iter().flatten() {
        fill(recording, result, 0.0);
    }
    let weights = inputs.row_weights.map(|weights| real.iter().map(|&row| weights[row]).collect());
    let rows = real
        .chunks(RowLosses::rows_at_once(vocab))
        .map(|rows| block(recording, shape, inputs, rows, &gradients, loss))
        .collect();
    Losses::Pending(Arc::new(RowLosses { rows, vocab, label_smoothing: inputs.label_smoothing, weights }))
}

/// The numbers of a block of rows whose targets are not ignored; adds to the gradients and the loss.
fn block(
    recording: &mut Recording<'_>,
    shape: ProjectionShape,
    inputs: ProjectionInputs<'_, &Buffer>,
    rows: &[usize],
    gradients: &ProjectionGradients<&Buffer>,
    loss: &Buffer,
) -> Buffer {
    let ProjectionShape { d_model, vocab, precision, .. } = shape;
    let n = rows.len();
    let x = recording.room(n * d_model);
    select_rows(recording, d_model, inputs.x, rows, &x);
    let logits = recording.room(n * vocab);
    let weight = GpuMatrix::rows(inputs.weight, d_model);
    let (of_x, of_logits) = (GpuMatrix::rows(&x, d_model), GpuMatrix::rows(&logits, vocab));
    GpuProduct::new([n, vocab, d_model], of_x, weight.t(), precision)
        .with_bias(inputs.bias)
        .write(recording, of_logits);
    let targets = rows.iter().map(|&row| inputs.targets[row]);
    let weight_of = |&row: &usize| inputs.row_weights.map_or(1.0, |weights| weights[row]);
    let targets = all_words(targets.chain(rows.iter().map(|row| weight_of(row).to_bits())));
    let targets = recording.upload(&targets);
    let losses = recording.room(RowLosses::NUMBERS * n);
    let differentiates = gradients.x.is_some() || gradients.weight.is_some() || gradients.bias.is_some();
    let parameters = words![n, vocab, inputs.label_smoothing, differentiates];
    let bindings = [Write(&logits), Host(&targets), Write(&losses)];
    recording.run(ROW_LOSS, &bindings, &parameters, grid(n));
    let smoothing = inputs.label_smoothing;
    let parameters = words![n, 1.0 - smoothing, smoothing / vocab as f32];
    let bindings = [Read(&losses), Host(&targets), Write(loss)];
    recording.run(LOSS_OF_ROWS, &bindings, &parameters, grid(1));
    if let Some(dweight) = gradients.weight {
        GpuProduct::new([vocab, d_model, n], of_logits.t(), of_x, precision)
            .added()
            .write(recording, GpuMatrix::rows(dweight, d_model));
    }
    if let Some(dbias) = gradients.bias {
        let sums = ColumnSums { rows: n, columns: vocab, matrix: &logits, first: 0, width: vocab };
        sums.write(recording, dbias, true);
    }
    if let Some(dx) = gradients.x {
        let product = GpuProduct::new([n, d_model, vocab], of_logits, weight, precision);
        product.write(recording, of_x);
        scatter_rows(recording, d_model, &x, rows, dx);
    }
    losses
}
