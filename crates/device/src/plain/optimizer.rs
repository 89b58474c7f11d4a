//! Steps of optimizers: the reference has those of one number.

use attentive_kernels::reference;

use super::memory::to;
use crate::Buffer;
use crate::operands::*;

pub(super) fn adam(step: AdamStep, part: Part<'_>, moments: [&mut Buffer; 2], grad: &[f64]) {
    let [mean, square] = moments.map(to);
    for (place, param) in to(part.buffer)[part.range].iter_mut().enumerate() {
        let (m, v, g) = (&mut mean[place], &mut square[place], grad[place]);
        [*param, *m, *v] = reference::adam(*param, *m, *v, g, step);
    }
}

pub(super) fn sgd(step: SgdStep, part: Part<'_>, velocity: Option<&mut Buffer>, grad: &[f64]) {
    let mut nothing = vec![0.0; grad.len()];
    let velocity = velocity.map_or(&mut nothing, to);
    for (place, param) in to(part.buffer)[part.range].iter_mut().enumerate() {
        let (v, g) = (&mut velocity[place], grad[place]);
        [*param, *v] = reference::sgd(*param, *v, g, step);
    }
}
