//! What search has to know of a model's special tokens.

use crate::batch::TokenId;

/// The special-token contract of a model that decodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenContract {
    /// What the decoder reads first.
    pub start: TokenId,
    /// Ends an output.
    pub end: TokenId,
    /// Fills rows up.
    pub pad: TokenId,
    /// Tokens that are never generated.
    pub never: Vec<TokenId>,
    /// The first token of every output.
    pub forced_first: Option<TokenId>,
    /// The last token of an output that reaches the length limit; nothing is forced if absent.
    pub forced_last: Option<TokenId>,
}
