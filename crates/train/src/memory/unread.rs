//! The memory of results that a GPU has and the host has not read yet.

use attentive_data::BatchSize;
use attentive_device::{RowLosses, VERDICT};
use attentive_kernels::optimizer::SUM_CHUNK;
use attentive_model::model::Model;

use super::Subject;
use crate::trainer::MAX_STARTED_UPDATES;

/// The most numbers that wait for the host while `batches` are trained on: the losses of all rows, the sums
/// of squares of the gradients and the verdict, of as many updates as are read together.
pub(super) fn floats(subject: &Subject<'_>, batches: &[BatchSize]) -> f64 {
    let train = &subject.config.train;
    let updates = match subject.processes {
        1 => (train.log_every.max(1)).min(MAX_STARTED_UPDATES as u64),
        // The host waits for each update.
        _ => 1,
    };
    let targets = batches.iter().map(BatchSize::tgt_tokens).max();
    let losses = RowLosses::NUMBERS * targets.unwrap_or(0) * train.micro_batches_per_update.max(1);
    let model = Model::imagined(subject.architecture);
    subject.frozen.apply(&model);
    let squares = model.trained().map(|parameter| parameter.size().div_ceil(SUM_CHUNK));
    updates as f64 * (losses + squares.sum::<usize>() + VERDICT) as f64
}
