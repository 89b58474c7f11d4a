//! One line of a corpus.

use super::form::Form;
use super::lines::MAX_LINE_BYTES;

/// What one line of a corpus holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A sentence and its translation.
    Translation {
        /// The source.
        src: String,
        /// The target.
        tgt: String,
    },
    /// A sequence with a tag for each position.
    Tagged {
        /// What the tags stand at.
        input: TagInput,
        /// As many as there are positions.
        tags: Vec<String>,
    },
    /// A text with a label.
    Labelled {
        /// The text.
        text: String,
        /// Its label, without white space.
        label: String,
    },
    /// A text for language models.
    Text(String),
}

/// What a tagger reads.
#[derive(Clone, Debug, PartialEq)]
pub enum TagInput {
    /// Tokens without white space.
    Tokens(Vec<String>),
    /// Vectors of the same width, one behind the other.
    Vectors(Vec<f32>),
}

/// An [`Item`] and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What the line holds.
    pub item: Item,
    /// Its line in the file, or its place in a generated corpus, counted from 1.
    pub line: usize,
}

/// Why a line is left out of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Empty,
    TooLong,
    Control,
}

impl Item {
    /// The item of `form` that two columns of text make, or what is wrong with them.
    pub(super) fn from_columns(src: &str, tgt: &str, form: Form) -> Result<Self, String> {
        match form {
            Form::Translations => Ok(Self::Translation {
                src: src.to_owned(),
                tgt: tgt.to_owned(),
            }),
            Form::TaggedTokens => Ok(Self::Tagged {
                input: TagInput::Tokens(words(src)),
                tags: words(tgt),
            }),
            Form::Labelled => Self::labelled(src.to_owned(), tgt.trim()),
            Form::TaggedVectors(_) | Form::Lines | Form::Stream => {
                Err(format!("expected {}, found two columns", form.name()))
            }
        }
    }

    /// A text and its label, or what is wrong with the label.
    pub(super) fn labelled(text: String, label: &str) -> Result<Self, String> {
        if label.contains(char::is_whitespace) {
            return Err(format!("the label `{label}` holds white space"));
        }
        let label = label.to_owned();
        Ok(Self::Labelled { text, label })
    }

    /// What the model is given: a source, the tokens with blanks between them, or a text; nothing for vectors.
    pub fn input(&self) -> String {
        match self {
            Self::Translation { src: text, .. }
            | Self::Labelled { text, .. }
            | Self::Text(text) => text.clone(),
            Self::Tagged { input, .. } => match input {
                TagInput::Tokens(tokens) => tokens.join(" "),
                TagInput::Vectors(_) => String::new(),
            },
        }
    }

    /// Why the item is left out of a corpus, if it is.
    pub(super) fn fault(&self) -> Option<Fault> {
        let measures = match self {
            Self::Translation { src, tgt } => [Measure::of(src), Measure::of(tgt)],
            Self::Tagged { input, tags } => {
                let tags = Measure::of_words(tags);
                match input {
                    TagInput::Tokens(tokens) => [Measure::of_words(tokens), tags],
                    TagInput::Vectors(_) => [tags; 2],
                }
            }
            Self::Labelled { text, label } => [Measure::of(text), Measure::of(label)],
            Self::Text(text) => [Measure::of(text); 2],
        };
        let any = |holds: fn(&Measure) -> bool| measures.iter().any(holds);
        if any(|side| side.is_blank) {
            Some(Fault::Empty)
        } else if any(|side| side.bytes > MAX_LINE_BYTES) {
            Some(Fault::TooLong)
        } else if any(|side| side.has_control) {
            Some(Fault::Control)
        } else {
            None
        }
    }

    /// What is wrong with the number of tags, if anything is.
    pub(super) fn misfit(&self, form: Form) -> Option<String> {
        let Self::Tagged { input, tags } = self else {
            return None;
        };
        let (what, count) = match (input, form) {
            (TagInput::Tokens(tokens), _) => ("tokens", tokens.len()),
            (TagInput::Vectors(vectors), Form::TaggedVectors(width)) => {
                ("vectors", vectors.len() / width.max(1))
            }
            (TagInput::Vectors(vectors), _) => ("vectors", vectors.len()),
        };
        let n_tags = tags.len();
        (n_tags != count).then(|| format!("{n_tags} tags for {count} {what}; each has one"))
    }
}

/// What decides whether one side of an item can be learned from.
#[derive(Clone, Copy)]
struct Measure {
    is_blank: bool,
    bytes: usize,
    has_control: bool,
}

impl Measure {
    fn of(text: &str) -> Self {
        Self {
            is_blank: text.trim().is_empty(),
            bytes: text.len(),
            has_control: has_control(text),
        }
    }

    /// As for the words with a blank between each two.
    fn of_words(words: &[String]) -> Self {
        let bytes: usize = words.iter().map(|word| word.len() + 1).sum();
        Self {
            is_blank: words.is_empty(),
            bytes: bytes.saturating_sub(1),
            has_control: words.iter().any(|word| has_control(word)),
        }
    }
}

/// Whether `text` holds NUL or another control character that is not white space.
pub(super) fn has_control(text: &str) -> bool {
    text.contains(|c: char| c.is_control() && !c.is_whitespace())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
