//! Steps of optimizers: the reference has those of one number.

use attentive_kernels::reference;

use crate::memory::{narrow, of, to};
use attentive_device::*;

use crate::PLAIN;

/// A gradient as the verdict has it; `None` if nothing changes.
pub(super) fn judged(grad: &Buffer, verdict: Option<&Buffer>) -> Option<Vec<f64>> {
    let factor = verdict.map_or(Some(1.0), |verdict| verdict::factor(&narrow(verdict)))?;
    Some(of(grad).iter().map(|g| g * f64::from(factor)).collect())
}

pub(super) fn verdict(call: VerdictCall<'_>) -> Buffer {
    let loss = of(call.loss)[0] as f32;
    let before = call.before.map(narrow);
    let found = verdict::verdict(call, loss, &narrow(call.squares), before.as_deref());
    PLAIN.upload(found.to_vec())
}

pub(super) fn adam(step: AdamStep, part: BufferSliceMut<'_>, moments: [&mut Buffer; 2], grad: &[f64]) {
    let [mean, square] = moments.map(to);
    for (place, param) in to(part.buffer)[part.range].iter_mut().enumerate() {
        let (m, v, g) = (&mut mean[place], &mut square[place], grad[place]);
        [*param, *m, *v] = reference::adam(*param, *m, *v, g, step);
    }
}

pub(super) fn sgd(step: SgdStep, part: BufferSliceMut<'_>, velocity: Option<&mut Buffer>, grad: &[f64]) {
    let mut nothing = vec![0.0; grad.len()];
    let velocity = velocity.map_or(&mut nothing, to);
    for (place, param) in to(part.buffer)[part.range].iter_mut().enumerate() {
        let (v, g) = (&mut velocity[place], grad[place]);
        [*param, *v] = reference::sgd(*param, *v, g, step);
    }
}
