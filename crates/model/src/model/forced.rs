//! Scores of given outputs under teacher forcing.

use std::num::NonZeroUsize;

use attentive_architecture::{Architecture, DecoderSpec};
use attentive_base::batch::{Batch, Padded};
use attentive_decode::{Logits, scored};
use attentive_device::{Losses, current};
use attentive_tape::{AttentionGuide, AttentionWeights, row_range};

use super::{Model, PREDICTED_ROWS};
use crate::nn::{AttentionGuidance, AttentionSite, AttentionWatch, Pass};

/// The attention to the source that aligns words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlignmentHead {
    /// The layer of the decoder, counted from 1; the last one by default.
    pub layer: Option<NonZeroUsize>,
    /// The head, counted from 1; the average of all heads by default.
    pub head: Option<NonZeroUsize>,
}

impl AlignmentHead {
    /// Returns the guidance that makes this head, the first one by default, of the decoder of `architecture`
    /// follow the alignments of `batch`, with a loss of `strength` times theirs. `None` without alignments,
    /// or without a Transformer decoder.
    pub fn guidance(
        self,
        architecture: &Architecture,
        batch: &Batch,
        strength: f64,
    ) -> Option<AttentionGuidance> {
        let Some(DecoderSpec::Transformer(stack)) = architecture.decoder() else { return None };
        let last = stack.n_layers.checked_sub(1)?;
        let layer = self.layer.map_or(last, |layer| layer.get() - 1);
        let guide = AttentionGuide {
            head: self.head.map_or(0, |head| head.get() - 1),
            aligned: batch.aligned.clone().into(),
            strength: strength as f32,
        };
        (!batch.aligned.is_empty()).then(|| AttentionGuidance::new(layer, guide))
    }
}

impl Model {
    /// Returns the natural log-probabilities of the targets `batch.tgt_out` of each sequence; NaN where a
    /// target is impossible or the logits are NaN.
    pub fn log_probs(&self, batch: &Batch, pass: &Pass<'_>) -> Vec<Vec<f64>> {
        if current().computes_later() {
            self.log_probs_by_loss(batch, pass)
        } else {
            self.log_probs_by_logits(batch, pass)
        }
    }

    /// On a device that computes later: the logits stay there.
    fn log_probs_by_loss(&self, batch: &Batch, pass: &Pass<'_>) -> Vec<Vec<f64>> {
        let Losses::Pending(rows) = self.loss(batch, 0.0, pass).losses else {
            unreachable!("the losses of a device that computes later are pending");
        };
        let mut log_probs =
            rows.nll().into_iter().map(|nll| if nll.is_finite() { -nll.max(0.0) } else { f64::NAN });
        let lens = batch.tgt_out.lens().iter();
        lens.map(|&len| log_probs.by_ref().take(len).collect()).collect()
    }

    /// On the host, from the logits of a few rows at a time.
    fn log_probs_by_logits(&self, batch: &Batch, pass: &Pass<'_>) -> Vec<Vec<f64>> {
        let x = self.last_layer(batch, pass);
        let [rows, _] = x.shape();
        let mut all = Vec::with_capacity(rows);
        for first in (0..rows).step_by(PREDICTED_ROWS) {
            let rows = row_range(x.clone(), first..rows.min(first + PREDICTED_ROWS));
            let logits = Logits::from(self.logits(rows, pass));
            let targets = batch.tgt_out.ids[first..].iter();
            all.extend(logits.rows().zip(targets).map(|(row, &target)| {
                let found = scored(row, &[target]);
                found.first().map_or(f64::NAN, |target| target.log_prob)
            }));
        }
        let Padded { lengths, .. } = &batch.tgt_out;
        let sequences = all.chunks(lengths.width().max(1)).zip(lengths.lens());
        sequences.map(|(row, &len)| row[..len].to_vec()).collect()
    }

    /// Returns the weights with which the decoder attends to the memory when it predicts each target,
    /// `[batch, 1, tgt_len, src_len]`, in the heads and the layer that `chosen` names. `None` for a model
    /// without cross-attention.
    ///
    /// # Panics
    /// If there is no such layer or head.
    pub fn cross_attention(
        &self,
        batch: &Batch,
        chosen: AlignmentHead,
        pass: &Pass<'_>,
    ) -> Option<AttentionWeights> {
        let watch = AttentionWatch::only(AttentionSite::Cross);
        self.last_layer(batch, &pass.watched(&watch));
        let mut cross = watch.into_maps().into_iter();
        let map = match chosen.layer {
            Some(layer) => cross.find(|map| map.layer + 1 == layer.get()).expect("a layer of the decoder"),
            None => cross.max_by_key(|map| map.layer)?,
        };
        Some(match chosen.head {
            Some(head) => map.weights.of_head(head.get() - 1),
            None => map.weights.mean_of_heads(),
        })
    }
}
