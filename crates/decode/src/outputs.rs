//! The outputs of one sentence while they are decoded.

use attentive_architecture::TokenContract;
use attentive_base::batch::TokenId;

use super::beam::Beam;
use super::rules::Rules;
use super::sampling::SentenceSamples;
use super::token_query::TokenQuery;
use super::{Hypothesis, SearchOptions, SourceSentence, Strategy};
use crate::NextToken;

/// The outputs of one sentence while they are decoded.
#[derive(Debug)]
pub(super) enum SentenceOutputs<'a> {
    /// The likeliest outputs.
    Beam(Beam<'a>),
    /// Random outputs.
    Samples(SentenceSamples<'a>),
}

impl<'a> SentenceOutputs<'a> {
    /// The outputs of `sentence` before the first step of a model that decodes at most `max_len` tokens.
    pub(super) fn new(
        options: SearchOptions,
        contract: &'a TokenContract,
        sentence: &SourceSentence,
        max_len: usize,
    ) -> Self {
        let rules = Rules::new(options, contract, sentence, max_len);
        match options.strategy {
            Strategy::Sample { sampling, count } => {
                Self::Samples(SentenceSamples::new(rules, sampling, count, sentence.stream))
            }
            Strategy::Greedy { .. } | Strategy::Beam { .. } => Self::Beam(Beam::new(rules)),
        }
    }

    /// The number of rows; 0 when all outputs have ended.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Beam(beam) => beam.width(),
            Self::Samples(samples) => samples.width(),
        }
    }

    /// The next input token of each row.
    pub(super) fn last_tokens(&self) -> Vec<TokenId> {
        match self {
            Self::Beam(beam) => beam.last_tokens(),
            Self::Samples(samples) => samples.last_tokens(),
        }
    }

    /// The values that each row needs from its logits.
    pub(super) fn queries(&mut self) -> Vec<TokenQuery> {
        match self {
            Self::Beam(beam) => beam.queries(),
            Self::Samples(samples) => samples.queries(),
        }
    }

    /// Extends the rows by one token and returns the parent of each new row.
    pub(super) fn advance(&mut self, next: &[Vec<NextToken>], attention: Option<&[Vec<f32>]>) -> Vec<usize> {
        match self {
            Self::Beam(beam) => beam.advance(next, attention),
            Self::Samples(samples) => samples.advance(next, attention),
        }
    }

    /// The tokens of the likeliest unfinished output, or of the first one.
    pub(super) fn best(&self) -> &[TokenId] {
        match self {
            Self::Beam(beam) => beam.best(),
            Self::Samples(samples) => samples.first(),
        }
    }

    /// The results.
    pub(super) fn into_hypotheses(self) -> Vec<Hypothesis> {
        match self {
            Self::Beam(beam) => beam.into_hypotheses(),
            Self::Samples(samples) => samples.into_hypotheses(),
        }
    }
}
