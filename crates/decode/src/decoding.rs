//! Sentences that are decoded together.

use attentive_architecture::TokenContract;
use attentive_base::batch::{Padded, TokenId};

use super::outputs::SentenceOutputs;
use super::token_query::TokenQuery;
use super::{Hypothesis, SearchOptions, SourceSentence};
use crate::{NextToken, Stepper};

/// Limits for the sentences that are decoded together. Results do not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Maximum number of sentences.
    pub sentences: usize,
    /// Maximum number of source positions, counted once per hypothesis. They determine most of the RAM that a
    /// search needs. A sentence that exceeds this is decoded alone.
    pub positions: usize,
}

/// The settings of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchContext<'a> {
    /// The model's special tokens.
    pub contract: &'a TokenContract,
    /// The options of the search.
    pub options: SearchOptions,
    /// The limits for the sentences that are decoded together.
    pub capacity: Capacity,
}

/// Sentences that are decoded together. They are added and removed between any two steps, and none influences
/// another. Each has a key, by which the caller identifies it.
#[derive(Debug)]
pub struct Decoding<'a, S: Stepper, K> {
    model: &'a S,
    context: SearchContext<'a>,
    state: S::State,
    /// True if the state keeps the cross-attention of each step.
    watched: bool,
    /// The number of rows of the last step.
    rows: usize,
    /// The sentences in the state, in the order of their rows.
    active: Vec<Active<'a, K>>,
    /// Sentences that the next step begins, and their sources.
    new: Vec<(Active<'a, K>, Vec<TokenId>)>,
    /// Results that [`Decoding::advance`] will return.
    ended: Vec<(K, Vec<Hypothesis>)>,
}

/// A sentence that is being decoded.
#[derive(Debug)]
struct Active<'a, K> {
    key: K,
    src_len: usize,
    outputs: SentenceOutputs<'a>,
}

impl<'a, S: Stepper, K> Decoding<'a, S, K> {
    /// Creates a decoding without sentences.
    ///
    /// # Panics
    /// Panics if the options are invalid (see [`SearchOptions::check`]), or have a coverage penalty that the
    /// model cannot compute.
    pub fn new(model: &'a S, context: SearchContext<'a>) -> Self {
        if let Err(error) = context.options.check() {
            panic!("invalid options: {error}");
        }
        let watched = context.options.coverage_penalty > 0.0;
        Self {
            state: if watched {
                model.start_watched().expect("a model with cross-attention")
            } else {
                model.start()
            },
            watched,
            model,
            context,
            rows: 0,
            active: Vec::new(),
            new: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Returns the number of sentences.
    pub fn len(&self) -> usize {
        self.active.len() + self.new.len()
    }

    /// True if there are no sentences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of rows of the last step: the hypotheses of all sentences.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of sentences for which there is room, unless they are long.
    pub fn room(&self) -> usize {
        self.context.capacity.sentences.saturating_sub(self.len())
    }

    /// Adds a sentence, which the next step begins, if there is room for it.
    ///
    /// # Errors
    /// Returns the arguments if there is no room. There is always room for the first sentence.
    ///
    /// # Panics
    /// Panics if the sentence has a prefix or constraints although `options.guided` is false, or constraints
    /// although outputs are sampled.
    pub fn offer(&mut self, key: K, sentence: SourceSentence) -> Result<(), (K, SourceSentence)> {
        if !self.fits(sentence.src.len()) {
            return Err((key, sentence));
        }
        let active = Active { key, src_len: sentence.src.len(), outputs: self.outputs(&sentence) };
        self.new.push((active, sentence.src));
        Ok(())
    }

    /// Drops the sentences for whose keys `keep` returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.new.retain(|(new, _)| keep(&new.key));
        let before = self.active.len();
        let (mut first, mut rows) = (0, Vec::new());
        self.active.retain(|active| {
            let end = first + active.outputs.width();
            let keeps = keep(&active.key);
            if keeps {
                rows.extend(first..end);
            }
            first = end;
            keeps
        });
        if self.active.len() < before {
            self.model.select(&rows, &mut self.state);
        }
    }

    /// Begins the new sentences, extends every hypothesis by one token, and returns the results of the
    /// sentences that have ended: up to `n_best` hypotheses, best first, or samples in the order of their
    /// numbers. A sentence has no hypotheses only if the model's logits are NaN or give no probability to a
    /// prefix. A sentence with an empty source has an empty hypothesis.
    pub fn advance(&mut self) -> Vec<(K, Vec<Hypothesis>)> {
        self.begin();
        if !self.active.is_empty() {
            self.step();
        }
        std::mem::take(&mut self.ended)
    }

    /// Returns the keys of all sentences, which are dropped: after a step in which the device of the model
    /// failed, those of the sentences that took part in it too.
    pub fn into_keys(self) -> impl Iterator<Item = K> {
        let new = self.new.into_iter().map(|(new, _)| new);
        let ended = self.ended.into_iter().map(|(key, _)| key);
        let active = self.active.into_iter().chain(new);
        active.map(|active| active.key).chain(ended)
    }

    /// Returns the tokens of the best hypothesis so far of each sentence.
    pub fn best(&self) -> impl Iterator<Item = (&K, &[TokenId])> {
        let active = self.active.iter();
        active.map(|active| (&active.key, active.outputs.best()))
    }

    /// True if there is room for another sentence of `src_len` tokens.
    fn fits(&self, src_len: usize) -> bool {
        let new = self.new.iter().map(|(new, _)| new);
        let longest = self.active.iter().chain(new).map(|active| active.src_len);
        let Some(longest) = longest.max() else {
            return true;
        };
        let SearchContext { options, capacity, .. } = self.context;
        let rows = (self.len() + 1) * options.strategy.rows();
        self.room() > 0 && rows * longest.max(src_len) <= capacity.positions
    }

    /// The outputs of a new sentence.
    fn outputs(&self, sentence: &SourceSentence) -> SentenceOutputs<'a> {
        let SearchContext { contract, options, .. } = self.context;
        let is_guided = !sentence.prefix.is_empty() || !sentence.constraints.is_empty();
        assert!(options.guided || !is_guided, "only a guided search has prefixes and constraints");
        assert!(!options.strategy.samples() || sentence.constraints.is_empty(), "constraints need a beam");
        SentenceOutputs::new(options, contract, sentence, self.model.max_len())
    }

