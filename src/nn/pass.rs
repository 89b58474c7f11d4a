//! What changes from one forward pass to the next.

use std::cell::RefCell;

use burn::tensor::Tensor;

use super::{AttentionPlace, AttentionWatch, Dropout};
use crate::ops::{self, Precision};

/// One forward pass: inference or training, watched or not.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    dropout: Option<DropoutKey>,
    precision: Precision,
    probe: Option<&'a Probe>,
    watch: Option<&'a AttentionWatch>,
}

#[derive(Clone, Copy, Debug)]
struct DropoutKey {
    seed: u64,
    micro_batch: u64,
}

impl<'a> Pass<'a> {
    /// No dropout, products in `f32`.
    pub fn inference() -> Self {
        Self::inference_in(Precision::F32)
    }

    /// No dropout, products of linear maps in `precision`.
    pub fn inference_in(precision: Precision) -> Self {
        Self {
            dropout: None,
            precision,
            probe: None,
            watch: None,
        }
    }

    /// Dropout drawn for micro-batch number `micro_batch` of the run seeded with `seed`, products of linear maps in
    /// `precision`.
    pub fn training(seed: u64, micro_batch: u64, precision: Precision) -> Self {
        Self {
            dropout: Some(DropoutKey { seed, micro_batch }),
            precision,
            probe: None,
            watch: None,
        }
    }

    /// How exactly linear maps multiply.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The same pass, watched by `probe`.
    pub fn probed(self, probe: &'a Probe) -> Self {
        Self {
            probe: Some(probe),
            ..self
        }
    }

    /// The same pass, whose attention weights `watch` gathers.
    pub fn watched(self, watch: &'a AttentionWatch) -> Self {
        Self {
            watch: Some(watch),
            ..self
        }
    }

    /// The mask of `dropout` in this pass; `None` where nothing is dropped.
    pub fn dropout(&self, dropout: Dropout) -> Option<ops::Dropout> {
        let DropoutKey { seed, micro_batch } = self.dropout?;
        (dropout.rate > 0.0).then_some(ops::Dropout {
            rate: dropout.rate as f32,
            seed,
            micro_batch,
            site: dropout.site,
        })
    }

    /// Shows the probe, if there is one, what layer `name()` puts out.
    pub fn observe<const D: usize>(&self, name: impl FnOnce() -> String, output: &Tensor<D>) {
        if let Some(probe) = self.probe {
            probe.observe(name, output);
        }
    }

    /// Records the weights of the attention at `place`, which are computed only if somebody watches.
    pub(super) fn record_attention(
        &self,
        place: &AttentionPlace,
        weights: impl FnOnce() -> Tensor<4>,
    ) {
        if let Some(watch) = self.watch {
            watch.record(place, weights());
        }
    }
}

/// Finds the first layer whose output is not finite.
#[derive(Debug, Default)]
pub struct Probe(RefCell<Option<String>>);

impl Probe {
    fn observe<const D: usize>(&self, name: impl FnOnce() -> String, output: &Tensor<D>) {
        let mut first = self.0.borrow_mut();
        if first.is_none()
            && !output
                .clone()
                .inner()
                .is_finite()
                .all()
                .into_scalar::<bool>()
        {
            *first = Some(name());
        }
    }

    /// The name of the layer, once a pass has gone through it.
    pub fn first_non_finite(self) -> Option<String> {
        self.0.into_inner()
    }
}
