//! The rules that restrict the hypotheses of a sentence.

use attentive_architecture::TokenContract;
use attentive_base::batch::TokenId;

use super::constraints::Constraints;
use super::partial::Partial;
use super::{Hypothesis, SearchOptions, SourceSentence};
use crate::NextToken;

/// The rules that restrict and score the hypotheses of a sentence.
#[derive(Debug)]
pub(super) struct Rules<'a> {
    pub(super) options: SearchOptions,
    pub(super) contract: &'a TokenContract,
    /// Maximum length of a hypothesis, including `</s>`.
    pub(super) limit: usize,
    pub(super) constraints: Constraints,
    prefix: Vec<TokenId>,
}

impl<'a> Rules<'a> {
    /// The rules for `sentence` and a model that decodes at most `max_len` tokens.
    pub(super) fn new(
        options: SearchOptions,
        contract: &'a TokenContract,
        sentence: &SourceSentence,
        max_len: usize,
    ) -> Self {
        let limit = match sentence.src.len() {
            0 => 0,
            src_len => options.limit(src_len, max_len),
        };
        Self {
            options,
            contract,
            limit,
            constraints: Constraints::new(&sentence.constraints),
            prefix: sentence.prefix.clone(),
        }
    }

    /// The empty hypothesis.
    pub(super) fn start(&self) -> Partial {
        Partial { progress: self.constraints.start(), ..Partial::default() }
    }

    /// The token that `partial` was last extended by; the start token if it is empty.
    pub(super) fn last_token(&self, partial: &Partial) -> TokenId {
        let last = partial.tokens.last();
        last.copied().unwrap_or(self.contract.start)
    }

    /// The token that must follow `partial` because the model forces it; it has probability 1.
    pub(super) fn certain(&self, partial: &Partial) -> Option<NextToken> {
        let first = self.contract.forced_first.filter(|_| partial.len() == 0);
        let is_last = partial.len() + 1 == self.limit;
        let token = first.or(self.contract.forced_last.filter(|_| is_last))?;
        let log_prob = 0.0;
        Some(NextToken { token, log_prob })
    }

    /// The token of the prefix that must follow `partial`.
    pub(super) fn of_prefix(&self, partial: &Partial) -> Option<TokenId> {
        let first = usize::from(self.contract.forced_first.is_some());
        let index = partial.len().checked_sub(first)?;
        self.prefix.get(index).copied()
    }

    /// The tokens that must not follow `partial`.
    pub(super) fn barred(&self, partial: &Partial) -> Vec<TokenId> {
        let mut barred = self.contract.never.clone();
        barred.extend(partial.repeating(self.options.no_repeat_ngram));
        barred.extend(self.constraints.continuations(&partial.progress));
        if partial.len() < self.options.min_length {
            barred.push(self.contract.end);
        }
        barred
    }

    /// True if `</s>` may follow `partial`.
    pub(super) fn may_end(&self, partial: &Partial) -> bool {
        self.constraints.unmet(&partial.progress).is_empty()
    }

    /// Extends `partial` by one token, which was predicted with `attention`.
    pub(super) fn grow(&self, partial: &Partial, next: NextToken, attention: Option<&[f32]>) -> Partial {
        let mut grown = partial.clone();
        grown.count(next, attention);
        grown.tokens.push(next.token);
        grown.progress = self.constraints.advance(&partial.progress, next.token);
        grown
    }

    /// Ends `partial` with `end`.
    pub(super) fn finish(&self, partial: &Partial, end: NextToken, attention: Option<&[f32]>) -> Hypothesis {
        let mut closed = partial.clone();
        closed.count(end, attention);
        Hypothesis { finished: true, ..self.cut_off(closed) }
    }

    /// Returns `partial` without an end token.
    pub(super) fn cut_off(&self, partial: Partial) -> Hypothesis {
        let unmet = self.constraints.unmet(&partial.progress);
        let length = partial.token_log_probs.len();
        let score = self.options.score(partial.log_prob, length);
        Hypothesis {
            score: score + self.options.coverage(&partial.coverage),
            log_prob: partial.log_prob,
            tokens: partial.tokens,
            token_log_probs: partial.token_log_probs,
            finished: false,
            unmet,
        }
    }
}
