//! Several models that predict together.

use attentive_base::batch::{Padded, TokenId};
use attentive_kernels::threads::Threads;
use attentive_kernels::top_k::{SUM_CHUNK, TopK, add_exponentials};

use crate::{Answer, Logits, NextToken, Question, Stepper, largest, total};

/// Several models with the same vocabularies, used as one: the probability of a token is the average of the
/// probabilities that the models give it. They may have different architectures.
#[derive(Clone, Debug)]
pub struct Ensemble<'a, S> {
    members: Vec<&'a S>,
    /// The factors of the members' log-probabilities, whose sum takes the place of the logarithm of the
    /// average.
    log_weights: Option<&'a [f64]>,
}

impl<'a, S> Ensemble<'a, S> {
    /// Creates the ensemble of `members`.
    ///
    /// # Panics
    /// Panics if there are no members.
    pub fn new(members: Vec<&'a S>) -> Self {
        assert!(!members.is_empty(), "an ensemble has members");
        Self { members, log_weights: None }
    }

    /// The same ensemble, in which the log-probability of a token is the sum of those of all members, each
    /// times its weight, as in Marian. The probabilities of all tokens need not sum to 1.
    ///
    /// # Panics
    /// Panics if there are not as many weights as members.
    pub fn weighted(self, log_weights: Option<&'a [f64]>) -> Self {
        let fits = log_weights.is_none_or(|weights| weights.len() == self.members.len());
        assert!(fits, "a weight for each member");
        Self { log_weights, ..self }
    }
}

impl<S: Stepper> Ensemble<'_, S> {
    /// The logits of each member.
    fn each_logits(&self, last: Vec<S::Last>) -> Vec<Logits> {
        let members = self.members.iter().zip(last);
        members.map(|(member, last)| member.logits(last)).collect()
    }

    /// Calls `work` with the distribution of each row, and the row's number; with `None` where a member has
    /// only impossible tokens.
    fn means<R: Send>(
        &self,
        last: Vec<S::Last>,
        work: impl Fn(Option<Mean<'_>>, usize) -> R + Sync + Send,
    ) -> Vec<R> {
        means(&self.each_logits(last), self.log_weights, work)
    }
}

impl<S: Stepper> Stepper for Ensemble<'_, S> {
    type State = Vec<S::State>;
    type Last = Vec<S::Last>;

    fn start(&self) -> Self::State {
        self.members.iter().map(|member| member.start()).collect()
    }

    fn start_watched(&self) -> Option<Self::State> {
        let members = self.members.iter();
        members.map(|member| member.start_watched()).collect()
    }

    fn admit(&self, src: &Padded, state: &mut Self::State) {
        for (member, state) in self.members.iter().zip(state) {
            member.admit(src, state);
        }
    }

    fn step(&self, next: &[TokenId], state: &mut Self::State) -> Self::Last {
        let members = self.members.iter().zip(state);
        members.map(|(member, state)| member.step(next, state)).collect()
    }

    fn read(&self, tokens: &Padded, state: &mut Self::State) -> Self::Last {
        let members = self.members.iter().zip(state);
        members.map(|(member, state)| member.read(tokens, state)).collect()
    }

    fn select(&self, rows: &[usize], state: &mut Self::State) {
        for (member, state) in self.members.iter().zip(state) {
            member.select(rows, state);
        }
    }

    fn likeliest(&self, last: Self::Last, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>> {
        let question = Question { count, barred: never.to_vec(), tokens: Vec::new() };
        let answers = self.means(last, |mean, _| answer(mean, &question));
        answers.iter().map(Answer::next_tokens).collect()
    }

    fn answers(&self, last: Self::Last, questions: &[Question]) -> Vec<Answer> {
        self.means(last, |mean, row| answer(mean, &questions[row]))
    }

    /// Returns the logarithms of the average probabilities, or the weighted sums.
    fn logits(&self, last: Self::Last) -> Logits {
        let members = self.each_logits(last);
        let vocab = members[0].vocab();
        let values = |mean: Option<Mean<'_>>, _| match mean {
            Some(mean) => mean.values(),
            None => vec![f32::NAN; vocab],
        };
        Logits::new(means(&members, self.log_weights, values).concat(), vocab)
    }

    /// Returns the average of the members' attention weights.
    fn cross_attention(&self, state: &Self::State) -> Vec<Vec<f32>> {
        let members = self.members.iter().zip(state);
        let each = members.map(|(member, state)| member.cross_attention(state));
        let count = self.members.len() as f32;
        let add = |mut sums: Vec<Vec<f32>>, rows: Vec<Vec<f32>>| {
            let pairs = sums.iter_mut().flatten().zip(rows.iter().flatten());
            pairs.for_each(|(sum, weight)| *sum += weight);
            sums
        };
        let mut sums = each.reduce(add).unwrap_or_default();
        sums.iter_mut().flatten().for_each(|sum| *sum /= count);
        sums
    }

    fn max_len(&self) -> usize {
        let lens = self.members.iter().map(|member| member.max_len());
        lens.min().expect("an ensemble has members")
    }
}

