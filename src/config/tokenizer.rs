//! `[tokenizer]`: tokenization.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{Config, Task};

/// `[tokenizer]`: tokenization, learned from the training text unless `from` names a tokenizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerConfig {
    /// A tokenizer that is taken as it is: a SentencePiece model, a `tokenizer.json`, or a folder with one or with one for each
    /// side. Relative to the working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<PathBuf>,
    /// Kind of tokens.
    pub kind: TokenizerKind,
    /// The size of a vocabulary, special tokens included.
    pub vocab_size: usize,
    /// Whether the two sides share a vocabulary.
    pub vocabulary: Vocabulary,
    /// Minimum number of occurrences of a learned token.
    pub min_frequency: u64,
    /// Whether the text is lower-cased.
    pub lowercase: bool,
    /// Unicode normalization.
    pub normalization: Normalization,
    /// Whether subwords keep punctuation and symbols apart from letters and digits. Tokens are then made of one or the other.
    pub split_punctuation: bool,
    /// Whether each decimal digit is a token of its own in a vocabulary of subwords.
    pub split_digits: bool,
    /// Whether subwords keep letters of different Unicode scripts apart, and letters and numbers. Han, Hiragana and Katakana
    /// count as one script.
    pub split_by_script: bool,
    /// Vocabularies are learned from at most this many lines, drawn at random. Taggers and classifiers use all.
    pub sample_lines: usize,
    /// The tokens with a special role, in the vocabulary of an imported model. Learned vocabularies have the defaults.
    pub special: SpecialNames,
}

/// `[tokenizer.special]`: the tokens with a special role, as the vocabulary spells them. One token may have several roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpecialNames {
    /// Padding.
    pub pad: String,
    /// Unknown text.
    pub unk: String,
    /// Beginning of a sequence.
    pub bos: String,
    /// End of a sequence.
    pub eos: String,
    /// Placeholder of masked language models. The vocabulary need not have it.
    pub mask: String,
    /// Tokens with this id and higher ones stand for unknown text; 0 if there are none.
    pub unknown_from: usize,
}

impl Default for SpecialNames {
    fn default() -> Self {
        Self {
            pad: "<pad>".into(),
            unk: "<unk>".into(),
            bos: "<s>".into(),
            eos: "</s>".into(),
            mask: "<mask>".into(),
            unknown_from: 0,
        }
    }
}

/// The special tokens of the vocabularies of both sides.
#[derive(Clone, Copy, Debug)]
pub struct NamesOfSides<'a> {
    /// Of the source.
    pub src: &'a SpecialNames,
    /// Of the target, or of labels.
    pub tgt: &'a SpecialNames,
}

impl<'a> From<&'a SpecialNames> for NamesOfSides<'a> {
    /// The same on both sides.
    fn from(both: &'a SpecialNames) -> Self {
        Self {
            src: both,
            tgt: both,
        }
    }
}

impl TokenizerConfig {
    /// The defaults for a vocabulary that was made elsewhere, to which nothing of how ours are learned applies.
    pub(crate) fn foreign() -> Self {
        Self {
            split_punctuation: false,
            split_by_script: false,
            ..Self::default()
        }
    }
}

impl Config {
    /// The special tokens of both sides. Vocabularies of labels are always learned, so theirs are the default ones.
    pub fn special_names(&self) -> NamesOfSides<'_> {
        static LEARNED: LazyLock<SpecialNames> = LazyLock::new(SpecialNames::default);
        let src = &self.tokenizer.special;
        match self.model.family.task() {
            Task::Tag | Task::Classify => NamesOfSides { src, tgt: &LEARNED },
            _ => src.into(),
        }
    }
}

/// A kind of tokens.
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

/// Unicode normalization of text before it is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// No normalization.
    None,
    /// Canonical composition.
    Nfc,
    /// Compatibility composition.
    Nfkc,
}

impl Default for TokenizerConfig {
    fn default() -> Self {
        Self {
            from: None,
            kind: TokenizerKind::Bpe,
            vocab_size: 8000,
            vocabulary: Vocabulary::Shared,
            min_frequency: 2,
            lowercase: false,
            normalization: Normalization::Nfkc,
            split_punctuation: true,
            split_digits: false,
            split_by_script: true,
            sample_lines: 1_000_000,
            special: SpecialNames::default(),
        }
    }
}
