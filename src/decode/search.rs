//! Search over a stream of sentences.

use std::collections::BTreeMap;

use super::ask::Ask;
use super::outputs::Outputs;
use super::{Hypothesis, SearchOptions, Sentence};
use crate::architecture::TokenContract;
use crate::batch::{Padded, TokenId};
use crate::model::{NextToken, Stepper};

/// Limits of what is decoded at once. Results do not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Maximum number of sentences.
    pub sentences: usize,
    /// Maximum number of source positions, counted once per hypothesis, which determine most of the RAM that a search needs. A
    /// sentence that exceeds this is decoded alone.
    pub positions: usize,
}

/// Beam search, greedy search if `options.beam_width` is 1, or sampling. Returns up to `options.n_best` hypotheses for each of
/// `sentences`, in order, best first, or samples in the order of their numbers; none only if the model's logits are NaN or give
/// no probability to a prefix.
///
/// Sentences are taken while there is room. The next ones are admitted together, once finished ones have left a quarter of
/// `capacity.sentences` free. An empty sentence has an empty hypothesis.
///
/// # Panics
/// If the options are invalid (see [`SearchOptions::check`]), or have a coverage penalty that the model cannot compute; if a
/// sentence has a prefix or constraints although `options.guided` is false, or constraints although outputs are sampled.
pub fn search<'a, S: Stepper, I: Iterator<Item = Sentence>>(
    model: &'a S,
    sentences: I,
    contract: &'a TokenContract,
    options: &'a SearchOptions,
    capacity: Capacity,
) -> Search<'a, S, I> {
    let (rows, n_best) = (options.rows(), options.n_best);
    assert!(
        (1..=rows).contains(&n_best),
        "{n_best} best of a beam of {rows}"
    );
    let watched = options.coverage_penalty > 0.0;
    Search {
        state: match watched {
            true => model.start_watched().expect("a model with cross-attention"),
            false => model.start(),
        },
        watched,
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
    /// Whether the state keeps the cross-attention of each step.
    watched: bool,
    /// A sentence that did not fit.
    waiting: Option<Sentence>,
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
    outputs: Outputs<'a>,
}

impl<S: Stepper, I: Iterator<Item = Sentence>> Iterator for Search<'_, S, I> {
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

impl<'a, S: Stepper, I: Iterator<Item = Sentence>> Search<'a, S, I> {
    /// Takes sentences while there is room.
    fn admit(&mut self) {
        // Several sentences are encoded faster together than one at a time.
        const AT_LEAST: usize = 4;
        let room = self.capacity.sentences.saturating_sub(self.active.len());
        if !self.active.is_empty() && room * AT_LEAST < self.capacity.sentences {
            return;
        }
        let mut admitted: Vec<Vec<TokenId>> = Vec::new();
        while let Some(sentence) = self.waiting.take().or_else(|| self.sentences.next()) {
            let outputs = self.outputs(&sentence);
            if outputs.width() == 0 {
                self.found.insert(self.taken, outputs.into_hypotheses());
                self.taken += 1;
                continue;
            }
            let src_len = sentence.src.len();
            if !self.fits(src_len) {
                self.waiting = Some(sentence);
                break;
            }
            self.active.push(Active {
                number: self.taken,
                src_len,
                outputs,
            });
            self.taken += 1;
            admitted.push(sentence.src);
        }
        if !admitted.is_empty() {
            let src = Padded::new(&admitted, self.contract.pad);
            self.model.admit(&src, &mut self.state);
            self.repeat(admitted.len());
        }
    }

    /// The outputs of a new sentence.
    fn outputs(&self, sentence: &Sentence) -> Outputs<'a> {
        let demands = !sentence.prefix.is_empty() || !sentence.constraints.is_empty();
        assert!(
            self.options.guided || !demands,
            "only a guided search has prefixes and constraints"
        );
        assert!(
            self.options.sampling.is_none() || sentence.constraints.is_empty(),
            "constraints need a beam"
        );
        let max_len = self.model.max_len();
        Outputs::new(self.options, self.contract, sentence, max_len)
    }

    /// Repeats the row of each of the last `count` sentences, which have just been admitted, for all of their outputs.
    fn repeat(&mut self, count: usize) {
        let (old, new) = self.active.split_at(self.active.len() - count);
        if new.iter().all(|active| active.outputs.width() == 1) {
            return;
        }
        let first: usize = old.iter().map(|active| active.outputs.width()).sum();
        let repeated = (first..)
            .zip(new)
            .flat_map(|(row, active)| std::iter::repeat_n(row, active.outputs.width()));
        let rows: Vec<usize> = (0..first).chain(repeated).collect();
        self.model.select(&rows, &mut self.state);
    }

    /// Whether there is room for another sentence of `src_len` tokens.
    fn fits(&self, src_len: usize) -> bool {
        let longest = self.active.iter().map(|active| active.src_len).max();
        let Some(longest) = longest else {
            return true;
        };
        let rows = (self.active.len() + 1) * self.options.rows();
        self.active.len() < self.capacity.sentences
            && rows * longest.max(src_len) <= self.capacity.positions
    }

    /// Extends every hypothesis by one token and drops finished sentences.
    fn advance(&mut self) {
        let outputs = self.active.iter().map(|active| &active.outputs);
        let last: Vec<TokenId> = outputs.flat_map(Outputs::last_tokens).collect();
        let layer = self.model.step(&last, &mut self.state);
        let next = self.next_tokens(layer);
        let attention = (self.watched).then(|| self.model.cross_attention(&self.state));
        let mut parents: Vec<Vec<usize>> = Vec::with_capacity(self.active.len());
        let mut first = 0;
        for Active { outputs, .. } in &mut self.active {
            let end = first + outputs.width();
            let attention = attention.as_ref().map(|rows| &rows[first..end]);
            let of_sentence = outputs.advance(&next[first..end], attention);
            parents.push(of_sentence.iter().map(|parent| first + parent).collect());
            first = end;
        }
        // The last sentence takes the place of a finished one, so that few rows move.
        let mut place = 0;
        while place < self.active.len() {
            if self.active[place].outputs.width() > 0 {
                place += 1;
                continue;
            }
            let Active {
                number, outputs, ..
            } = self.active.swap_remove(place);
            self.found.insert(number, outputs.into_hypotheses());
            parents.swap_remove(place);
        }
        let rows = parents.concat();
        self.model.select(&rows, &mut self.state);
    }

    /// The tokens that may follow each row.
    fn next_tokens(&mut self, layer: S::Last) -> Vec<Vec<NextToken>> {
        if self.options.is_plainly_greedy() && !self.options.scored {
            let next = self.model.most_likely(layer, &self.contract.never);
            let certain = |token| NextToken {
                token,
                log_prob: 0.0,
            };
            return next
                .into_iter()
                .map(|token| token.map(certain).into_iter().collect())
                .collect();
        }
        if !self.options.reads_logits() {
            let count = self.options.n_candidates();
            return self.model.likeliest(layer, count, &self.contract.never);
        }
        let active = self.active.iter_mut();
        let asks: Vec<Ask> = active.flat_map(|active| active.outputs.asks()).collect();
        Ask::answer_all(&asks, &self.model.logits(layer))
    }
}
