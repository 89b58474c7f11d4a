//! Alignments of both directions, which learn from each other.

use rayon::prelude::*;

use super::directed::{DirectedAligner, PairExpectation};
use super::links::WordLinks;
use super::markov::Jumps;
use super::vocabulary::IndexedText;

/// Iterations of expectation maximization of IBM Model 1, and of the hidden Markov model.
const ITERATIONS: [usize; 2] = [5, 5];
/// Pairs whose expectations are computed at once. They are added in the order of the pairs, so that the sums
/// do not depend on the threads.
const CHUNK: usize = 256;

/// A model of each direction: of the target given the source, and of the source given the target.
#[derive(Debug)]
pub(super) struct BidirectionalAligner<'a> {
    directions: [DirectedAligner<'a>; 2],
    n_pairs: usize,
}

impl<'a> BidirectionalAligner<'a> {
    /// Learns both models from the text.
    pub(super) fn trained(src: &'a IndexedText, tgt: &'a IndexedText) -> Self {
        let directions = [DirectedAligner::new(src, tgt), DirectedAligner::new(tgt, src)];
        let mut aligner = Self { directions, n_pairs: src.len() };
        (0..ITERATIONS[0]).for_each(|_| aligner.improve());
        aligner.directions.iter_mut().for_each(|one| one.jumps = Some(Jumps::guessed()));
        (0..ITERATIONS[1]).for_each(|_| aligner.improve());
        aligner
    }

    /// The likeliest alignment of each word of a pair, in both directions, as links from source to target.
    pub(super) fn links(&self, pair: usize) -> [WordLinks; 2] {
        let Some([forward, backward]) = self.expectations(pair) else {
            return Default::default();
        };
        let best = |one: PairExpectation| one.posterior.best().collect::<WordLinks>();
        [best(forward), best(backward).transposed()]
    }

    /// The probabilities of the alignments of a pair, which agree in the hidden Markov model; `None` if a
    /// side has no words.
    fn expectations(&self, pair: usize) -> Option<[PairExpectation; 2]> {
        let [one, other] = &self.directions;
        let (mut forward, mut backward) = (one.expectation(pair)?, other.expectation(pair)?);
        if one.jumps.is_some() {
            forward.posterior.agree(&mut backward.posterior);
        }
        Some([forward, backward])
    }

    /// An iteration of expectation maximization.
    fn improve(&mut self) {
        let [mut forward, mut backward] = self.directions.each_ref().map(DirectedAligner::counts);
        let pairs: Vec<usize> = (0..self.n_pairs).collect();
        for chunk in pairs.chunks(CHUNK) {
            let expectations = chunk.par_iter().filter_map(|&pair| self.expectations(pair));
            for [of_forward, of_backward] in expectations.collect::<Vec<_>>() {
                forward.add(&of_forward);
                backward.add(&of_backward);
            }
        }
        let [own, other] = &mut self.directions;
        own.improve(forward);
        other.improve(backward);
    }
}
