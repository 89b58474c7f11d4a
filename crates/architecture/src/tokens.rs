//! Special tokens in decoding.

use attentive_base::batch::TokenId;

/// The special tokens of a model that decodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenContract {
    /// The decoder's first input.
    pub start: TokenId,
    /// The token that ends an output.
    pub end: TokenId,
    /// The token that pads rows to equal length.
    pub pad: TokenId,
    /// Tokens that are never generated.
    pub never: Vec<TokenId>,
    /// The first token of every output.
    pub forced_first: Option<TokenId>,
    /// The last token of an output that reaches the length limit.
    pub forced_last: Option<TokenId>,
}
