//! What a search needs from the logits of a row.

use attentive_base::batch::TokenId;
use attentive_kernels::threads::Threads;

use super::Sampling;
use crate::{Answer, Logits, NextToken, Question, Stepper, scored};

/// A token that is drawn among more candidates than this is drawn from all logits: they are sorted faster
/// once all are computed.
const MAX_QUERIED_CANDIDATES: usize = 64;

/// The values that a hypothesis needs from the logits of its row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenQuery {
    /// The probability of this token.
    Token(TokenId),
    /// The `count` likeliest tokens, and the `wanted` tokens whatever their probability, but no `barred`
    /// token.
    Likeliest { count: usize, barred: Vec<TokenId>, wanted: Vec<TokenId> },
    /// A token drawn by a number in `[0, 1)`.
    Drawn { sampling: Sampling, barred: Vec<TokenId>, uniform: f64 },
}

impl TokenQuery {
    /// What `model` answers to all rows: tokens with their probabilities, none where the logits are NaN.
    pub(super) fn answer_all<S: Stepper>(queries: &[Self], model: &S, layer: S::Last) -> Vec<Vec<NextToken>> {
        let questions: Option<Vec<Question>> = queries.iter().map(Self::question).collect();
        let Some(questions) = questions else {
            return Self::drawn(queries, &model.logits(layer));
        };
        let answers = model.answers(layer, &questions);
        let all = queries.iter().zip(&questions).zip(&answers);
        all.map(|((query, question), answer)| query.read(question, answer)).collect()
    }

    /// The question whose answer suffices; `None` if all logits are needed.
    fn question(&self) -> Option<Question> {
        Some(match self {
            Self::Token(token) => Question { tokens: vec![*token], ..Question::default() },
            Self::Likeliest { count, barred, wanted } => {
                let mut tokens = wanted.clone();
                tokens.retain(|token| !barred.contains(token));
                Question { count: *count, barred: barred.clone(), tokens }
            }
            Self::Drawn { sampling, barred, .. } => Question {
                count: sampling.candidates().filter(|&count| count <= MAX_QUERIED_CANDIDATES)?,
                barred: barred.clone(),
                ..Question::default()
            },
        })
    }

    /// Tokens with their probabilities, from the `answer` to the `question` of this row.
    fn read(&self, question: &Question, answer: &Answer) -> Vec<NextToken> {
        match self {
            Self::Token(_) => answer.scored(question, 0).into_iter().collect(),
            Self::Likeliest { .. } => {
                let mut found = answer.next_tokens();
                for index in 0..question.tokens.len() {
                    let token = question.tokens[index];
                    if found.iter().all(|next| next.token != token) {
                        found.extend(answer.scored(question, index));
                    }
                }
                found
            }
            Self::Drawn { sampling, uniform, .. } => {
                let index = sampling.index_among(&answer.likeliest, *uniform);
                let next = index.map(|index| answer.likeliest[index]);
                let scored = |(logit, token)| NextToken::new(token, logit, answer.total);
                next.map(scored).into_iter().collect()
            }
        }
    }

    /// The tokens that are drawn from all logits.
    fn drawn(queries: &[Self], logits: &Logits) -> Vec<Vec<NextToken>> {
        let rows = logits.rows().zip(queries);
        Threads::current().map(rows, |(row, query)| match (query.question(), query) {
            (Some(question), _) => query.read(&question, &question.answer(row)),
            (None, Self::Drawn { sampling, barred, uniform }) => {
                let drawn = sampling.draw(row, barred, *uniform);
                drawn.map_or_else(Vec::new, |token| scored(row, &[token]))
            }
            (None, _) => Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: a huge `top_k` once reserved memory for as many tokens.
    #[test]
    fn tokens_are_drawn_among_any_number_of_likeliest_ones() {
        let logits = Logits::new((0..200).map(|x| (x as f32 / 50.0).sin()).collect(), 200);
        let drawn = |top_k| {
            let query = TokenQuery::Drawn {
                sampling: Sampling { temperature: 1.0, top_k, ..Sampling::default() },
                barred: vec![3],
                uniform: 0.9,
            };
            assert_eq!(query.question().is_some(), (1..=MAX_QUERIED_CANDIDATES).contains(&top_k));
            let found = TokenQuery::drawn(&[query], &logits);
            assert_eq!(found[0].len(), 1, "one of {top_k}");
            found
        };
        assert_ne!(drawn(5), drawn(200));
        assert_eq!(drawn(usize::MAX), drawn(200));
        assert_eq!(drawn(200), drawn(0), "all tokens");
    }
}
