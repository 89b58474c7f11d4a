//! Beam search of one sentence.

use attentive_base::batch::TokenId;
use attentive_config::EarlyStopping;

use super::partial::Partial;
use super::rules::Rules;
use super::token_query::TokenQuery;
use super::{Hypothesis, Strategy};
use crate::NextToken;

/// The hypotheses of one sentence.
///
/// With constraints, the places of the beam are shared among hypotheses that have met different numbers of
/// constraint tokens (Post and Vilar 2018), and a hypothesis ends only when it has met all.
#[derive(Debug)]
pub(super) struct Beam<'a> {
    rules: Rules<'a>,
    /// Partial hypotheses, most likely first, all of the same length.
    live: Vec<Partial>,
    /// Hypotheses that end with `</s>`, best first, at most [`Strategy::n_finished`].
    finished: Vec<Hypothesis>,
    /// Hypotheses that ended without `</s>`.
    cut_off: Vec<Hypothesis>,
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
    /// The initial beam.
    pub(super) fn new(rules: Rules<'a>) -> Self {
        let mut beam = Self { live: vec![rules.start()], rules, finished: Vec::new(), cut_off: Vec::new() };
        if beam.rules.limit == 0 {
            beam.cut_off_live();
        }
        beam
    }

    /// The number of partial hypotheses; 0 when the search is over.
    pub(super) fn width(&self) -> usize {
        self.live.len()
    }

    /// The last token of each partial hypothesis; the start token if it is empty.
    pub(super) fn last_tokens(&self) -> Vec<TokenId> {
        let last = |partial| self.rules.last_token(partial);
        self.live.iter().map(last).collect()
    }

    /// The tokens of the likeliest partial hypothesis.
    pub(super) fn best(&self) -> &[TokenId] {
        let best = self.live.first();
        best.map_or(&[], |partial| &partial.tokens)
    }

    /// Returns what each partial hypothesis needs from its logits, in a search that reads all of them.
    pub(super) fn queries(&self) -> Vec<TokenQuery> {
        let query = |partial: &Partial| match self.rules.of_prefix(partial) {
            Some(token) => TokenQuery::Token(token),
            None => TokenQuery::Likeliest {
                count: self.rules.options.n_candidates(),
                barred: self.rules.barred(partial),
                wanted: self.rules.constraints.wanted(&partial.progress),
            },
        };
        self.live.iter().map(query).collect()
    }

    /// Extends the hypotheses by one token and returns the parent of each new one. `next[i]` are the tokens
    /// that may follow hypothesis `i`, none if the model's logits are NaN; `attention[i]` is its attention to
    /// the source, if there is a coverage penalty.
    pub(super) fn advance(&mut self, next: &[Vec<NextToken>], attention: Option<&[Vec<f32>]>) -> Vec<usize> {
        let attention_of = |parent: usize| attention.map(|rows| rows[parent].as_slice());
        let candidates = self.candidates(next);
        let (ends, open) = self.divided(candidates);
        for end in ends {
            let parent = &self.live[end.parent];
            let attention = attention_of(end.parent);
            self.keep(self.rules.finish(parent, end.next, attention));
        }
        let (mut parents, mut grown) = (Vec::new(), Vec::new());
        for Candidate { parent, next, .. } in open {
            let attention = attention_of(parent);
            grown.push(self.rules.grow(&self.live[parent], next, attention));
            parents.push(parent);
        }
        self.live = grown;
        if self.live.first().is_some_and(|p| p.len() == self.rules.limit) {
            self.cut_off_live();
        }
        self.drop_hopeless();
        parents.truncate(self.live.len());
        parents
    }

    /// Returns up to `n_best` results, best first. In an exact search, finished hypotheses come first, then
    /// those that were cut off, ordered by the number of constraints that they lack. Empty if NaN logits
    /// ended all hypotheses.
    pub(super) fn into_hypotheses(self) -> Vec<Hypothesis> {
        let strategy = self.strategy();
        let Self { mut finished, mut cut_off, .. } = self;
        cut_off.sort_by(|a, b| {
            let missing = a.unmet.len().cmp(&b.unmet.len());
            missing.then(b.score.total_cmp(&a.score))
        });
        finished.append(&mut cut_off);
        if !strategy.is_exact() {
            finished.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
        finished.truncate(strategy.n_best());
        finished
    }

    fn strategy(&self) -> Strategy {
        self.rules.options.strategy
    }

    /// All continuations, most likely first; ties go to the earlier hypothesis, then to the lower token.
    /// Hypotheses without a permitted continuation are cut off.
    fn candidates(&mut self, next: &[Vec<NextToken>]) -> Vec<Candidate> {
        let end = self.rules.contract.end;
        let mut candidates: Vec<Candidate> = Vec::new();
        for (parent, (partial, next)) in self.live.iter().zip(next).enumerate() {
            let certain = self.rules.certain(partial);
            let next = match &certain {
                Some(token) => std::slice::from_ref(token),
                None => next,
            };
            let may_end = self.rules.may_end(partial);
            let permitted = next.iter().filter(|next| may_end || next.token != end);
            let before = candidates.len();
            candidates.extend(permitted.map(|&next| Candidate {
                parent,
                next,
                log_prob: partial.log_prob + next.log_prob,
            }));
            if candidates.len() == before && !next.is_empty() {
                self.cut_off.push(self.rules.cut_off(partial.clone()));
            }
        }
        candidates.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob));
        candidates
    }

    /// Divides candidates into those that end a hypothesis and those that take the places of the beam, most
    /// likely first.
    ///
    /// Candidates are grouped by the number of constraint tokens that they meet. The groups take places in
    /// turn, beginning with the group that has met most, until all places are taken.
    fn divided(&self, candidates: Vec<Candidate>) -> (Vec<Candidate>, Vec<Candidate>) {
        let (width, constraints) = (self.strategy().rows(), &self.rules.constraints);
        let total = constraints.total();
        let mut groups: Vec<Vec<(usize, Candidate)>> = vec![Vec::new(); total + 1];
        let (mut ends, mut n_complete) = (Vec::new(), 0);
        for (rank, candidate) in candidates.into_iter().enumerate() {
            if candidate.next.token == self.rules.contract.end {
                if n_complete < width {
                    ends.push(candidate);
                }
                n_complete += 1;
                continue;
            }
            let met = match total {
                0 => 0,
                _ => {
                    let progress = &self.live[candidate.parent].progress;
                    constraints.met_after(progress, candidate.next.token)
                }
            };
            n_complete += usize::from(met == total);
            groups[met].push((rank, candidate));
        }
        let mut places: Vec<(usize, Candidate)> = Vec::with_capacity(width);
        for turn in 0..width {
            let of_turn = groups.iter().rev().filter_map(|group| group.get(turn));
            places.extend(of_turn.take(width - places.len()));
        }
        places.sort_by_key(|(rank, _)| *rank);
        (ends, places.into_iter().map(|(_, place)| place).collect())
    }

    fn keep(&mut self, hypothesis: Hypothesis) {
        let index = self.finished.partition_point(|other| other.score >= hypothesis.score);
        self.finished.insert(index, hypothesis);
        self.finished.truncate(self.strategy().n_finished());
    }

    /// Drops partial hypotheses once there are enough finished ones: all or none of them, unless the search
    /// is exact.
    fn drop_hopeless(&mut self) {
        let options = self.rules.options;
        if self.finished.len() < options.strategy.n_finished() {
            return;
        }
        let Some(worst) = self.finished.last().map(|hypothesis| hypothesis.score) else {
            return;
        };
        let Strategy::Beam { early_stopping, .. } = options.strategy else {
            // Greedy search ends at the first `</s>`.
            self.live.clear();
            return;
        };
        match early_stopping {
            EarlyStopping::Never => self.drop_worse_than(worst),
            EarlyStopping::Always => self.live.clear(),
            EarlyStopping::Heuristic => {
                let best = self.live.first();
                if best.is_none_or(|best| options.score(best.log_prob, best.len()) <= worst) {
                    self.live.clear();
                }
            }
        }
    }

    /// Drops partial hypotheses that cannot exceed the score `worst` of the last result, so none of them
    /// would become a result: log-probabilities only fall and the coverage penalty is at most 0, so a score
    /// is bounded by the score of the current log-probability at the length that the penalties favor most.
    /// Live hypotheses are sorted and equally long, so the dropped ones are the last.
    ///
    /// Without constraints, the results are the same as if they were kept: their continuations could take
    /// places only from less likely ones, which cannot exceed `worst` either. With constraints, the number of
    /// constraint tokens met counts as well, so a dropped hypothesis may leave its place to a likelier one
    /// of another group: the results may differ from those of a search that keeps it.
    fn drop_worse_than(&mut self, worst: f64) {
        let (options, limit) = (self.rules.options, self.rules.limit);
        self.live.retain(|partial| options.best_score(partial.log_prob, partial.len() + 1, limit) > worst);
    }

    fn cut_off_live(&mut self) {
        for partial in self.live.drain(..) {
            self.cut_off.push(self.rules.cut_off(partial));
        }
    }
}
