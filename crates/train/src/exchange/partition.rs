//! The assignment of parameters to processes, and of gradients to messages.

use std::ops::Range;

use attentive_kernels::optimizer::SUM_CHUNK;
use attentive_processes::Processes;

/// The maximum number of buckets.
const BUCKETS: usize = 16;
/// The minimum number of chunks of a bucket for each process, so that the division is even.
const CHUNKS: usize = 8;

/// The division of all parameters among the processes: a part of each parameter, possibly empty, for each
/// process.
///
/// Parts begin at multiples of the chunks in which the squares of a gradient are summed, so that its norm has
/// the same bits however chunks are assigned to processes.
#[derive(Debug)]
pub(super) struct Partition {
    /// Neighboring parameters, whose gradients are sent together. Each bucket is divided evenly among the
    /// processes, so that all receive the same amount of it.
    buckets: Vec<Range<usize>>,
    /// The bucket of each parameter.
    bucket_of: Vec<usize>,
    /// For each process, the part of each parameter.
    parts: Vec<Vec<Range<usize>>>,
}

impl Partition {
    /// Divides parameters with these numbers of elements.
    pub(super) fn new(lengths: &[usize], processes: &Processes) -> Self {
        let buckets = buckets(lengths, processes.count());
        let mut bucket_of = vec![0; lengths.len()];
        let mut parts = vec![vec![0..0; lengths.len()]; processes.count()];
        for (number, bucket) in buckets.iter().enumerate() {
            bucket_of[bucket.clone()].fill(number);
            let n_chunks = lengths[bucket.clone()].iter().copied().map(chunks).sum();
            for (process, parts) in parts.iter_mut().enumerate() {
                let chosen = processes.share_of(process, n_chunks);
                let mut first = 0;
                for parameter in bucket.clone() {
                    let length = lengths[parameter];
                    let bound = |chunk: usize| (chunk.saturating_sub(first) * SUM_CHUNK).min(length);
                    parts[parameter] = bound(chosen.start)..bound(chosen.end);
                    first += chunks(length);
                }
            }
        }
        Self { buckets, bucket_of, parts }
    }

    /// The parameters that are sent together.
    pub(super) fn buckets(&self) -> &[Range<usize>] {
        &self.buckets
    }

    /// The bucket of `parameter`.
    pub(super) fn bucket_of(&self, parameter: usize) -> usize {
        self.bucket_of[parameter]
    }

    /// The part of each parameter that `process` updates.
    pub(super) fn of(&self, process: usize) -> &[Range<usize>] {
        &self.parts[process]
    }

    /// The number of elements that `process` updates.
    pub(super) fn len(&self, process: usize) -> usize {
        elements(self.of(process))
    }

    /// The number of elements of the neighboring `parameters` that `process` updates.
    pub(super) fn len_within(&self, process: usize, parameters: Range<usize>) -> usize {
        elements(&self.of(process)[parameters])
    }
}

fn elements(parts: &[Range<usize>]) -> usize {
    parts.iter().map(ExactSizeIterator::len).sum()
}

fn chunks(length: usize) -> usize {
    length.div_ceil(SUM_CHUNK)
}

fn buckets(lengths: &[usize], processes: usize) -> Vec<Range<usize>> {
    let n_chunks: usize = lengths.iter().copied().map(chunks).sum();
    let most = BUCKETS.min(n_chunks / (CHUNKS * processes)).max(1);
    let size = lengths.iter().sum::<usize>().div_ceil(most);
    let (mut buckets, mut end, mut elements) = (Vec::new(), lengths.len(), 0);
    for first in (0..lengths.len()).rev() {
        elements += lengths[first];
        if elements >= size || first == 0 {
            buckets.push(first..end);
            (end, elements) = (first, 0);
        }
    }
    buckets
}

#[cfg(test)]
mod tests {
    use attentive_processes::in_threads;

    use super::*;

    const LENGTHS: [usize; 6] = [1, 4096, 4097, 0, 200_000, 3];

    #[test]
    fn each_element_belongs_to_one_process_and_chunks_stay_whole() {
        for n in 1..7 {
            let partitions = in_threads(n, |processes| Partition::new(&LENGTHS, &processes));
            let partition = &partitions[0];
            for (parameter, &length) in LENGTHS.iter().enumerate() {
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
            assert_eq!(all, LENGTHS.iter().sum::<usize>());
        }
    }

    #[test]
    fn each_parameter_is_in_one_bucket_and_buckets_are_divided_evenly() {
        assert_eq!(buckets(&LENGTHS, 1), [4..6, 0..4]);
        assert_eq!(buckets(&LENGTHS, 7).len(), 1);
        assert!(buckets(&[], 2).is_empty());
        let many = buckets(&[1000; 160], 1);
        assert_eq!(many.len(), BUCKETS);
        assert!(many.iter().all(|bucket| bucket.len() == 10));
        let partitions = in_threads(4, |processes| Partition::new(&LENGTHS, &processes));
        let shares = (0..4).map(|process| partitions[0].len_within(process, 0..6));
        assert!(shares.into_iter().all(|share| (40_000..60_000).contains(&share)));
    }
}
