//! Steps of optimizers: the reference has those of one number.

use attentive_kernels::reference;

use crate::memory::{elements, elements_mut, narrow};
use attentive_device::*;

use crate::PLAIN;

/// A gradient as the verdict has it; `None` if nothing changes.
pub(super) fn judged(grad: &Buffer, verdict: Option<&Buffer>) -> Option<Vec<f64>> {
    let factor = verdict.map_or(Some(1.0), |verdict| verdict::factor(&narrow(verdict)))?;
    Some(elements(grad).iter().map(|g| g * f64::from(factor)).collect())
}

pub(super) fn verdict(call: VerdictCall<'_>) -> Buffer {
    let loss = elements(call.loss)[0] as f32;
    let before = call.before.map(narrow);
    let found = verdict::verdict(call, loss, &narrow(call.squares), before.as_deref());
    PLAIN.upload(found.to_vec())
}

pub(super) fn optimize(step: OptimizerStep, part: BufferSliceMut<'_>, state: Vec<&mut Buffer>, grad: &[f64]) {
    let mut state: Vec<&mut [f64]> = state.into_iter().map(|values| &mut elements_mut(values)[..]).collect();
    for (index, param) in elements_mut(part.buffer)[part.range].iter_mut().enumerate() {
        let g = grad[index];
        match (step, &mut *state) {
            (OptimizerStep::Adam(step), [mean, square]) => {
                let (m, v) = (&mut mean[index], &mut square[index]);
                [*param, *m, *v] = reference::adam(*param, *m, *v, g, step);
            }
            (OptimizerStep::Sgd(step), [velocity]) => {
                let v = &mut velocity[index];
                [*param, *v] = reference::sgd(*param, *v, g, step);
            }
            (OptimizerStep::Sgd(step), []) => [*param, _] = reference::sgd(*param, 0.0, g, step),
            _ => panic!("a state of another optimizer"),
        }
    }
}
