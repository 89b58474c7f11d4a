//! Weights in the form that inference reads.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use burn::module::{Param, ParamId};
use burn::tensor::Tensor;

use crate::ops::Weight;

/// The packed weights of a model that no longer changes, each packed on first use.
#[derive(Debug, Default)]
pub struct Packs(Mutex<HashMap<ParamId, Weight>>);

impl Packs {
    /// No weights yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// `param`, packed.
    pub(super) fn weight(&self, param: &Param<Tensor<2>>) -> Weight {
        let mut packed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let weight = packed
            .entry(param.id)
            .or_insert_with(|| Weight::packed(param.val()));
        weight.clone()
    }
}
