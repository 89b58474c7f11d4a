//! The order of the examples in an epoch.

use std::ops::Range;

use super::batcher::Position;
use super::budget::Budget;
use super::examples::{Examples, SHARD};
use crate::random::Random;

/// Base of the random streams that shuffle the epochs; window `w` of epoch `n` uses this plus `n` plus 2³²·`w`, and the shards of
/// epoch `n` use [`FIRST_SHARD_STREAM`] plus `n`.
const FIRST_STREAM: u64 = 0x6261_7463_6865_7300;
const FIRST_SHARD_STREAM: u64 = 0x7368_6172_6473_0000;

/// Number of shards whose examples are shuffled together.
const SHARDS_PER_WINDOW: usize = 4;

/// Examples are sorted by length within groups of about this many batches.
const BATCHES_PER_GROUP: usize = 100;

/// The shards of each window of `epoch`: all in one window if there are few, and otherwise some random ones in each.
pub(super) fn windows(n_examples: usize, seed: u64, epoch: u64) -> Vec<Vec<usize>> {
    let mut shards: Vec<usize> = (0..n_examples.div_ceil(SHARD)).collect();
    if shards.len() > SHARDS_PER_WINDOW {
        Random::new(seed, FIRST_SHARD_STREAM.wrapping_add(epoch)).shuffle(&mut shards);
    }
    shards
        .chunks(SHARDS_PER_WINDOW)
        .map(<[_]>::to_vec)
        .collect()
}

/// The batches of a window, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Indices of the examples.
    examples: Vec<u32>,
    /// Parts of `examples`.
    batches: Vec<Range<u32>>,
}

impl Order {
    /// Shuffles the examples of the shards, groups those of similar length into batches, and shuffles the batches.
    pub(super) fn of(
        examples: &Examples,
        shards: &[usize],
        budget: Budget,
        seed: u64,
        position: Position,
    ) -> Self {
        let stream = FIRST_STREAM
            .wrapping_add(position.epoch)
            .wrapping_add((position.window as u64) << 32);
        let mut random = Random::new(seed, stream);
        let of_shard = |&shard: &usize| shard * SHARD..examples.len().min((shard + 1) * SHARD);
        let indices = shards.iter().flat_map(of_shard);
        let mut order: Vec<u32> = indices.map(|index| index as u32).collect();
        random.shuffle(&mut order);
        let lengths = |&index: &u32| examples.lengths(index as usize);
        let tokens: usize = order.iter().map(|index| lengths(index).tgt).sum();
        let mut batches = Vec::new();
        let (mut start, group_len) = (0, group_len(order.len(), tokens, budget));
        for group in order.chunks_mut(group_len) {
            // The sort is stable, so examples of equal lengths remain shuffled.
            group.sort_by_key(lengths);
            let cut = budget.cut(group.iter().map(lengths)).into_iter();
            batches.extend(cut.map(|batch| start + batch.start as u32..start + batch.end as u32));
            start += group.len() as u32;
        }
        random.shuffle(&mut batches);
        Self {
            examples: order,
            batches,
        }
    }

    /// Number of batches.
    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Number of examples.
    pub(super) fn n_examples(&self) -> usize {
        self.examples.len()
    }

    /// The indices of the examples of a batch.
    pub(super) fn batch(&self, number: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
        let Range { start, end } = self.batches[number];
        self.examples[start as usize..end as usize]
            .iter()
            .map(|&index| index as usize)
    }
}

/// Number of examples that are sorted together; all of them if there are not enough for two groups.
fn group_len(n_examples: usize, tgt_tokens: usize, budget: Budget) -> usize {
    let groups = tgt_tokens / budget.tgt_tokens().saturating_mul(BATCHES_PER_GROUP);
    n_examples.div_ceil(groups.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_each_shard_once() {
        for (examples, n_windows) in [(1, 1), (4 * SHARD, 1), (4 * SHARD + 1, 2), (13 * SHARD, 4)] {
            for epoch in 0..3 {
                let windows = windows(examples, 7, epoch);
                assert_eq!(windows.len(), n_windows);
                let mut all = windows.concat();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..examples.div_ceil(SHARD)));
            }
        }
        assert_ne!(windows(13 * SHARD, 7, 0), windows(13 * SHARD, 7, 1));
        assert_ne!(windows(13 * SHARD, 7, 0), windows(13 * SHARD, 8, 0));
    }
}
