//! Builds a sentence from words: spacing, capitalisation, commas, final punctuation.

use super::{PartOfSpeech, TaggedSentence};

/// A sentence under construction.
#[derive(Debug, Default)]
pub(super) struct Surface {
    tokens: Vec<String>,
    tags: Vec<PartOfSpeech>,
    /// True for each token that is written without a space before it.
    glued: Vec<bool>,
}

impl Surface {
    /// Appends a word.
    pub(super) fn push(&mut self, word: impl Into<String>, tag: PartOfSpeech) {
        self.append(word.into(), tag, false);
    }

    /// Appends a word joined to the previous one: "'s", "not" in "cannot".
    pub(super) fn glue(&mut self, word: impl Into<String>, tag: PartOfSpeech) {
        self.append(word.into(), tag, true);
    }

    /// Appends words with their tags.
    pub(super) fn extend(&mut self, words: &[(&str, PartOfSpeech)]) {
        for &(word, tag) in words {
            self.push(word, tag);
        }
    }

    /// Appends a comma, unless the sentence already ends with one because two clauses end here.
    pub(super) fn comma(&mut self) {
        if self.tokens.last().is_some_and(|last| last != ",") {
            self.glue(",", PartOfSpeech::Punctuation);
        }
    }

    /// Finishes the sentence and returns its text, tokens and tags.
    pub(super) fn finish(mut self, mark: &str) -> TaggedSentence {
        if self.tokens.last().is_some_and(|last| last == ",") {
            self.tokens.pop();
            self.tags.pop();
            self.glued.pop();
        }
        self.glue(mark, PartOfSpeech::Punctuation);
        if let Some(first) = self.tokens.first_mut() {
            *first = capitalised(first);
        }
        let mut text = String::new();
        for (token, &glued) in self.tokens.iter().zip(&self.glued) {
            if !glued && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(token);
        }
        TaggedSentence { text, tokens: self.tokens, tags: self.tags }
    }

    fn append(&mut self, word: String, tag: PartOfSpeech, glued: bool) {
        self.tokens.push(word);
        self.tags.push(tag);
        self.glued.push(glued);
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
