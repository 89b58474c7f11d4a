//! Scores of given outputs under teacher forcing.

use attentive_base::batch::{Batch, Padded};
use attentive_decode::{Logits, scored};
use attentive_device::{Losses, current};
use attentive_tape::{AttentionWeights, row_range};

use super::{Model, PREDICTED_ROWS};
use crate::nn::{AttentionSite, AttentionWatch, Pass};

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
    /// `[batch, 1, tgt_len, src_len]`: the average over the heads of the top layer. `None` for a model
    /// without cross-attention.
    pub fn cross_attention(&self, batch: &Batch, pass: &Pass<'_>) -> Option<AttentionWeights> {
        let watch = AttentionWatch::only(AttentionSite::Cross);
        self.last_layer(batch, &pass.watched(&watch));
        let cross = watch.into_maps().into_iter();
        let top = cross.max_by_key(|map| map.layer)?;
        Some(top.weights.mean_of_heads())
    }
}
