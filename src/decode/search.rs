//! Beam search over a stream of sentences.

use std::collections::BTreeMap;

use super::beam::Beam;
use super::{Hypothesis, SearchOptions};
use crate::architecture::TokenContract;
use crate::batch::{Padded, TokenId};
use crate::model::Stepper;

/// Limits of what is decoded at once. Results do not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Maximum number of sentences.
    pub sentences: usize,
    /// Maximum number of source positions, counted once per hypothesis, which determine most of the RAM that a search needs. A
    /// sentence that exceeds this is decoded alone.
    pub positions: usize,
}

/// Beam search, or greedy search if `options.beam_width` is 1. Returns up to `options.n_best` hypotheses for each of
/// `sentences`, in order, best first; none only if the model's logits are NaN.
///
/// Sentences are taken while there is room. The next ones are admitted together, once finished ones have left a quarter of
/// `capacity.sentences` free. An empty sentence has an empty hypothesis.
///
/// # Panics
/// If `options.n_best` is out of range; see [`SearchOptions::check`].
pub fn search<'a, S: Stepper, I: Iterator<Item = Vec<TokenId>>>(
    model: &'a S,
    sentences: I,
    contract: &'a TokenContract,
    options: &'a SearchOptions,
    capacity: Capacity,
) -> Search<'a, S, I> {
    let SearchOptions {
        beam_width, n_best, ..
    } = *options;
    assert!(
        (1..=beam_width).contains(&n_best),
        "{n_best} best of a beam of {beam_width}"
    );
    Search {
        state: model.start(),
        model,
        sentences,
        contract,
        options,
        capacity,
        waiting: None,
        active: Vec::new(),
        taken: 0,
        found: BTreeMap::new(),
        given: 0,
    }
}

/// The results of [`search`], computed on demand.
#[derive(Debug)]
pub struct Search<'a, S: Stepper, I> {
    model: &'a S,
    sentences: I,
    contract: &'a TokenContract,
    options: &'a SearchOptions,
    capacity: Capacity,
    state: S::State,
    /// A sentence that did not fit.
    waiting: Option<Vec<TokenId>>,
    /// The sentences in the state, in the order of their rows.
    active: Vec<Active<'a>>,
    /// Number of sentences taken.
    taken: usize,
    /// Results that wait for those of earlier sentences.
    found: BTreeMap<usize, Vec<Hypothesis>>,
    /// Number of results returned.
    given: usize,
}

/// A sentence that is being decoded.
#[derive(Debug)]
struct Active<'a> {
    number: usize,
    src_len: usize,
    beam: Beam<'a>,
}

impl<S: Stepper, I: Iterator<Item = Vec<TokenId>>> Iterator for Search<'_, S, I> {
    type Item = Vec<Hypothesis>;

    fn next(&mut self) -> Option<Vec<Hypothesis>> {
        loop {
            if let Some(found) = self.found.remove(&self.given) {
                self.given += 1;
                return Some(found);
            }
            self.admit();
            if self.active.is_empty() && self.found.is_empty() {
                return None;
            }
            if !self.active.is_empty() {
                self.advance();
            }
        }
    }
}

impl<S: Stepper, I: Iterator<Item = Vec<TokenId>>> Search<'_, S, I> {
    /// Takes sentences while there is room.
    fn admit(&mut self) {
        // Each admission copies the state of the other rows, so several sentences are admitted together.
        const AT_LEAST: usize = 4;
        let room = self.capacity.sentences.saturating_sub(self.active.len());
        if !self.active.is_empty() && room * AT_LEAST < self.capacity.sentences {
            return;
        }
        let mut admitted: Vec<Vec<TokenId>> = Vec::new();
        while let Some(sentence) = self.waiting.take().or_else(|| self.sentences.next()) {
            let beam = Beam::new(
                self.options,
                self.contract,
                sentence.len(),
                self.model.max_len(),
            );
            if beam.width() == 0 {
                self.found.insert(self.taken, beam.into_hypotheses());
                self.taken += 1;
                continue;
            }
            if !self.fits(sentence.len()) {
                self.waiting = Some(sentence);
                break;
            }
            self.active.push(Active {
                number: self.taken,
                src_len: sentence.len(),
                beam,
            });
            self.taken += 1;
            admitted.push(sentence);
        }
        if !admitted.is_empty() {
            let src = Padded::new(&admitted, self.contract.pad);
            self.model.admit(&src, &mut self.state);
        }
    }

    /// Whether there is room for another sentence of `src_len` tokens.
    fn fits(&self, src_len: usize) -> bool {
        let longest = self.active.iter().map(|active| active.src_len).max();
        let Some(longest) = longest else {
            return true;
        };
        let rows = (self.active.len() + 1) * self.options.beam_width;
        self.active.len() < self.capacity.sentences
            && rows * longest.max(src_len) <= self.capacity.positions
    }

    /// Extends every hypothesis by one token and drops finished sentences.
    fn advance(&mut self) {
        let beams = self.active.iter().map(|active| &active.beam);
        let last: Vec<TokenId> = beams.flat_map(|beam| beam.last_tokens()).collect();
        let layer = self.model.step(&last, &mut self.state);
        // The end token occurs at most once per row, so at least `beam_width` others remain.
        let count = self.options.beam_width + 1;
        let next = self.model.likeliest(layer, count, &self.contract.never);
        let mut parents: Vec<Vec<usize>> = Vec::with_capacity(self.active.len());
        let mut first = 0;
        for Active { beam, .. } in &mut self.active {
            let end = first + beam.width();
            let of_beam = beam.advance(&next[first..end]);
            parents.push(of_beam.iter().map(|parent| first + parent).collect());
            first = end;
        }
        // The last sentence takes the place of a finished one, so that few rows move.
        let mut place = 0;
        while place < self.active.len() {
            if self.active[place].beam.width() > 0 {
                place += 1;
                continue;
            }
            let Active { number, beam, .. } = self.active.swap_remove(place);
            self.found.insert(number, beam.into_hypotheses());
            parents.swap_remove(place);
        }
        let rows = parents.concat();
        self.model.select(&rows, &mut self.state);
    }
}
