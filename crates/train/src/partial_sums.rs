//! The order in which the micro-batches of an update are summed.

use std::ops::{AddAssign, Range};

use serde::{Deserialize, Serialize};

/// Sums of neighboring micro-batches of an update.
///
/// A sum of floating-point numbers depends on its order. The order is fixed by a binary tree, in which the
/// node of `2^level` micro-batches that begins at a multiple of `2^level` is the sum of its two halves, left
/// plus right. Nodes without a sibling are added from left to right. Therefore the total has the same bits
/// however the micro-batches are divided among processes.
#[derive(Debug)]
pub(super) struct PartialSums<T> {
    /// The nodes from left to right, without gaps.
    nodes: Vec<SumNode<T>>,
}

/// The sum of `2^level` micro-batches.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SumNode<T> {
    /// The number of the first micro-batch in its update.
    first: u64,
    level: u32,
    pub(super) sum: T,
}

impl<T> Default for PartialSums<T> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

impl<T: AddAssign> PartialSums<T> {
    /// Adds micro-batch `number`, counted within its update from 0.
    ///
    /// # Panics
    /// If it does not follow the last one.
    pub(super) fn push(&mut self, number: u64, sum: T) {
        let node = SumNode { first: number, level: 0, sum };
        self.add(node);
    }

    /// The sums so far, from left to right.
    pub(super) fn nodes(&self) -> &[SumNode<T>] {
        &self.nodes
    }

    /// The sums so far, from left to right.
    pub(super) fn into_nodes(self) -> impl Iterator<Item = SumNode<T>> {
        self.nodes.into_iter()
    }

    /// Returns the sum of all; `None` without micro-batches.
    pub(super) fn total(self) -> Option<T> {
        let sums = self.nodes.into_iter().map(|node| node.sum);
        sums.reduce(|mut left, right| {
            left += right;
            left
        })
    }

    /// Adds the sum of the micro-batches that follow.
    ///
    /// # Panics
    /// If they do not follow the last one.
    pub(super) fn add(&mut self, mut right: SumNode<T>) {
        let next = self.nodes.last().map(SumNode::end);
        assert!(
            next.is_none_or(|next| next == right.first),
            "micro-batch {} comes after {next:?}",
            right.first
        );
        while let Some(left) = self.nodes.pop_if(|left| left.is_sibling(&right)) {
            let SumNode { first, level, mut sum } = left;
            sum += right.sum;
            right = SumNode { first, level: level + 1, sum };
        }
        self.nodes.push(right);
    }
}

impl<T> SumNode<T> {
    /// Another sum of the same micro-batches.
    pub(super) fn with<U>(&self, sum: U) -> SumNode<U> {
        SumNode { first: self.first, level: self.level, sum }
    }

    /// The micro-batch after the last one.
    fn end(&self) -> u64 {
        self.first + (1 << self.level)
    }

    /// Returns true if this node and `right`, which follows it, are the halves of a larger one.
    fn is_sibling(&self, right: &Self) -> bool {
        self.level == right.level && self.first.is_multiple_of(2 << self.level)
    }
}

/// The largest number of sums that exist at once while `n` micro-batches are added.
pub(super) fn max_at_once(n: u64) -> u32 {
    n.max(1).ilog2() + 1
}

/// The nodes, without their sums, that remain when these micro-batches are added.
pub(super) fn nodes_of(numbers: Range<u64>) -> Vec<SumNode<()>> {
    let (mut first, mut nodes) = (numbers.start, Vec::new());
    while first < numbers.end {
        let aligned = if first == 0 { u32::MAX } else { first.trailing_zeros() };
        let level = aligned.min((numbers.end - first).ilog2());
        nodes.push(SumNode { first, level, sum: () });
        first += 1 << level;
    }
    nodes
}

/// The maximum number of copies of all gradients that one of several `processes` holds at once, including
/// messages, if each adds an equal block of `n` micro-batches.
pub(super) fn max_copies(n: u64, processes: u64) -> usize {
    let of_block = |process: u64| {
        let (start, end) = (process * n / processes, (process + 1) * n / processes);
        // Earlier sums, and the gradients of the micro-batch that follows.
        let during = |next: u64| nodes_of(start..next).len() + 1;
        // While the gradients of the last one are computed, messages are filled and received.
        let last = during(end.saturating_sub(1)) + 2 * nodes_of(start..end).len();
        (start..end).map(during).max().map_or(last, |most| most.max(last))
    };
    (0..processes).map(of_block).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description of the way in which a sum was computed.
    #[derive(Debug, PartialEq, Eq)]
    struct Written(String);

    impl AddAssign for Written {
        fn add_assign(&mut self, right: Self) {
            self.0 = format!("({} {})", self.0, right.0);
        }
    }

    fn of(numbers: std::ops::Range<u64>) -> PartialSums<Written> {
        let (first, mut partial) = (numbers.start, PartialSums::default());
        for number in numbers {
            partial.push(number, Written(number.to_string()));
            let most = max_at_once(number + 1) as usize;
            assert!(first > 0 || partial.nodes.len() <= most);
        }
        partial
    }

    fn written(partial: PartialSums<Written>) -> String {
        partial.total().unwrap().0
    }

    #[test]
    fn pairs_are_summed_first() {
        assert_eq!(written(of(0..1)), "0");
        assert_eq!(written(of(0..4)), "((0 1) (2 3))");
        assert_eq!(written(of(0..7)), "((((0 1) (2 3)) (4 5)) 6)");
        assert!(of(0..0).total().is_none());
    }

    #[test]
    fn the_order_does_not_depend_on_who_sums_what() {
        for n in 1..=20 {
            let alone = written(of(0..n));
            for parts in 1..=n {
                // As evenly as possible, and with everything in the first and in the last part.
                for cut in [0, parts - 1, n - parts] {
                    let mut bounds: Vec<u64> = (0..=parts).map(|part| part * n / parts).collect();
                    bounds[1] = bounds[1].max(cut.min(bounds.get(2).copied().unwrap_or(n)));
                    let mut all = PartialSums::default();
                    for part in bounds.windows(2) {
                        let part = of(part[0]..part[1]);
                        part.nodes.into_iter().for_each(|node| all.add(node));
                    }
                    assert_eq!(written(all), alone, "{n} in {bounds:?}");
                }
            }
        }
    }

    #[test]
    fn the_number_of_sums_is_predicted() {
        // One gradient and its messages; sums of 2 and of 1 before the last of 4; 4, 2 and 1 before the last
        // of 8.
        let most = [(4, 4), (8, 2), (16, 2)].map(|(n, processes)| max_copies(n, processes));
        assert_eq!(most, [3, 5, 6]);
        for n in 1..=40 {
            for processes in 1..=n {
                let bound = |process: u64| process * n / processes;
                let check = |process| {
                    let numbers = bound(process)..bound(process + 1);
                    let of = of(numbers.clone()).nodes;
                    let nodes: Vec<SumNode<()>> = of.iter().map(|node| node.with(())).collect();
                    assert_eq!(nodes, nodes_of(numbers));
                };
                (0..processes).for_each(check);
            }
        }
    }

    #[test]
    #[should_panic(expected = "micro-batch 2 comes after Some(1)")]
    fn a_gap_is_noticed() {
        let mut partial = of(0..1);
        partial.push(2, Written(String::new()));
    }
}
