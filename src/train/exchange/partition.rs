//! Which process updates which parameters.

use std::ops::Range;

use attentive_kernels::optimizer::SUM_CHUNK;

use crate::processes::Processes;

/// The division of all parameters among the processes: a part of each parameter, possibly empty, for each process.
///
/// Parts begin at multiples of the chunks in which the squares of a gradient are summed, so that its norm has the same
/// bits whoever sums which chunk.
#[derive(Debug)]
pub(super) struct Partition {
    /// For each process, the part of each parameter.
    parts: Vec<Vec<Range<usize>>>,
}

impl Partition {
    /// Divides parameters with these numbers of elements.
    pub(super) fn new(lengths: &[usize], processes: &Processes) -> Self {
        let n_chunks = lengths
            .iter()
            .map(|length| length.div_ceil(SUM_CHUNK))
            .sum();
        let parts_of = |process| {
            let chunks = processes.share_of(process, n_chunks);
            let mut first = 0;
            let part = |&length: &usize| {
                let bound = |chunk: usize| (chunk.saturating_sub(first) * SUM_CHUNK).min(length);
                let part = bound(chunks.start)..bound(chunks.end);
                first += length.div_ceil(SUM_CHUNK);
                part
            };
            lengths.iter().map(part).collect()
        };
        Self {
            parts: (0..processes.count()).map(parts_of).collect(),
        }
    }

    /// The part of each parameter that `process` updates.
    pub(super) fn of(&self, process: usize) -> &[Range<usize>] {
        &self.parts[process]
    }

    /// The number of elements that `process` updates.
    pub(super) fn len(&self, process: usize) -> usize {
        self.of(process).iter().map(ExactSizeIterator::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::in_threads;

    #[test]
    fn each_element_belongs_to_one_process_and_chunks_stay_whole() {
        let lengths = [1, 4096, 4097, 0, 20_000, 3];
        for n in 1..7 {
            let partitions = in_threads(n, |processes| Partition::new(&lengths, &processes));
            let partition = &partitions[0];
            for (parameter, &length) in lengths.iter().enumerate() {
                let mut end = 0;
                for process in 0..n {
                    let part = &partition.of(process)[parameter];
                    if part.is_empty() {
                        continue;
                    }
                    assert_eq!(part.start, end);
                    assert!(part.start.is_multiple_of(SUM_CHUNK));
                    end = part.end;
                }
                assert_eq!(end, length);
            }
            let all: usize = (0..n).map(|process| partition.len(process)).sum();
            assert_eq!(all, lengths.iter().sum::<usize>());
        }
    }
}
