//! Random outputs of one sentence.

use attentive_base::batch::TokenId;
use attentive_base::random::Random;

use super::Hypothesis;
use super::ask::TokenQuery;
use super::partial::Partial;
use super::rules::Rules;
use super::sampling::Sampling;
use crate::NextToken;

/// Sample number `n` of the sentence with stream `s` is drawn from this stream of the seed plus
/// `s << SAMPLE_BITS` plus `n`.
const FIRST_STREAM: u64 = 0x6472_6177_0000_0000;

/// Allows more samples than [`attentive_config::MAX_BEAM_WIDTH`].
const SAMPLE_BITS: u32 = 16;

/// Independent random outputs of one sentence.
#[derive(Debug)]
pub(super) struct SentenceSamples<'a> {
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
    pub(super) fn new(rules: Rules<'a>, sampling: Sampling, count: usize, stream: u64) -> Self {
        let draw = |number: usize| {
            let of_sentence = FIRST_STREAM.wrapping_add(stream << SAMPLE_BITS);
            ActiveSample {
                number,
                random: Random::new(sampling.seed, of_sentence.wrapping_add(number as u64)),
                partial: rules.start(),
            }
        };
        let mut draws =
            Self { live: (0..count).map(draw).collect(), ended: vec![None; count], sampling, rules };
        draws.cut_off_at_limit();
        draws
    }

    /// The number of unfinished samples.
    pub(super) fn width(&self) -> usize {
        self.live.len()
    }

    /// The last token of each unfinished sample; the start token if it is empty.
    pub(super) fn last_tokens(&self) -> Vec<TokenId> {
        let last = |draw: &ActiveSample| self.rules.last_token(&draw.partial);
        self.live.iter().map(last).collect()
    }

    /// The tokens of the first unfinished sample.
    pub(super) fn first(&self) -> &[TokenId] {
        let first = self.live.first();
        first.map_or(&[], |draw| &draw.partial.tokens)
    }

    /// Returns what each unfinished sample needs from its logits; takes a random number unless the next token
    /// is given.
    pub(super) fn asks(&mut self) -> Vec<TokenQuery> {
        let Self { rules, sampling, live, .. } = self;
        let ask = |draw: &mut ActiveSample| match rules.of_prefix(&draw.partial) {
            Some(token) => TokenQuery::Token(token),
            None => TokenQuery::Drawn {
                sampling: *sampling,
                barred: rules.barred(&draw.partial),
                uniform: draw.random.uniform(),
            },
        };
        live.iter_mut().map(ask).collect()
    }

    /// Extends each sample by its token, `next[i][0]`, and returns the parent of each that goes on. A sample
    /// without a next token, since the model's logits are NaN, has no result.
    pub(super) fn advance(&mut self, next: &[Vec<NextToken>], attention: Option<&[Vec<f32>]>) -> Vec<usize> {
        let mut parents = Vec::with_capacity(self.live.len());
        let mut live = Vec::with_capacity(self.live.len());
        for (row, mut draw) in std::mem::take(&mut self.live).into_iter().enumerate() {
            let drawn = next[row].first().copied();
            let Some(token) = self.rules.certain(&draw.partial).or(drawn) else {
                continue;
            };
            let attention = attention.map(|rows| rows[row].as_slice());
            if token.token == self.rules.contract.end {
                let hypothesis = self.rules.finish(&draw.partial, token, attention);
                self.ended[draw.number] = Some(hypothesis);
                continue;
            }
            draw.partial = self.rules.grow(&draw.partial, token, attention);
            parents.push(row);
            live.push(draw);
        }
        self.live = live;
        self.cut_off_at_limit();
        parents.truncate(self.live.len());
        parents
    }

    /// The samples in the order of their numbers.
    pub(super) fn into_hypotheses(self) -> Vec<Hypothesis> {
        self.ended.into_iter().flatten().collect()
    }

    /// Unfinished samples have the same length, so they reach the limit together.
    fn cut_off_at_limit(&mut self) {
        let limit = self.rules.limit;
        if self.live.first().is_some_and(|draw| draw.partial.len() == limit) {
            for draw in self.live.drain(..) {
                self.ended[draw.number] = Some(self.rules.cut_off(draw.partial));
            }
        }
    }
}
