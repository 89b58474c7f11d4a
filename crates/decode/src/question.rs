//! Questions about the logits of a row.

use attentive_base::batch::TokenId;
use attentive_kernels::top_k::log_sum_exp;

use crate::{NextToken, largest};

/// What a search asks about the logits of a row. Answering it does not need all of them at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The number of likeliest tokens to return.
    pub count: usize,
    /// Tokens that are not among the likeliest.
    pub barred: Vec<TokenId>,
    /// Tokens whose logits to return, whatever they are.
    pub tokens: Vec<TokenId>,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The largest logits with their tokens; see [`largest`].
    pub likeliest: Vec<(f32, TokenId)>,
    /// The logits of [`Question::tokens`].
    pub logits: Vec<f32>,
    /// The logarithm of the sum of the exponentials of all logits; −∞ if all of them are NaN or −∞.
    pub total: f64,
}

impl Question {
    /// The answer from all logits of a row.
    ///
    /// # Panics
    /// If a token of the question has no logit.
    pub fn answer(&self, row: &[f32]) -> Answer {
        let logits = self.tokens.iter().map(|&token| row[token as usize]);
        Answer {
            likeliest: largest(row, self.count, &self.barred),
            logits: logits.collect(),
            total: log_sum_exp(row),
        }
    }
}

impl Answer {
    /// The likeliest tokens with their probabilities, most likely first.
    pub fn next_tokens(&self) -> Vec<NextToken> {
        let scored = |&(logit, token): &(f32, TokenId)| NextToken::new(token, logit, self.total);
        self.likeliest.iter().map(scored).collect()
    }

    /// Token number `index` of the question with its probability; `None` if it is impossible.
    ///
    /// # Panics
    /// If the question `of` has no such token.
    pub(crate) fn scored(&self, of: &Question, index: usize) -> Option<NextToken> {
        let logit = self.logits[index];
        let is_possible = logit > f32::NEG_INFINITY && self.total > f64::NEG_INFINITY;
        is_possible.then(|| NextToken::new(of.tokens[index], logit, self.total))
    }
}
