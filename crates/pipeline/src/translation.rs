//! The translations of a line.

use std::sync::Arc;

use attentive_base::batch::TokenId;
use attentive_decode::Hypothesis;

use super::tokenized_line::TokenizedLine;
use super::{TranslateOptions, Warning};

/// The translations of one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// The best translations first, or samples in the order of their numbers. There is at least one, which is
    /// empty for a blank line, and the line itself if it has only characters that mean nothing, such as
    /// zero-width spaces.
    pub hypotheses: Vec<Candidate>,
    /// Problems with the line.
    pub warnings: Vec<Warning>,
}

impl Translation {
    /// The translation of a line without tokens: nothing, or what is kept of it.
    pub(super) fn blank(source: TokenizedLine) -> Self {
        let kept = Candidate { text: source.kept, ..Candidate::default() };
        Self { hypotheses: vec![kept], warnings: source.warnings }
    }

    /// Adds the warnings about the translations of a whole text: that some were cut off, or that there are
    /// fewer than `options` ask for.
    pub fn add_warnings(&mut self, options: &TranslateOptions) {
        let asked = options.mbr.map_or(options.search.strategy.n_best(), |mbr| mbr.n_best);
        let found = &self.hypotheses;
        let cut_off = Warning::of_cut_off(found);
        // Nobody expects several translations where there is nothing to translate.
        let is_untranslated = found.iter().all(|one| one.tokens.is_empty());
        let fewer = if is_untranslated { None } else { Warning::of_fewer(found.len(), asked) };
        self.warnings.extend(cut_off.into_iter().chain(fewer));
    }

    /// Returns the text of the best hypothesis.
    pub fn into_best(self) -> String {
        let best = self.hypotheses.into_iter().next();
        best.map(|candidate| candidate.text).unwrap_or_default()
    }
}

/// One possible translation of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// The text of the candidate.
    pub text: String,
    /// The log-probability after the length penalty, plus the coverage penalty; candidates are ranked by this
    /// score.
    pub score: f64,
    /// The natural log-probability, including the one of `</s>`.
    pub log_prob: f64,
    /// The tokens, excluding `<s>` and `</s>`.
    pub tokens: Vec<TokenId>,
    /// The natural log-probability of each of `tokens`, followed by the one of `</s>` if `finished`.
    pub token_log_probs: Vec<f32>,
    /// True if the candidate ended with `</s>`, false if it reached the length limit.
    pub finished: bool,
    /// The required phrases that the candidate lacks; none if `finished`.
    pub unmet: Vec<Arc<str>>,
}

impl Candidate {
    /// What a search has `found`, with its `text`; `phrases` are those that were required.
    pub(super) fn of(found: Hypothesis, text: String, phrases: &[Arc<str>]) -> Self {
        Self {
            text,
            score: found.score,
            log_prob: found.log_prob,
            tokens: found.tokens,
            token_log_probs: found.token_log_probs,
            finished: found.finished,
            unmet: found.unmet.iter().map(|&number| Arc::clone(&phrases[number])).collect(),
        }
    }

    /// True if the candidate reached the length limit. The empty translation of a blank line did not.
    pub fn is_cut_off(&self) -> bool {
        !self.finished && !self.tokens.is_empty()
    }
}