/// See [`Ensemble::means`].
fn means<R: Send>(
    members: &[Logits],
    log_weights: Option<&[f64]>,
    work: impl Fn(Option<Mean<'_>>, usize) -> R + Sync + Send,
) -> Vec<R> {
    let vocab = members[0].vocab();
    let rows = 0..members[0].values().len() / vocab;
    Threads::current().map(rows, |row| {
        let all = members.iter().map(|logits| {
            let logits = &logits.values()[row * vocab..][..vocab];
            Some((logits, total(logits)?))
        });
        work(all.collect::<Option<_>>().map(|members| Mean { members, log_weights }), row)
    })
}

/// The answer to `question` about `mean`.
fn answer(mean: Option<Mean<'_>>, question: &Question) -> Answer {
    match mean {
        Some(mean) => mean.answer(question),
        None => Answer {
            likeliest: Vec::new(),
            logits: vec![f32::NAN; question.tokens.len()],
            total: f64::NEG_INFINITY,
        },
    }
}

/// The average of the members' distributions of a token: the logits of each, and the logarithm of the sum of
/// their exponentials.
struct Mean<'a> {
    members: Vec<(&'a [f32], f64)>,
    log_weights: Option<&'a [f64]>,
}

impl Mean<'_> {
    /// The logarithm of the average probability of `token`, or the weighted sum; NaN if it is NaN for a
    /// member.
    fn value(&self, token: usize) -> f32 {
        if let Some(weights) = self.log_weights {
            let log_probs = self.members.iter().map(|(logits, total)| f64::from(logits[token]) - total);
            return weights.iter().zip(log_probs).map(|(weight, log_prob)| weight * log_prob).sum::<f64>()
                as f32;
        }
        let probability = |(logits, total): &(&[f32], f64)| {
            let log_prob = f64::from(logits[token]) - total;
            if log_prob > 0.0 { 1.0 } else { log_prob.exp() }
        };
        let sum: f64 = self.members.iter().map(probability).sum();
        (sum / self.members.len() as f64).ln() as f32
    }

    /// [`Self::value`] of all tokens.
    fn values(&self) -> Vec<f32> {
        let vocab = self.members[0].0.len();
        (0..vocab).map(|token| self.value(token)).collect()
    }

    fn answer(&self, question: &Question) -> Answer {
        let logits = question.tokens.iter();
        Answer {
            likeliest: match self.few_likeliest(question) {
                Some(found) => found,
                None => largest(&self.values(), question.count, &question.barred),
            },
            logits: logits.map(|&token| self.value(token as usize)).collect(),
            // Probabilities sum to 1, and weighted sums are taken as they are.
            total: 0.0,
        }
    }

    /// The likeliest tokens, found by rough sums of probabilities; `None` if these cannot tell them from the
    /// others.
    fn few_likeliest(&self, question: &Question) -> Option<Vec<(f32, TokenId)>> {
        if self.log_weights.is_some() {
            return None;
        }
        /// Candidates beyond those asked for, so that the last of the likeliest is usually well above the
        /// tokens left out.
        const SPARE: usize = 4;
        /// The exact sum of a token is at most this much larger, relative to its rough sum or to [`LEAST`]:
        /// the error of each term is below 1e-5 or 2e-38, and rounding adds about 1e-7 per member.
        const ERROR: f64 = 1e-4;
        /// The relative error of rough sums is bounded from here on.
        const LEAST: f32 = 1e-30;
        let mut roughly = TopK::new(question.count + SPARE);
        let mut sums = [0.0; SUM_CHUNK];
        let vocab = self.members[0].0.len();
        for first in (0..vocab).step_by(SUM_CHUNK) {
            let chunk = first..vocab.min(first + SUM_CHUNK);
            let sums = &mut sums[..chunk.len()];
            sums.fill(0.0);
            for (logits, total) in &self.members {
                add_exponentials(&logits[chunk.clone()], *total, sums);
            }
            roughly.add(sums, first as u32, &question.barred);
        }
        let candidates = roughly.into_sorted();
        // No rough sum that was left out is larger.
        let left_out = candidates.last().map_or(0.0, |(sum, _)| *sum).max(LEAST);
        let most = f64::from(left_out) * (1.0 + ERROR);
        let most = (most / self.members.len() as f64).ln() as f32;
        let exactly = candidates.into_iter();
        let exactly = exactly.map(|(_, token)| (self.value(token as usize), token));
        let mut found: Vec<(f32, TokenId)> = exactly.filter(|(value, _)| !value.is_nan()).collect();
        found.sort_by(|(a, i), (b, j)| b.total_cmp(a).then(i.cmp(j)));
        found.truncate(question.count);
        let is_proven = found.len() == question.count && found.iter().all(|(value, _)| *value > most);
        is_proven.then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The logits of two members for one row.
    fn members(rows: [&[f32]; 2]) -> [Logits; 2] {
        rows.map(|row| Logits::new(row.to_vec(), row.len()))
    }

    fn question(count: usize, barred: &[TokenId], tokens: &[TokenId]) -> Question {
        Question { count, barred: barred.to_vec(), tokens: tokens.to_vec() }
    }

    fn answer_of(members: &[Logits], question: &Question) -> Answer {
        means(members, None, |mean, _| answer(mean, question)).remove(0)
    }

    #[test]
    fn probabilities_are_averaged() {
        // Probabilities 1/4, 3/4 and 1/2, 1/2.
        let both = members([&[5.0, 5.0 + 3f32.ln()], &[-1.0, -1.0]]);
        let found = answer_of(&both, &question(2, &[], &[0]));
        let likeliest = [(0.625f32.ln(), 1), (0.375f32.ln(), 0)];
        for ((found, token), (expected, of)) in found.likeliest.into_iter().zip(likeliest) {
            assert!((found - expected).abs() < 1e-6 && token == of);
        }
        assert!((found.logits[0] - 0.375f32.ln()).abs() < 1e-6 && found.total == 0.0);
        let damaged = members([&[f32::NAN; 2], &[0.0, 0.0]]);
        let found = answer_of(&damaged, &question(2, &[], &[0]));
        assert_eq!((found.likeliest, found.total), (vec![], f64::NEG_INFINITY));
    }

    #[test]
    fn log_probabilities_are_weighted() {
        let both = members([&[5.0, 5.0 + 3f32.ln()], &[-1.0, -1.0]]);
        let weights = [0.5, 2.0];
        let found = means(&both, Some(&weights), |mean, _| answer(mean, &question(2, &[], &[0]))).remove(0);
        let expected = |probability: f32| 0.5 * probability.ln() + 2.0 * 0.5f32.ln();
        for ((found, token), (expected, of)) in
            found.likeliest.into_iter().zip([(expected(0.75), 1), (expected(0.25), 0)])
        {
            assert!((found - expected).abs() < 1e-6 && token == of);
        }
        assert!((found.logits[0] - expected(0.25)).abs() < 1e-6 && found.total == 0.0);
    }

    #[test]
    fn the_likeliest_tokens_are_those_of_all_values() {
        let mut random = attentive_base::random::Random::new(5, 0);
        let mut row = |width: f64| -> Vec<f32> {
            let mut row: Vec<f32> = (0..3000).map(|_| (width * random.normal()) as f32).collect();
            row[7] = f32::NAN;
            row[8] = f32::NEG_INFINITY;
            row.copy_within(100..110, 2000);
            row
        };
        let infinite = members([&[1.0, f32::INFINITY, 2.0, 0.0], &[5.0, 0.0, 3.0, 1.0]]);
        let values = means(&infinite, None, |mean, _| mean.expect("numbers").values()).remove(0);
        let found = answer_of(&infinite, &question(1, &[], &[]));
        assert_eq!(found.likeliest, largest(&values, 1, &[]));
        // From all tokens alike to only one that is possible.
        for width in [0.001, 1.0, 10.0, 100.0, 1e6] {
            let both = [row(width), row(width)];
            let both = members([&both[0], &both[1]]);
            let values = means(&both, None, |mean, _| mean.expect("numbers").values()).remove(0);
            assert!(values[7].is_nan());
            for count in [1, 6, 50] {
                let found = answer_of(&both, &question(count, &[3, 9], &[8]));
                assert_eq!(found.likeliest, largest(&values, count, &[3, 9]));
                assert_eq!(found.logits, [values[8]]);
            }
        }
    }

    #[test]
    fn tokens_too_close_for_rough_sums_are_ordered_by_all_values() {
        let mut random = attentive_base::random::Random::new(6, 0);
        // Far fewer candidates are kept than tokens that are within the error of rough sums.
        for width in [1e-7, 1e-6, 1e-5, 1e-4] {
            let mut row = || -> Vec<f32> {
                let near = |_| (width * random.normal()) as f32;
                (0..2000).map(near).collect()
            };
            let rows = [row(), row()];
            let both = members([&rows[0], &rows[1]]);
            let values = means(&both, None, |mean, _| mean.expect("numbers").values()).remove(0);
            for count in [0, 1, 4, 12] {
                let found = answer_of(&both, &question(count, &[3], &[]));
                assert_eq!(found.likeliest, largest(&values, count, &[3]), "{width}");
            }
        }
    }

    #[test]
    fn rough_sums_suffice_for_tokens_that_are_apart() {
        let row: Vec<f32> = (0..3000).map(|i| -0.01 * i as f32).collect();
        let both = members([&row, &row]);
        let suffice = |mean: Option<Mean<'_>>, _| {
            let mean = mean.expect("numbers");
            [0, 1, 12].map(|count| mean.few_likeliest(&question(count, &[3], &[])).is_some())
        };
        assert_eq!(means(&both, None, suffice), [[true; 3]]);
    }
}
