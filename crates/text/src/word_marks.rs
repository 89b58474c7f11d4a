//! Where words begin among the tokens of a text.

use attentive_base::batch::TokenId;
use serde::Deserialize;

use crate::tokenizer::Tokenizer;

/// Marks of the first token of a word: that of SentencePiece, and that of byte-level tokenizers.
const FIRST_MARKS: [char; 2] = ['▁', 'Ġ'];

/// Where words begin and end, as the tokens of a vocabulary say.
#[derive(Clone, Debug)]
pub struct WordMarks {
    /// For each token, whether a word begins with it.
    begins: Vec<bool>,
    /// For each token, whether a word ends with it.
    ends: Vec<bool>,
    /// For each token, whether it is part of a word, known or not.
    in_words: Vec<bool>,
    /// Whether any token begins or ends a word; otherwise each token is one.
    has_marks: bool,
    /// What continues a word begins with this.
    prefix: String,
}

/// A tokenizer file with a `model` section that says how words are marked.
#[derive(Deserialize)]
struct MarkedFile {
    model: MarkedSection,
}

#[derive(Deserialize)]
struct MarkedSection {
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
}

impl WordMarks {
    /// Returns the marks of `tokenizer`. Where no token has a mark, each is a word.
    ///
    /// # Errors
    /// Describes the problem with a damaged file.
    pub fn of(tokenizer: &Tokenizer) -> Result<Self, String> {
        let MarkedFile { model } =
            serde_json::from_slice(tokenizer.to_json()).map_err(|error| error.to_string())?;
        let MarkedSection { continuing_subword_prefix: prefix, end_of_word_suffix: suffix } = model;
        let prefix = prefix.unwrap_or_default();
        let suffix = suffix.filter(|suffix| !suffix.is_empty());
        let ids = 0..tokenizer.vocab_size() as TokenId;
        let tokens: Vec<String> = ids.clone().map(|id| tokenizer.token(id).unwrap_or_default()).collect();
        let begins = |token: &String| match &*prefix {
            "" => token.starts_with(FIRST_MARKS),
            prefix => !token.starts_with(prefix),
        };
        let ends = |token: &String| suffix.as_ref().is_some_and(|suffix| token.ends_with(suffix));
        let begins: Vec<bool> = tokens.iter().map(begins).collect();
        let ends: Vec<bool> = tokens.iter().map(ends).collect();
        let has_marks = begins.iter().chain(&ends).any(|&is_marked| is_marked);
        let unk = tokenizer.special().unk;
        let in_words = ids.map(|id| id == unk || tokenizer.is_of_text(id)).collect();
        Ok(Self { begins, ends, in_words, has_marks, prefix })
    }

    /// The prefix of tokens that continue a word; usually empty.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Divides `ids` where words begin or end.
    pub(crate) fn divided<'a>(&self, ids: &'a [TokenId]) -> impl Iterator<Item = &'a [TokenId]> {
        ids.chunk_by(|&left, &right| !is(&self.begins, right) && !is(&self.ends, left))
    }

    /// Returns the number of the word of each token, counted from 0; `None` for tokens beside the words, such
    /// as `</s>` and the codes of languages.
    pub fn numbers(&self, ids: &[TokenId]) -> Vec<Option<usize>> {
        let mut n_words = 0;
        let mut is_within = false;
        let number = |&id: &TokenId| {
            if !is(&self.in_words, id) {
                is_within = false;
                return None;
            }
            if !is_within || !self.has_marks || is(&self.begins, id) {
                n_words += 1;
            }
            is_within = !is(&self.ends, id);
            Some(n_words - 1)
        };
        ids.iter().map(number).collect()
    }
}

fn is(marks: &[bool], id: TokenId) -> bool {
    marks.get(id as usize).is_some_and(|&is| is)
}

#[cfg(test)]
mod tests {
    use attentive_config::{TokenizerConfig, TokenizerKind};

    use super::*;
    use crate::learn::{Masks, learn};

    #[test]
    fn tokens_belong_to_the_words_between_blanks() {
        let text = "the small cats, dogs and >>de<< birds sing.";
        for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Word] {
            let config = TokenizerConfig {
                kind,
                vocab_size: 60,
                min_frequency: 1,
                symbols: vec![">>de<<".into()],
                ..Default::default()
            };
            let tokenizer = learn(&config, Masks::Without, &[text], &[text]).unwrap().tgt().clone();
            let marks = WordMarks::of(&tokenizer).unwrap();
            let text = "the cats, dogs sing.";
            let ids = tokenizer.special().framed(tokenizer.encode(text).unwrap());
            let numbers = marks.numbers(&ids);
            assert_eq!(numbers.last(), Some(&None), "`</s>` is beside the words");
            let words: Vec<usize> = numbers.into_iter().flatten().collect();
            assert_eq!(words, tokenizer.words(text).unwrap(), "{kind:?}");
            if kind != TokenizerKind::Word {
                let tagged = tokenizer.encode(">>de<< the birds").unwrap();
                assert_eq!(marks.numbers(&tagged).iter().flatten().max(), Some(&1), "a symbol is no word");
            }
        }
    }
}
