//! `[tokenizer]`: how text becomes ids.

use serde::{Deserialize, Serialize};

/// `[tokenizer]`: how text becomes ids, learned from the training text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerConfig {
    /// What a token is.
    pub kind: TokenizerKind,
    /// The size of a vocabulary, special tokens included.
    pub vocab_size: usize,
    /// One vocabulary for both sides, or one each.
    pub vocabulary: Vocabulary,
    /// Tokens seen less often are not learned.
    pub min_frequency: u64,
    /// Lower-cases the text.
    pub lowercase: bool,
    /// Unicode normalisation.
    pub normalization: Normalization,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenizerKind {
    /// Byte-pair encoding over words marked by `▁` (Sennrich et al. 2016).
    Bpe,
    /// Unigram language model over words marked by `▁` (Kudo 2018).
    Unigram,
    /// Words between white space.
    Word,
    /// Single characters.
    Char,
}

/// Whether the two sides share a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vocabulary {
    /// One vocabulary learned from both sides.
    Shared,
    /// A vocabulary for each side.
    Separate,
}

/// Unicode normalisation of text before it is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// Text is taken as it is.
    None,
    /// Canonical composition.
    Nfc,
    /// Compatibility composition.
    Nfkc,
}

impl Default for TokenizerConfig {
    fn default() -> Self {
        Self {
            kind: TokenizerKind::Bpe,
            vocab_size: 8000,
            vocabulary: Vocabulary::Shared,
            min_frequency: 2,
            lowercase: false,
            normalization: Normalization::Nfkc,
        }
    }
}
