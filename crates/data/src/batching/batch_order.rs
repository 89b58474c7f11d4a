//! The order of the examples in an epoch.

use std::ops::Range;

use attentive_base::random::Random;

use crate::batching::batcher::Position;
use crate::batching::budget::{Budget, ExampleLengths};
use crate::batching::corpus_parts::{CorpusPart, CorpusParts};
use crate::encoding::examples::SHARD;

/// Base of the random streams that shuffle the epochs. Window `w` of epoch `n` uses this plus `n` plus
/// 2³²·`w`, and the shards of epoch `n` use [`FIRST_SHARD_STREAM`] plus `n`.
const FIRST_STREAM: u64 = 0x6261_7463_6865_7300;
const FIRST_SHARD_STREAM: u64 = 0x7368_6172_6473_0000;

/// Number of shards whose examples are shuffled together.
const SHARDS_PER_WINDOW: usize = 4;

/// Examples are sorted by length within groups of about this many batches.
const BATCHES_PER_GROUP: usize = 100;

/// The examples of a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Window {
    /// Ranges of indices of examples, each with the number of its part.
    ranges: Vec<(usize, Range<usize>)>,
}

impl Window {
    /// The indices of its examples, which may be among them several times, or never.
    pub(crate) fn indices(&self) -> impl Iterator<Item = usize> {
        self.ranges.iter().flat_map(|(_, range)| range.clone())
    }

    /// The shards that hold its examples.
    pub(crate) fn shards(&self) -> Vec<usize> {
        let of_range = |(_, range): &(usize, Range<usize>)| range.start / SHARD..range.end.div_ceil(SHARD);
        let mut shards: Vec<usize> = self.ranges.iter().flat_map(of_range).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }
}

/// The windows of `epoch`: a single one if there are few examples; otherwise each window has an equal share
/// of each part, from random shards.
pub(crate) fn windows(parts: &CorpusParts, seed: u64, epoch: u64) -> Vec<Window> {
    let n: usize = parts.iter().map(|part| part.range.len()).sum();
    let n_windows = n.max(parts.n_examples()).div_ceil(SHARDS_PER_WINDOW * SHARD).max(1);
    let mut windows = vec![Window::default(); n_windows];
    for (number, part) in parts.iter().enumerate() {
        let mut shards = shards(&part.range);
        if n_windows > 1 {
            let stream = FIRST_SHARD_STREAM.wrapping_add(epoch);
            Random::new(seed, stream.wrapping_add((number as u64) << 32)).shuffle(&mut shards);
        }
        let length = part.range.len();
        let bound = |window: usize| window * length / n_windows;
        for (place, window) in windows.iter_mut().enumerate() {
            let ranges = slice(&shards, bound(place)..bound(place + 1));
            window.ranges.extend(ranges.map(|range| (number, range)));
        }
    }
    windows
}

/// Divides `range` where shards begin.
fn shards(range: &Range<usize>) -> Vec<Range<usize>> {
    let Range { start, end } = *range;
    let shards = start / SHARD..end.div_ceil(SHARD);
    shards
        .map(|shard| start.max(shard * SHARD)..end.min((shard + 1) * SHARD))
        .filter(|range| !range.is_empty())
        .collect()
}

/// The parts of `ranges` at these positions of their concatenation.
fn slice(ranges: &[Range<usize>], positions: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut before = 0;
    ranges.iter().filter_map(move |range| {
        let first = before;
        before += range.len();
        let at = |position: usize| range.start + position.clamp(first, before) - first;
        let part = at(positions.start)..at(positions.end);
        (!part.is_empty()).then_some(part)
    })
}

/// The batches of a window, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchOrder {
    /// Indices of the examples.
    examples: Vec<u32>,
    /// The batches, as ranges of positions in `examples`.
    batches: Vec<Range<u32>>,
}

impl BatchOrder {
    /// Shuffles the examples of `window`, which have these `lengths`, groups those of similar length into
    /// batches, and shuffles the batches.
    pub(crate) fn of(
        lengths: impl Fn(usize) -> ExampleLengths,
        parts: &CorpusParts,
        window: &Window,
        budget: Budget,
        seed: u64,
        position: Position,
    ) -> Self {
        let stream = FIRST_STREAM.wrapping_add(position.epoch).wrapping_add((position.window as u64) << 32);
        let mut random = Random::new(seed, stream);
        let parts: Vec<&CorpusPart> = parts.iter().collect();
        let mut order: Vec<u32> = Vec::new();
        for (number, range) in &window.ranges {
            for index in range.clone() {
                let repeats = parts[*number].repeats(index, position.epoch);
                order.extend(std::iter::repeat_n(index as u32, repeats));
            }
        }
        random.shuffle(&mut order);
        let lengths = |&index: &u32| lengths(index as usize);
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
        Self { examples: order, batches }
    }

    /// Number of batches.
    pub(crate) fn len(&self) -> usize {
        self.batches.len()
    }

    pub(crate) fn n_examples(&self) -> usize {
        self.examples.len()
    }

    /// The indices of the examples of a batch.
    pub(crate) fn batch(&self, number: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
        let Range { start, end } = self.batches[number];
        self.examples[start as usize..end as usize].iter().map(|&index| index as usize)
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

    /// Counts the windows that contain each example.
    fn contained(windows: &[Window], n: usize) -> Vec<usize> {
        let mut found = vec![0; n];
        for (_, range) in windows.iter().flat_map(|window| &window.ranges) {
            found[range.clone()].iter_mut().for_each(|found| *found += 1);
        }
        found
    }

    #[test]
    fn windows_contain_each_example_once() {
        for (n, n_windows) in [(1, 1), (4 * SHARD, 1), (4 * SHARD + 1, 2), (13 * SHARD - 5, 4)] {
            for cut in [0, 1, n / 3, n] {
                let parts = CorpusParts::new(&[cut, n], &[1.0, 1.0]);
                for epoch in 0..3 {
                    let windows = windows(&parts, 7, epoch);
                    assert_eq!(windows.len(), n_windows);
                    assert!(contained(&windows, n).iter().all(|&found| found == 1));
                    for window in &windows {
                        assert!(window.shards().len() <= SHARDS_PER_WINDOW + 3);
                    }
                }
            }
        }
        let of = |seed, epoch| windows(&CorpusParts::whole(13 * SHARD), seed, epoch);
        assert_ne!(of(7, 0), of(7, 1));
        assert_ne!(of(7, 0), of(8, 0));
    }

    #[test]
    fn each_window_has_its_share_of_a_small_part() {
        let (small, large) = (1000, 9 * SHARD);
        let parts = CorpusParts::new(&[small, small + large], &[1.0, 1.0]);
        let windows = windows(&parts, 7, 0);
        assert_eq!(windows.len(), 3);
        for window in windows {
            let of_small = window.ranges.iter().filter(|(part, _)| *part == 0);
            let n: usize = of_small.map(|(_, range)| range.len()).sum();
            assert!((333..=334).contains(&n), "{n}");
        }
    }
}
