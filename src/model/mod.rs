//! Models: one file a family, and the contract that every search is written against.

mod parameters;
mod stepper;
#[cfg(test)]
mod tests;
mod transformer;

pub use parameters::{Parameter, map_parameters, parameters, shapes, take_gradients};
pub use stepper::Stepper;
pub use transformer::{Transformer, TransformerState};

use crate::ops::LossSums;
use burn::tensor::Tensor;

/// The loss of a batch.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The label-smoothed loss summed over the real target tokens: `[1]`, with its gradient.
    pub sum: Tensor<1>,
    /// The same as numbers, with the unsmoothed loss and the counts.
    pub sums: LossSums,
}