    /// Encodes the new sentences together, without those that end at once. They stay among the new ones until
    /// the device of the model, which may fail, has done so.
    fn begin(&mut self) {
        let ended = (self.new).extract_if(.., |(new, _)| new.outputs.width() == 0);
        self.ended.extend(ended.map(|(ended, _)| ended.result()));
        if self.new.is_empty() {
            return;
        }
        let sources: Vec<&[TokenId]> = self.new.iter().map(|(_, src)| &**src).collect();
        let src = Padded::new(&sources, self.context.contract.pad);
        self.model.admit(&src, &mut self.state);
        let first = self.active.len();
        self.active.extend(self.new.drain(..).map(|(new, _)| new));
        self.repeat(first);
    }

    /// Repeats the last rows, which belong to the sentences from number `first` on, once for each output of
    /// their sentence.
    fn repeat(&mut self, first: usize) {
        let (old, new) = self.active.split_at(first);
        if new.iter().all(|active| active.outputs.width() == 1) {
            return;
        }
        let first: usize = old.iter().map(|old| old.outputs.width()).sum();
        let repeated =
            (first..).zip(new).flat_map(|(row, active)| std::iter::repeat_n(row, active.outputs.width()));
        let rows: Vec<usize> = (0..first).chain(repeated).collect();
        self.model.select(&rows, &mut self.state);
    }

    /// Extends every hypothesis by one token and takes out the sentences that end.
    fn step(&mut self) {
        let outputs = self.active.iter().map(|active| &active.outputs);
        let last: Vec<TokenId> = outputs.flat_map(SentenceOutputs::last_tokens).collect();
        self.rows = last.len();
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
        // The last sentence takes the place of an ended one, so that few rows move.
        let mut index = 0;
        while index < self.active.len() {
            if self.active[index].outputs.width() > 0 {
                index += 1;
                continue;
            }
            self.ended.push(self.active.swap_remove(index).result());
            parents.swap_remove(index);
        }
        let rows = parents.concat();
        self.model.select(&rows, &mut self.state);
    }

    /// The tokens that may follow each row.
    fn next_tokens(&mut self, layer: S::Last) -> Vec<Vec<NextToken>> {
        let SearchContext { contract, options, .. } = self.context;
        if options.is_plainly_greedy() {
            let next = self.model.most_likely(layer, &contract.never);
            let certain = |token| NextToken { token, log_prob: 0.0 };
            return next.into_iter().map(|token| token.map(certain).into_iter().collect()).collect();
        }
        if !options.queries_each_row() {
            let count = options.n_candidates();
            return self.model.likeliest(layer, count, &contract.never);
        }
        let active = self.active.iter_mut();
        let queries: Vec<TokenQuery> = active.flat_map(|active| active.outputs.queries()).collect();
        TokenQuery::answer_all(&queries, self.model, layer)
    }
}

impl<K> Active<'_, K> {
    fn result(self) -> (K, Vec<Hypothesis>) {
        (self.key, self.outputs.into_hypotheses())
    }
}
