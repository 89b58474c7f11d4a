//! The outputs of one sentence while they are decoded.

use attentive_architecture::TokenContract;
use attentive_base::batch::TokenId;

use super::ask::TokenQuery;
use super::beam::Beam;
use super::draws::SentenceSamples;
use super::rules::Rules;
use super::{Hypothesis, SearchOptions, SourceSentence, Strategy};
use crate::NextToken;

/// The outputs of one sentence while they are decoded.
#[derive(Debug)]
pub(super) enum SentenceOutputs<'a> {
    /// The likeliest outputs.
    Beam(Beam<'a>),
    /// Random outputs.
    Draws(SentenceSamples<'a>),
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
                Self::Draws(SentenceSamples::new(rules, sampling, count, sentence.stream))
            }
            Strategy::Greedy { .. } | Strategy::Beam { .. } => Self::Beam(Beam::new(rules)),
        }
    }

    /// The number of rows; 0 when all outputs have ended.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Beam(beam) => beam.width(),
            Self::Draws(draws) => draws.width(),
        }
    }

    /// The next input token of each row.
    pub(super) fn last_tokens(&self) -> Vec<TokenId> {
        match self {
            Self::Beam(beam) => beam.last_tokens(),
            Self::Draws(draws) => draws.last_tokens(),
        }
    }

    /// The values that each row needs from its logits.
    pub(super) fn asks(&mut self) -> Vec<TokenQuery> {
        match self {
            Self::Beam(beam) => beam.asks(),
            Self::Draws(draws) => draws.asks(),
        }
    }

    /// Extends the rows by one token and returns the parent of each new row.
    pub(super) fn advance(&mut self, next: &[Vec<NextToken>], attention: Option<&[Vec<f32>]>) -> Vec<usize> {
        match self {
            Self::Beam(beam) => beam.advance(next, attention),
            Self::Draws(draws) => draws.advance(next, attention),
        }
    }

    /// The tokens of the likeliest unfinished output, or of the first one.
    pub(super) fn best(&self) -> &[TokenId] {
        match self {
            Self::Beam(beam) => beam.best(),
            Self::Draws(draws) => draws.first(),
        }
    }

    /// The results.
    pub(super) fn into_hypotheses(self) -> Vec<Hypothesis> {
        match self {
            Self::Beam(beam) => beam.into_hypotheses(),
            Self::Draws(draws) => draws.into_hypotheses(),
        }
    }
}
