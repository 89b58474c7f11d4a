//! `[tokenizer]`: tokenization.

use std::path::PathBuf;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, Task};

/// `[tokenizer]`: tokenization, learned from the training text unless `from` names a tokenizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerConfig {
    /// An existing tokenizer to use as it is, in place of learning one. It is a SentencePiece model, a
    /// `tokenizer.json`, or a folder with one file for both sides or one for each. A relative path starts at
    /// the working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["my.model"]))]
    #[schemars(extend(
        "x-also" = "vocabs vocab_file model_file sentencepiece_model spm_model tokenizer_file"
    ))]
    pub from: Option<PathBuf>,
    /// The kind of tokens. Taggers read whole words, unless `model.word_pieces` is true.
    #[schemars(extend("x-also" = "tokenizer_type vocab_type bpe_type", "x-needs" = "learned_vocabulary"))]
    pub kind: TokenizerKind,
    /// The number of tokens in a vocabulary, special tokens included. Larger vocabularies give shorter
    /// sequences but need more training text.
    #[schemars(range(min = MIN_VOCAB_SIZE, max = 1 << 24))]
    #[schemars(extend(
        "x-also" = "vocabulary_size n_vocab vocab dim_vocabs",
        "x-needs" = "learned_vocabulary"
    ))]
    pub vocab_size: usize,
    /// Whether the source and the target share a vocabulary. Taggers and classifiers need separate ones.
    pub vocabulary: Vocabulary,
    /// The least number of times that a token must occur in the training text to be learned.
    #[schemars(range(min = 1), extend("x-needs" = "learned_vocabulary"))]
    pub min_frequency: u64,
    /// Whether to convert the text to lower case.
    #[schemars(extend("x-needs" = "learned_vocabulary"))]
    pub lowercase: bool,
    /// The Unicode normalization of the text, before it is split into tokens. Any but `none` also removes
    /// characters that are not displayed and mean nothing where they stand, such as zero-width spaces, soft
    /// hyphens and marks of writing direction.
    #[schemars(extend("x-needs" = "learned_vocabulary"))]
    pub normalization: Normalization,
    /// Whether subwords keep punctuation and symbols apart from letters and digits. No token then has both.
    #[schemars(extend("x-needs" = "learned_vocabulary subwords"))]
    pub split_punctuation: bool,
    /// Whether each decimal digit is a token of its own in a vocabulary of subwords.
    #[schemars(extend("x-needs" = "learned_vocabulary subwords"))]
    pub split_digits: bool,
    /// Whether subwords keep letters of different Unicode scripts apart, and letters apart from numbers. Han,
    /// Hiragana and Katakana count as one script.
    #[schemars(extend("x-needs" = "learned_vocabulary subwords"))]
    pub split_by_script: bool,
    /// Further tokens that no text is learned for and that are never split, wherever a text has them: codes
    /// of languages such as `>>de<<`, or other marks that the corpora begin their sources with (`tag` in
    /// `[data.train]`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "examples" = [[">>de<<", ">>fr<<"]],
        "x-also" = "user_defined_symbols special_tokens extra_special_tokens additional_special_tokens",
        "x-needs" = "learned_vocabulary"
    ))]
    pub symbols: Vec<String>,
    /// The largest number of lines from which a vocabulary is learned. If the corpus has more, they are drawn
    /// at random. Taggers and classifiers use all lines.
    #[schemars(range(min = 1), extend("x-needs" = "learned_vocabulary"))]
    pub sample_lines: usize,
    /// The spelling of special tokens in the vocabulary of an imported model or of `tokenizer.from`.
    /// Vocabularies that Attentive learns have the defaults. One token may have several roles.
    pub special: SpecialNames,
}

/// Room for the special tokens and some learned ones.
const MIN_VOCAB_SIZE: usize = 8;

/// `[tokenizer.special]`: the tokens with a special role, as the vocabulary spells them. One token may have
/// several roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpecialNames {
    /// The token that pads short sequences of a batch.
    #[schemars(extend("x-needs" = "given_vocabulary"))]
    pub pad: String,
    /// The token for text that the vocabulary cannot represent.
    #[schemars(extend("x-needs" = "given_vocabulary"))]
    pub unk: String,
    /// The token for the beginning of a sequence.
    #[schemars(extend("x-needs" = "given_vocabulary"))]
    pub bos: String,
    /// The token for the end of a sequence.
    #[schemars(extend("x-needs" = "given_vocabulary"))]
    pub eos: String,
    /// The token in place of which a masked language model predicts another one. Other vocabularies need not
    /// have it.
    #[schemars(extend("x-needs" = "given_vocabulary"))]
    pub mask: String,
    /// The first of the ids at the end of a vocabulary that all stand for unknown text; 0 if there are none.
    /// Import sets it.
    #[schemars(extend("x-needs" = "imported_vocabulary"))]
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
    /// The special tokens of the source.
    pub src: &'a SpecialNames,
    /// The special tokens of the target, or of labels.
    pub tgt: &'a SpecialNames,
}

impl<'a> From<&'a SpecialNames> for NamesOfSides<'a> {
    /// The same on both sides.
    fn from(both: &'a SpecialNames) -> Self {
        Self { src: both, tgt: both }
    }
}

impl TokenizerConfig {
    /// The defaults for a vocabulary that was made elsewhere, to which nothing of how ours are learned
    /// applies.
    pub fn foreign() -> Self {
        Self { split_punctuation: false, split_by_script: false, ..Self::default() }
    }
}

impl Config {
    /// The special tokens of both sides. Vocabularies of labels are always learned, so theirs are the default
    /// ones.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenizerKind {
    /// Subwords learned by byte-pair encoding, over words marked by `▁` (Sennrich et al. 2016).
    Bpe,
    /// Subwords of a unigram language model, over words marked by `▁` (Kudo 2018).
    Unigram,
    /// Words between white space.
    Word,
    /// Single characters.
    Char,
}

/// Whether the two sides share a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vocabulary {
    /// One vocabulary, learned from both sides.
    Shared,
    /// A vocabulary for each side.
    Separate,
}

/// Unicode normalization of text before it is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// No normalization.
    None,
    /// Canonical composition (NFC): a letter and its accent become one character.
    Nfc,
    /// Compatibility composition (NFKC): variants such as ligatures and full-width letters become ordinary
    /// characters, too.
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
            symbols: Vec::new(),
            sample_lines: 1_000_000,
            special: SpecialNames::default(),
        }
    }
}
