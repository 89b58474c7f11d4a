//! The content of one line of a corpus.

use std::hash::{DefaultHasher, Hash, Hasher};

use attentive_base::count::count;
use attentive_config::CleaningRule;

use crate::corpus::data_kind::DataKind;
use crate::reading::lines::MAX_LINE_BYTES;

/// The content of one line of a corpus.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A sentence and its translation.
    Translation {
        /// The source.
        src: String,
        /// The target.
        tgt: String,
    },
    /// A sequence with one tag per position.
    Tagged {
        /// The tagged tokens or vectors.
        input: TagInput,
        /// One tag per position.
        tags: Vec<String>,
    },
    /// A text with a label.
    Labeled {
        text: String,
        /// Its label, which contains no white space.
        label: String,
    },
    /// A text for a language model.
    Text(String),
}

/// Input of a tagger.
#[derive(Clone, Debug, PartialEq)]
pub enum TagInput {
    /// Tokens without white space.
    Tokens(Vec<String>),
    /// Concatenated vectors of equal width.
    Vectors(Vec<f32>),
}

/// An [`Item`] and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedItem {
    /// The content of the line.
    pub item: Item,
    /// The line number in the file, or the index in a generated corpus, starting at 1.
    pub line: usize,
    /// The factor of its loss in training.
    pub weight: f32,
}

/// The reason why a line is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropReason {
    Empty,
    TooLong,
    Control,
    Repeated,
    Copy,
    Rule(CleaningRule),
}

impl Item {
    /// Creates an item of `kind` from two columns of text, of which words are separated by white space in a
    /// sequence with tags, and a label comes second.
    ///
    /// # Errors
    /// Describes the problem if that is impossible.
    pub fn from_columns(src: &str, tgt: &str, kind: DataKind) -> Result<Self, String> {
        match kind {
            DataKind::Translations => Ok(Self::Translation { src: src.to_owned(), tgt: tgt.to_owned() }),
            DataKind::TaggedTokens => {
                Ok(Self::Tagged { input: TagInput::Tokens(words(src)), tags: words(tgt) })
            }
            DataKind::Labeled => Self::labeled(src.to_owned(), tgt),
            DataKind::TaggedVectors(_) | DataKind::Lines | DataKind::Stream => {
                Err(format!("expected {}, found two columns", kind.name()))
            }
        }
    }

    /// Makes an item of a text and its label, without white space around the label; describes the problem if
    /// the label is invalid.
    pub(crate) fn labeled(text: String, label: &str) -> Result<Self, String> {
        let label = label.trim();
        if label.contains(char::is_whitespace) {
            return Err(format!(
                "the label `{label}` contains white space (in a TSV file, the label comes before the text)"
            ));
        }
        let label = label.to_owned();
        Ok(Self::Labeled { text, label })
    }

    /// Returns the model's input: a source, space-separated tokens, or a text; empty for vectors.
    pub fn input(&self) -> String {
        match self {
            Self::Translation { src: text, .. } | Self::Labeled { text, .. } | Self::Text(text) => {
                text.clone()
            }
            Self::Tagged { input, .. } => match input {
                TagInput::Tokens(tokens) => tokens.join(" "),
                TagInput::Vectors(_) => String::new(),
            },
        }
    }

    /// The reason why the item must be dropped, if any.
    pub(crate) fn drop_reason(&self) -> Option<DropReason> {
        let measures = match self {
            Self::Translation { src, tgt } => [Measure::of(src), Measure::of(tgt)],
            Self::Tagged { input, tags } => {
                let tags = Measure::of_words(tags);
                match input {
                    TagInput::Tokens(tokens) => [Measure::of_words(tokens), tags],
                    TagInput::Vectors(_) => [tags; 2],
                }
            }
            Self::Labeled { text, label } => [Measure::of(text), Measure::of(label)],
            Self::Text(text) => [Measure::of(text); 2],
        };
        let any = |holds: fn(&Measure) -> bool| measures.iter().any(holds);
        if any(|side| side.is_blank) {
            Some(DropReason::Empty)
        } else if any(|side| side.bytes > MAX_LINE_BYTES) {
            Some(DropReason::TooLong)
        } else if any(|side| side.has_control) {
            Some(DropReason::Control)
        } else {
            None
        }
    }

    /// True if both sentences of a pair are equal.
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Self::Translation { src, tgt } if src.trim() == tgt.trim())
    }

    /// Returns a hash of the content. Among 20 million different lines, two have the same hash with a
    /// probability of 10⁻⁵.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Self::Translation { src, tgt } => (src, tgt).hash(&mut hasher),
            Self::Labeled { text, label } => (text, label).hash(&mut hasher),
            Self::Text(text) => text.hash(&mut hasher),
            Self::Tagged { input, tags } => {
                match input {
                    TagInput::Tokens(tokens) => tokens.hash(&mut hasher),
                    TagInput::Vectors(vectors) => {
                        let bits = vectors.iter().map(|number| number.to_bits());
                        bits.for_each(|bits| bits.hash(&mut hasher));
                    }
                }
                tags.hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Describes a wrong number of tags, if there is one.
    pub(crate) fn tag_count_problem(&self, kind: DataKind) -> Option<String> {
        let Self::Tagged { input, tags } = self else {
            return None;
        };
        let (what, n) = match (input, kind) {
            (TagInput::Tokens(tokens), _) => ("token", tokens.len()),
            (TagInput::Vectors(vectors), DataKind::TaggedVectors(width)) => {
                ("vector", vectors.len() / width.max(1))
            }
            (TagInput::Vectors(vectors), _) => ("vector", vectors.len()),
        };
        (tags.len() != n).then(|| {
            let (tags, inputs) = (count(tags.len(), "tag"), count(n, what));
            format!("{tags} for {inputs}; expected one each")
        })
    }
}

/// The properties that decide whether a side of an item is usable.
#[derive(Clone, Copy)]
struct Measure {
    is_blank: bool,
    bytes: usize,
    has_control: bool,
}

impl Measure {
    fn of(text: &str) -> Self {
        Self { is_blank: text.trim().is_empty(), bytes: text.len(), has_control: has_control(text) }
    }

    /// The measure of words joined by spaces.
    fn of_words(words: &[String]) -> Self {
        let bytes: usize = words.iter().map(|word| word.len() + 1).sum();
        Self {
            is_blank: words.is_empty(),
            bytes: bytes.saturating_sub(1),
            has_control: words.iter().any(|word| has_control(word)),
        }
    }
}

/// True if `text` contains NUL or another control character other than white space.
pub(crate) fn has_control(text: &str) -> bool {
    text.contains(is_control)
}

/// True if `c` is a control character other than white space.
pub fn is_control(c: char) -> bool {
    c.is_control() && !c.is_whitespace()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
