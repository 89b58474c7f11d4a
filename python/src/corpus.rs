//! Corpora from lists of Python.

use attentive::data::{DataKind, Item, TagInput};
use attentive::error::{Error, Result};
use pyo3::prelude::*;

/// The lines of a corpus.
#[derive(FromPyObject)]
pub(crate) enum CorpusLines {
    /// Texts of language models.
    Texts(Vec<String>),
    /// Sentences and their translations, texts and their labels, or words and their tags, separated by
    /// blanks.
    Pairs(Vec<(String, String)>),
    /// Words and their tags.
    Tagged(Vec<(Vec<String>, Vec<String>)>),
}

impl CorpusLines {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Pairs(pairs) => pairs.len(),
            Self::Tagged(sequences) => sequences.len(),
        }
    }

    /// The lines as items of `kind`.
    ///
    /// # Errors
    /// [`Error::Data`] for lines of another kind.
    pub(crate) fn items(self, kind: DataKind) -> Result<Vec<Item>> {
        match (self, kind) {
            (Self::Texts(texts), DataKind::Lines | DataKind::Stream) => {
                Ok(texts.into_iter().map(Item::Text).collect())
            }
            (Self::Pairs(pairs), DataKind::Translations) => {
                Ok(pairs.into_iter().map(|(src, tgt)| Item::Translation { src, tgt }).collect())
            }
            (Self::Pairs(pairs), DataKind::Labeled | DataKind::TaggedTokens) => {
                each(pairs, |(src, tgt)| Item::from_columns(&src, &tgt, kind))
            }
            (Self::Tagged(sequences), DataKind::TaggedTokens) => each(sequences, tagged),
            (_, kind) => Err(unfit(kind)),
        }
    }
}

/// The items that `make` makes of `lines`.
fn each<T>(lines: Vec<T>, make: impl Fn(T) -> Result<Item, String>) -> Result<Vec<Item>> {
    let numbered = (1..).zip(lines);
    let item = |(number, line): (usize, T)| {
        make(line).map_err(|problem| Error::Data {
            problem: format!("line {number} of the given corpus: {problem}"),
            hint: None,
        })
    };
    numbered.map(item).collect()
}

fn tagged((tokens, tags): (Vec<String>, Vec<String>)) -> Result<Item, String> {
    let mut words = tokens.iter().chain(&tags);
    let is_no_word = |word: &&String| word.is_empty() || word.contains(char::is_whitespace);
    match words.find(is_no_word) {
        Some(word) => Err(format!("`{word}` is not a word")),
        None => Ok(Item::Tagged { input: TagInput::Tokens(tokens), tags }),
    }
}

/// The error for lines of another kind than `kind`.
fn unfit(kind: DataKind) -> Error {
    let (expected, hint) = match kind {
        DataKind::Translations => ("sentences and their translations", "`src` and `tgt`"),
        DataKind::Labeled => ("texts and their labels", "`text` and `label`"),
        DataKind::TaggedTokens => ("tokens and their tags", "`tokens` and `tags`"),
        DataKind::Lines | DataKind::Stream => ("texts", "`text`"),
        DataKind::TaggedVectors(_) => ("vectors and their tags", "a file (`jsonl`)"),
    };
    Error::data(
        format!("the model needs {expected}, and the given corpus has something else"),
        format!("give it as {hint}"),
    )
}
