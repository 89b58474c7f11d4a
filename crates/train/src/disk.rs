//! Predicts what the files of a run take.

use attentive_config::TrainConfig;

use super::optimizer::slots;

/// The most bytes that the weights and the optimizer states of a run take on disk, while a checkpoint is
/// written, for a model of `n_trained` weights that change and `n_frozen` that do not.
pub(super) fn most_on_disk(train: &TrainConfig, n_trained: usize, n_frozen: usize) -> u64 {
    // The best one, and the one that is written before another is deleted.
    let further = 2 + train.keep_best_by.len();
    let n_checkpoints = train.keep_last.max(1) + further;
    let of_checkpoint = n_trained * (1 + slots(train));
    // The run directory has weights of its own, and their successors while they are replaced.
    (size_of::<f32>() * (n_checkpoints * of_checkpoint + 2 * n_trained + n_frozen)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frozen_weights_count_once() {
        let train = TrainConfig { keep_last: 3, ..TrainConfig::default() };
        // Five checkpoints with weights and both moments of Adam, and the run directory.
        assert_eq!(most_on_disk(&train, 100, 0), 4 * (5 * 300 + 200));
        assert_eq!(most_on_disk(&train, 100, 1000), 4 * (5 * 300 + 200 + 1000));
    }
}
