//! What a decoder writes, and what it could have written instead.

use burn::tensor::Tensor;

use crate::batch::TokenId;
use crate::model::{Logits, NextToken, likeliest_of, scored};
use crate::text::Tokenizer;

/// Number of alternatives to each token.
const ALTERNATIVES: usize = 8;

/// A token written by the decoder. Tokens are spelled as in the vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The token.
    pub token: String,
    /// Its probability, given the preceding tokens; NaN for a damaged model.
    pub probability: f64,
    /// The likeliest other tokens in its place, most likely first: at most eight, without those that the model never
    /// generates. `</s>` can be one of them.
    pub alternatives: Vec<Alternative>,
}

/// A token that could stand in the place of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The token.
    pub token: String,
    /// Its probability, given the same preceding tokens.
    pub probability: f64,
}

/// The tokens `ids`, given the rows of `logits`, `[len, vocab]`; `never` are no alternatives.
pub(super) fn written(
    logits: Tensor<2>,
    ids: &[TokenId],
    tokenizer: &Tokenizer,
    never: &[TokenId],
) -> Vec<Written> {
    let token = |id: TokenId| tokenizer.token(id).unwrap_or_default();
    let alternative = |next: NextToken| Alternative {
        token: token(next.token),
        probability: next.log_prob.exp(),
    };
    let write = |(row, &id): (&[f32], &TokenId)| {
        let found = scored(row, &[id]).pop();
        let others = likeliest_of(row, ALTERNATIVES, &[never, &[id]].concat());
        Written {
            token: token(id),
            probability: found.map_or(f64::NAN, |next| next.log_prob.exp()),
            alternatives: others.into_iter().map(alternative).collect(),
        }
    };
    Logits::from(logits).rows().zip(ids).map(write).collect()
}
