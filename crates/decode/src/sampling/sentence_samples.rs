//! Random outputs of one sentence.

use attentive_base::batch::TokenId;
use attentive_base::random::Random;

use super::Sampling;
use crate::partial::Partial;
use crate::rules::Rules;
use crate::token_query::TokenQuery;
use crate::{Hypothesis, NextToken};

/// Sample number `n` of the sentence with stream `s` is drawn from this stream of the seed plus
/// `s << SAMPLE_BITS` plus `n`.
const FIRST_STREAM: u64 = 0x6472_6177_0000_0000;

/// Allows more samples than [`attentive_config::MAX_BEAM_WIDTH`].
const SAMPLE_BITS: u32 = 16;

/// Independent random outputs of one sentence.
#[derive(Debug)]
pub(crate) struct SentenceSamples<'a> {
    rules: Rules<'a>,
    sampling: Sampling,
    live: Vec<ActiveSample>,
    /// The ended samples, by number.
    ended: Vec<Option<Hypothesis>>,
}

/// A sample that is being drawn.
#[derive(Debug)]
struct ActiveSample {
    number: usize,
    random: Random,
    partial: Partial,
}

impl<'a> SentenceSamples<'a> {
    /// Begins `count` samples of a sentence whose random numbers come from `stream`.
    pub(crate) fn new(rules: Rules<'a>, sampling: Sampling, count: usize, stream: u64) -> Self {
        let sample = |number: usize| {
            let of_sentence = FIRST_STREAM.wrapping_add(stream << SAMPLE_BITS);
            ActiveSample {
                number,
                random: Random::new(sampling.seed, of_sentence.wrapping_add(number as u64)),
                partial: rules.start(),
            }
        };
        let mut samples =
            Self { live: (0..count).map(sample).collect(), ended: vec![None; count], sampling, rules };
        samples.cut_off_at_limit();
        samples
    }

    /// The number of unfinished samples.
    pub(crate) fn width(&self) -> usize {
        self.live.len()
    }

    /// The last token of each unfinished sample; the start token if it is empty.
    pub(crate) fn last_tokens(&self) -> Vec<TokenId> {
        let last = |sample: &ActiveSample| self.rules.last_token(&sample.partial);
        self.live.iter().map(last).collect()
    }

    /// The tokens of the first unfinished sample.
    pub(crate) fn first(&self) -> &[TokenId] {
        let first = self.live.first();
        first.map_or(&[], |sample| &sample.partial.tokens)
    }

    /// Returns what each unfinished sample needs from its logits; takes a random number unless the next token
    /// is given.
    pub(crate) fn queries(&mut self) -> Vec<TokenQuery> {
        let Self { rules, sampling, live, .. } = self;
        let query = |sample: &mut ActiveSample| match rules.of_prefix(&sample.partial) {
            Some(token) => TokenQuery::Token(token),
            None => TokenQuery::Drawn {
                sampling: *sampling,
                barred: rules.barred(&sample.partial),
                uniform: sample.random.uniform(),
            },
        };
        live.iter_mut().map(query).collect()
    }

    /// Extends each sample by its token, `next[i][0]`, and returns the parent of each that goes on. A sample
    /// without a next token, since the model's logits are NaN, has no result.
    pub(crate) fn advance(&mut self, next: &[Vec<NextToken>], attention: Option<&[Vec<f32>]>) -> Vec<usize> {
        let mut parents = Vec::with_capacity(self.live.len());
        let mut live = Vec::with_capacity(self.live.len());
        for (row, mut sample) in std::mem::take(&mut self.live).into_iter().enumerate() {
            let drawn = next[row].first().copied();
            let Some(token) = self.rules.certain(&sample.partial).or(drawn) else {
                continue;
            };
            let attention = attention.map(|rows| rows[row].as_slice());
            if token.token == self.rules.contract.end {
                let hypothesis = self.rules.finish(&sample.partial, token, attention);
                self.ended[sample.number] = Some(hypothesis);
                continue;
            }
            sample.partial = self.rules.grow(&sample.partial, token, attention);
            parents.push(row);
            live.push(sample);
        }
        self.live = live;
        self.cut_off_at_limit();
        parents.truncate(self.live.len());
        parents
    }

    /// The samples in the order of their numbers.
    pub(crate) fn into_hypotheses(self) -> Vec<Hypothesis> {
        self.ended.into_iter().flatten().collect()
    }

    /// Unfinished samples have the same length, so they reach the limit together.
    fn cut_off_at_limit(&mut self) {
        let limit = self.rules.limit;
        if self.live.first().is_some_and(|sample| sample.partial.len() == limit) {
            for sample in self.live.drain(..) {
                self.ended[sample.number] = Some(self.rules.cut_off(sample.partial));
            }
        }
    }
}
