//! What a search finds.

use crate::batch::TokenId;

/// One possible output.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The tokens, without `<s>` and `</s>`.
    pub tokens: Vec<TokenId>,
    /// `log_prob` after the length penalty: what hypotheses are compared by.
    pub score: f64,
    /// Σ log P of all tokens (natural logarithm), that of `</s>` included if `finished`.
    pub log_prob: f64,
    /// The summands of `log_prob`: one more than `tokens` if `finished`.
    pub token_log_probs: Vec<f32>,
    /// Whether the model closed it with `</s>`. Otherwise it was cut off, at the length limit or because the model gave
    /// no usable number; such hypotheses come after all finished ones.
    pub finished: bool,
}
