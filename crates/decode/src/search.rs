//! Search for the outputs of a sequence of sentences.

use std::collections::BTreeMap;

use attentive_base::interrupt::Interrupt;

use super::{Decoding, Hypothesis, SearchContext, SourceSentence};
use crate::Stepper;

/// Searches for outputs as the [`Strategy`](super::Strategy) says. Returns the results of each of
/// `sentences`, in order; see [`Decoding::advance`]. If a stop is requested of the
/// [current interrupt](Interrupt::current), there are no further results.
///
/// Sentences are taken while there is room. The next ones are added together, once a quarter of
/// `capacity.sentences` is free again.
///
/// # Panics
/// Panics where [`Decoding::new`] and [`Decoding::offer`] do.
pub fn search<'a, S: Stepper, I: Iterator<Item = SourceSentence>>(
    model: &'a S,
    sentences: I,
    context: SearchContext<'a>,
) -> Search<'a, S, I> {
    Search {
        decoding: Decoding::new(model, context),
        sentences,
        capacity: context.capacity.sentences,
        waiting: None,
        taken: 0,
        found: BTreeMap::new(),
        given: 0,
        interrupt: Interrupt::current(),
    }
}

/// The results of [`search`], computed on demand.
pub struct Search<'a, S: Stepper, I> {
    /// The sentences that are being decoded, by their numbers.
    decoding: Decoding<'a, S, usize>,
    sentences: I,
    capacity: usize,
    /// A sentence that was too long for the remaining room, with its number.
    waiting: Option<(usize, SourceSentence)>,
    /// Number of sentences taken.
    taken: usize,
    /// Results that are returned after the results of earlier sentences.
    found: BTreeMap<usize, Vec<Hypothesis>>,
    /// Number of results returned.
    given: usize,
    interrupt: Interrupt,
}

impl<S: Stepper, I: Iterator<Item = SourceSentence>> Iterator for Search<'_, S, I> {
    type Item = Vec<Hypothesis>;

    fn next(&mut self) -> Option<Vec<Hypothesis>> {
        loop {
            if let Some(found) = self.found.remove(&self.given) {
                self.given += 1;
                return Some(found);
            }
            self.admit();
            if self.decoding.is_empty() || self.interrupt.requested().is_some() {
                return None;
            }
            self.found.extend(self.decoding.advance());
        }
    }
}

impl<S: Stepper, I: Iterator<Item = SourceSentence>> Search<'_, S, I> {
    /// Takes sentences while there is room.
    fn admit(&mut self) {
        // Encoding several sentences together is faster than one at a time.
        const MIN_FREE_SHARE: usize = 4;
        let room = self.decoding.room();
        if !self.decoding.is_empty() && room * MIN_FREE_SHARE < self.capacity {
            return;
        }
        // No sentence is taken before there is room: another search may have some.
        while self.decoding.is_empty() || self.decoding.room() > 0 {
            let Some((number, sentence)) = self.waiting.take().or_else(|| self.take()) else {
                return;
            };
            if let Err(refused) = self.decoding.offer(number, sentence) {
                self.waiting = Some(refused);
                return;
            }
        }
    }

    /// The next sentence and its number.
    fn take(&mut self) -> Option<(usize, SourceSentence)> {
        let sentence = self.sentences.next()?;
        self.taken += 1;
        Some((self.taken - 1, sentence))
    }
}
