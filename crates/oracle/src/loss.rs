//! What the sums of a loss are computed from.

use attentive_kernels::cross_entropy::IGNORE;
use attentive_kernels::gemm::Activation;
use attentive_kernels::reference;

use attentive_device::*;

use crate::PLAIN;

/// The numbers of all rows with targets, as if they were read later.
pub(super) fn losses(shape: ProjectionShape, inputs: ProjectionInputs<'_, &[f64]>) -> Losses {
    let ProjectionShape { rows, d_model, vocab, precision } = shape;
    let layer = LinearCall {
        rows,
        d_in: d_model,
        d_out: vocab,
        activation: Activation::Identity,
        dropout: None,
        precision,
    };
    let logits = reference::linear(layer, inputs.x, inputs.weight, inputs.bias);
    let mut numbers = Vec::new();
    for (row, &target) in logits.chunks_exact(vocab).zip(inputs.targets) {
        if target == IGNORE {
            continue;
        }
        let target = target as usize;
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let less = |z: &f64| z - top;
        let first = row.iter().position(|&z| z == top);
        numbers.extend([
            less(&row[target]),
            row.iter().map(less).sum(),
            row.iter().map(|z| less(z).exp()).sum(),
            f64::from(u8::from(first == Some(target))),
        ]);
    }
    let numbers = numbers.into_iter().map(|number| number as f32);
    let pending = RowLosses {
        rows: vec![PLAIN.upload(numbers.collect())],
        vocab,
        label_smoothing: inputs.label_smoothing,
        weights: inputs.row_weights.map(|weights| {
            let rows = weights.iter().zip(inputs.targets).filter(|(_, target)| **target != IGNORE);
            rows.map(|(weight, _)| *weight).collect()
        }),
    };
    Losses::Pending(pending.into())
}
