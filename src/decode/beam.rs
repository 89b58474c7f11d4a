//! Beam search of one sentence.

use super::{Hypothesis, SearchOptions};
use crate::architecture::TokenContract;
use crate::batch::TokenId;
use crate::model::NextToken;

/// The hypotheses of one sentence.
#[derive(Debug)]
pub(super) struct Beam<'a> {
    options: &'a SearchOptions,
    contract: &'a TokenContract,
    /// Maximum length of a hypothesis, including `</s>`.
    limit: usize,
    /// Partial hypotheses, most likely first, all of the same length.
    live: Vec<Partial>,
    /// Hypotheses closed by `</s>`, best first, at most `n_best`.
    finished: Vec<Hypothesis>,
    /// Hypotheses that ended without `</s>`.
    cut_off: Vec<Hypothesis>,
}

/// A partial hypothesis.
#[derive(Clone, Debug, Default)]
struct Partial {
    tokens: Vec<TokenId>,
    token_log_probs: Vec<f32>,
    log_prob: f64,
}

/// A partial hypothesis with a next token.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    parent: usize,
    next: NextToken,
    /// log P of the extended hypothesis.
    log_prob: f64,
}

impl<'a> Beam<'a> {
    /// The initial beam for a source of `src_len` tokens and a model that decodes at most `max_len` tokens.
    pub(super) fn new(
        options: &'a SearchOptions,
        contract: &'a TokenContract,
        src_len: usize,
        max_len: usize,
    ) -> Self {
        let limit = match src_len {
            0 => 0,
            _ => options.limit(src_len, max_len),
        };
        let mut beam = Self {
            options,
            contract,
            limit,
            live: vec![Partial::default()],
            finished: Vec::new(),
            cut_off: Vec::new(),
        };
        if limit == 0 {
            beam.cut_off_live();
        }
        beam
    }

    /// The number of partial hypotheses; 0 when the search is over.
    pub(super) fn width(&self) -> usize {
        self.live.len()
    }

    /// The last token of each partial hypothesis; the start token if it is empty.
    pub(super) fn last_tokens(&self) -> impl Iterator<Item = TokenId> {
        let start = self.contract.start;
        let last = move |partial: &Partial| partial.tokens.last().copied().unwrap_or(start);
        self.live.iter().map(last)
    }

    /// Extends the hypotheses by one token and returns the parent of each new one. `next[i]` are the likeliest next tokens of
    /// hypothesis `i`, best first; none if the model's logits are NaN.
    pub(super) fn advance(&mut self, next: &[Vec<NextToken>]) -> Vec<usize> {
        let width = self.options.beam_width;
        let candidates = self.candidates(next);
        let mut parents = Vec::with_capacity(width);
        let mut grown = Vec::with_capacity(width);
        for (rank, candidate) in candidates.into_iter().enumerate() {
            let parent = &self.live[candidate.parent];
            if candidate.next.token != self.contract.end {
                if grown.len() < width {
                    parents.push(candidate.parent);
                    grown.push(parent.grow(candidate));
                }
            } else if rank < width {
                let finished = parent.finish(candidate, self.options);
                self.keep(finished);
            }
        }
        self.live = grown;
        if self.live.first().is_some_and(|p| p.len() == self.limit) {
            self.cut_off_live();
        }
        self.drop_hopeless();
        parents.truncate(self.live.len());
        parents
    }

    /// Up to `n_best` results, best first, with finished hypotheses before those that were cut off. Empty if NaN logits ended
    /// all hypotheses.
    pub(super) fn into_hypotheses(self) -> Vec<Hypothesis> {
        let Self {
            mut finished,
            mut cut_off,
            options,
            ..
        } = self;
        cut_off.sort_by(|a, b| b.score.total_cmp(&a.score));
        finished.append(&mut cut_off);
        finished.truncate(options.n_best);
        finished
    }

    /// All continuations, most likely first; ties go to the earlier hypothesis, then to the lower token.
    fn candidates(&self, next: &[Vec<NextToken>]) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = Vec::new();
        for (parent, (partial, next)) in self.live.iter().zip(next).enumerate() {
            let forced = self.forced(partial).map(|token| NextToken {
                token,
                log_prob: 0.0,
            });
            let next = match &forced {
                Some(token) => std::slice::from_ref(token),
                None => next,
            };
            candidates.extend(next.iter().map(|&next| Candidate {
                parent,
                next,
                log_prob: partial.log_prob + next.log_prob,
            }));
        }
        candidates.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob));
        candidates
    }

    /// The token that must follow `partial`; it has probability 1.
    fn forced(&self, partial: &Partial) -> Option<TokenId> {
        let first = self.contract.forced_first.filter(|_| partial.len() == 0);
        let is_last = partial.len() + 1 == self.limit;
        first.or(self.contract.forced_last.filter(|_| is_last))
    }

    fn keep(&mut self, hypothesis: Hypothesis) {
        let place = self
            .finished
            .partition_point(|other| other.score >= hypothesis.score);
        self.finished.insert(place, hypothesis);
        self.finished.truncate(self.options.n_best);
    }

    /// Drops partial hypotheses that can no longer become results. This never changes the results: log-probabilities only
    /// fall, so a score is bounded by that of the current log-probability at the length which the penalty favours most. Live
    /// hypotheses are sorted, so the dropped ones are the last, and none of their continuations could have displaced a
    /// remaining one.
    fn drop_hopeless(&mut self) {
        if self.finished.len() < self.options.n_best {
            return;
        }
        // A beam of width 1 is greedy search, which ends at the first `</s>`.
        if self.options.beam_width == 1 {
            self.live.clear();
        }
        let Some(worst) = self.finished.last().map(|hypothesis| hypothesis.score) else {
            return;
        };
        let (options, limit) = (self.options, self.limit);
        self.live.retain(|partial| {
            let soonest = options.score(partial.log_prob, partial.len() + 1);
            let latest = options.score(partial.log_prob, limit);
            soonest.max(latest) > worst
        });
    }

    fn cut_off_live(&mut self) {
        for partial in self.live.drain(..) {
            self.cut_off.push(partial.cut_off(self.options));
        }
    }
}

impl Partial {
    fn len(&self) -> usize {
        self.tokens.len()
    }

    fn grow(&self, candidate: Candidate) -> Self {
        let mut grown = self.clone();
        grown.tokens.push(candidate.next.token);
        grown.token_log_probs.push(candidate.next.log_prob as f32);
        grown.log_prob = candidate.log_prob;
        grown
    }

    fn finish(&self, candidate: Candidate, options: &SearchOptions) -> Hypothesis {
        let Self {
            tokens,
            mut token_log_probs,
            ..
        } = self.clone();
        token_log_probs.push(candidate.next.log_prob as f32);
        Hypothesis {
            score: options.score(candidate.log_prob, token_log_probs.len()),
            log_prob: candidate.log_prob,
            tokens,
            token_log_probs,
            finished: true,
        }
    }

    fn cut_off(&self, options: &SearchOptions) -> Hypothesis {
        let Self {
            tokens,
            token_log_probs,
            log_prob,
        } = self.clone();
        Hypothesis {
            score: options.score(log_prob, tokens.len()),
            log_prob,
            tokens,
            token_log_probs,
            finished: false,
        }
    }
}
