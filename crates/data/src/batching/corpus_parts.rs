//! The parts of a corpus and their weights.

use std::ops::Range;

use crate::encoding::example::Example;

/// Neighboring parts of a corpus, each with a weight: the number of times that an epoch contains each of its
/// examples, on average over the epochs.
#[derive(Clone, Debug, PartialEq)]
pub struct CorpusParts {
    parts: Vec<CorpusPart>,
}

/// Examples with the same weight.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CorpusPart {
    /// The indices of the examples.
    pub(crate) range: Range<usize>,
    weight: f64,
    /// A number coprime to the number of examples, so that its multiples visit all of them in another order.
    stride: usize,
}

impl CorpusParts {
    /// Returns one part of `n` examples, each of which is in each epoch once.
    pub fn whole(n: usize) -> Self {
        Self::new(&[n], &[1.0])
    }

    /// Returns parts that end before these indices, with their weights.
    ///
    /// # Panics
    /// Panics if there are not as many weights as parts, or if a part ends before it begins.
    pub fn new(ends: &[usize], weights: &[f64]) -> Self {
        assert_eq!(ends.len(), weights.len(), "a weight for each part");
        let starts = [0].into_iter().chain(ends.iter().copied());
        let parts = starts.zip(ends).zip(weights);
        let part = |((start, &end), &weight): ((usize, &usize), &f64)| {
            assert!(start <= end, "parts follow each other");
            CorpusPart { range: start..end, weight, stride: stride(end - start) }
        };
        Self { parts: parts.map(part).collect() }
    }

    /// Returns parts that end with these lines of the corpus from which `examples` were encoded, with their
    /// weights.
    ///
    /// # Panics
    /// Panics as [`CorpusParts::new`] does.
    pub fn by_line(examples: &[Example], ends: &[usize], weights: &[f64]) -> Self {
        let index = |end: &usize| examples.partition_point(|example| example.line <= *end);
        Self::new(&ends.iter().map(index).collect::<Vec<_>>(), weights)
    }

    /// Returns the average number of examples of an epoch.
    pub fn n_examples(&self) -> usize {
        let n = |part: &CorpusPart| part.range.len() as f64 * part.weight;
        self.parts.iter().map(n).sum::<f64>().round() as usize
    }

    /// The parts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &CorpusPart> {
        self.parts.iter()
    }
}

impl CorpusPart {
    /// Returns how many times `epoch` contains the example with this index. Over the first `n` epochs, this
    /// adds up to the weight times `n`, rounded up or down. In each epoch, the examples of a part add up to
    /// their number times the weight, give or take one.
    pub(crate) fn repeats(&self, index: usize, epoch: u64) -> usize {
        let n = self.range.len();
        // The phases are spread evenly, so that the examples cross whole numbers in different epochs.
        let place = (index - self.range.start) as u128 * self.stride as u128 % n as u128;
        let phase = (place as f64 + 0.5) / n as f64;
        let so_far = |epochs: u64| (epochs as f64 * self.weight + phase).floor();
        (so_far(epoch + 1) - so_far(epoch)) as usize
    }
}

/// A number near `n` times the golden ratio, which is coprime to `n`.
fn stride(n: usize) -> usize {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let first = ((n as f64 * GOLDEN) as usize).max(1);
    (first..).find(|&stride| gcd(stride, n) == 1).unwrap_or(1)
}

fn gcd(a: usize, b: usize) -> usize {
    match b {
        0 => a,
        b => gcd(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_example_is_repeated_as_often_as_its_weight_says() {
        for weight in [0.001, 0.1, 0.5, 1.0, 1.3, 2.0, 7.75] {
            let n = 97;
            let parts = CorpusParts::new(&[10, 10 + n], &[1.0, weight]);
            let part = &parts.parts[1];
            let mut seen = vec![0; n];
            for epoch in 0..50 {
                let mut of_epoch = 0;
                for (place, seen) in seen.iter_mut().enumerate() {
                    let repeats = part.repeats(10 + place, epoch);
                    *seen += repeats;
                    of_epoch += repeats;
                    let exact = (epoch + 1) as f64 * weight;
                    assert!((*seen as f64 - exact).abs() < 1.0, "{weight}: {seen}, not {exact}");
                }
                let exact = n as f64 * weight;
                assert!((of_epoch as f64 - exact).abs() <= 1.0, "{weight}: {of_epoch}, not {exact}");
            }
        }
    }

    #[test]
    fn half_of_a_part_is_spread_over_it() {
        let parts = CorpusParts::new(&[1000], &[0.5]);
        let first = &parts.parts[0];
        for part in 0..10 {
            let indices = part * 100..(part + 1) * 100;
            let n: usize = indices.map(|index| first.repeats(index, 0)).sum();
            assert!((45..=55).contains(&n), "{n} of part {part}");
        }
    }

    #[test]
    fn a_whole_corpus_is_seen_once_in_each_epoch() {
        let parts = CorpusParts::whole(5);
        for epoch in [0, 1, 1 << 40] {
            assert!((0..5).all(|index| parts.parts[0].repeats(index, epoch) == 1));
        }
        assert_eq!(parts.n_examples(), 5);
        assert_eq!(CorpusParts::new(&[10, 30], &[2.0, 0.5]).n_examples(), 30);
    }
}
