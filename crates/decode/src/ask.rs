//! The values that the search needs from the logits of a row.

use attentive_base::batch::TokenId;
use attentive_kernels::threads::Threads;

use super::Sampling;
use crate::{Logits, NextToken, likeliest_of, scored};

/// The values that a hypothesis needs from the logits of its row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
    /// The probability of this token.
    Token(TokenId),
    /// The `count` likeliest tokens, and the `wanted` tokens whatever their probability, but no `barred` token.
    Likeliest {
        count: usize,
        barred: Vec<TokenId>,
        wanted: Vec<TokenId>,
    },
    /// A token drawn by a number in `[0, 1)`.
    Drawn {
        sampling: Sampling,
        barred: Vec<TokenId>,
        uniform: f64,
    },
}

impl Ask {
    /// The answers to all rows.
    pub(super) fn answer_all(asks: &[Self], logits: &Logits) -> Vec<Vec<NextToken>> {
        let rows = logits.rows().zip(asks);
        Threads::current().map(rows, |(row, ask)| ask.answer(row))
    }

    /// Tokens with their probabilities; none if the logits are NaN.
    fn answer(&self, row: &[f32]) -> Vec<NextToken> {
        match self {
            Self::Token(token) => scored(row, &[*token]),
            Self::Likeliest {
                count,
                barred,
                wanted,
            } => {
                let mut found = likeliest_of(row, *count, barred);
                let is_new = |token: &&TokenId| {
                    !barred.contains(token) && found.iter().all(|next| next.token != **token)
                };
                let more: Vec<TokenId> = wanted.iter().filter(is_new).copied().collect();
                if !more.is_empty() {
                    found.extend(scored(row, &more));
                }
                found
            }
            Self::Drawn {
                sampling,
                barred,
                uniform,
            } => {
                let drawn = sampling.draw(row, barred, *uniform);
                drawn.map_or_else(Vec::new, |token| scored(row, &[token]))
            }
        }
    }
}
