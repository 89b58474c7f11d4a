//! The input of a search.

use attentive_base::batch::TokenId;

use super::Phrase;

/// A source sentence and the tokens that its output must contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceSentence {
    /// The source, closed by `</s>`; an empty one has an empty output.
    pub src: Vec<TokenId>,
    /// The first tokens of the output, which follow [`attentive_architecture::TokenContract::forced_first`].
    pub prefix: Vec<TokenId>,
    /// The phrases that the output must contain.
    pub constraints: Vec<Phrase>,
    /// The number of its random stream: samples depend on this and on the seed, not on other sentences.
    pub stream: u64,
}

impl From<Vec<TokenId>> for SourceSentence {
    /// Makes a sentence whose output may be anything.
    fn from(src: Vec<TokenId>) -> Self {
        Self { src, ..Self::default() }
    }
}
