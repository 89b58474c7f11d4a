//! The results of a search.

use attentive_base::batch::TokenId;

/// One possible output.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The tokens, without `<s>` and `</s>`.
    pub tokens: Vec<TokenId>,
    /// `log_prob` after the length penalty, plus the coverage penalty. Hypotheses are ranked by it.
    pub score: f64,
    /// Σ log P of all tokens (natural logarithm), including `</s>` if `finished`.
    pub log_prob: f64,
    /// The terms of the sum `log_prob`: one more than `tokens` if `finished`.
    pub token_log_probs: Vec<f32>,
    /// True if it ends with `</s>`. Otherwise it was cut off, at the length limit or because all logits were
    /// NaN. Such hypotheses come after all finished ones.
    pub finished: bool,
    /// The numbers of the constraints that it lacks; none if it is finished.
    pub unmet: Vec<usize>,
}
