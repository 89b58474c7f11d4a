//! The words of a text, and those that a term is.

use std::ops::Range;

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_text::{Detokenizer, Tokenizer, is_in_word};
use unicode_segmentation::UnicodeSegmentation;

/// A text and its words.
#[derive(Clone, Debug)]
pub(super) struct WordSpans {
    pub(super) text: String,
    /// The bytes of each word.
    pub(super) words: Vec<Range<usize>>,
}

impl WordSpans {
    pub(super) fn of(text: String) -> Self {
        let words = text.unicode_word_indices().map(|(start, word)| start..start + word.len());
        Self { words: words.collect(), text }
    }

    /// The words of a translation, and for each of its tokens the bytes of its text.
    pub(super) fn of_tokens(ids: &[TokenId], tokenizer: &Tokenizer) -> Result<(Self, Vec<Range<usize>>)> {
        let mut rest = Detokenizer::after(tokenizer, &[])?;
        let (mut text, mut tokens) = (String::new(), Vec::with_capacity(ids.len()));
        for &id in ids {
            let start = text.len();
            text.push_str(&rest.push(id)?);
            tokens.push(start..text.len());
        }
        text.push_str(&rest.finish()?);
        Ok((Self::of(text), tokens))
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn word(&self, number: usize) -> &str {
        &self.text[self.words[number].clone()]
    }

    /// The sum of `values` of tokens over each word, where `tokens` are the bytes of their texts.
    pub(super) fn sums(&self, tokens: &[Range<usize>], values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.len()];
        for (token, value) in tokens.iter().zip(values) {
            if let Some(word) = self.words.iter().position(|word| overlap(word, token)) {
                sums[word] += value;
            }
        }
        sums
    }

    /// All occurrences of `term` as whole words: their first bytes, and the numbers of their first words.
    fn found(&self, term: &str) -> Vec<(usize, usize)> {
        let is_inside = |at: usize| self.words.iter().any(|word| word.start < at && at < word.end);
        let starts = whole(&self.text, term);
        let alone = starts.filter(|start| !is_inside(*start) && !is_inside(start + term.len()));
        alone.map(|start| (start, self.words.partition_point(|word| word.end <= start))).collect()
    }

    /// The numbers of the first words of all occurrences of `term` as whole words.
    pub(super) fn occurrences(&self, term: &str) -> Vec<usize> {
        self.found(term).into_iter().map(|(_, number)| number).collect()
    }

    /// The text before `term`, if word number `place` is its first.
    pub(super) fn before(&self, term: &str, place: usize) -> Option<&str> {
        let found = self.found(term).into_iter().find(|(_, number)| *number == place);
        found.map(|(start, _)| &self.text[..start])
    }

    /// True if one of the words is `word`, in any case, or one of the two begins with the other.
    pub(super) fn has_like(&self, word: &str) -> bool {
        let like = word.to_lowercase();
        let is_like = |own: String| {
            let (short, long) = if own.len() < like.len() { (&own, &like) } else { (&like, &own) };
            short == long || short.chars().count() >= 4 && long.starts_with(&**short)
        };
        (0..self.len()).any(|number| is_like(self.word(number).to_lowercase()))
    }

    /// The word that means most: of one word or two, such as an article and a noun, the longer one.
    pub(super) fn main(&self) -> Option<&str> {
        let words = (0..self.len()).map(|number| self.word(number));
        words.max_by_key(|word| word.chars().count()).filter(|_| self.len() <= 2)
    }

    /// The number of words that begin like `word`, in any case. Inflected forms of a short word would not be
    /// told from others.
    pub(super) fn count_like(&self, word: &str) -> usize {
        let like = word.to_lowercase();
        let is_short = like.chars().count() < 4;
        let words = (0..self.len()).map(|number| self.word(number).to_lowercase());
        words.filter(|word| if is_short { *word == like } else { word.starts_with(&like) }).count()
    }
}

/// True if two ranges share a byte.
pub(super) fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The first bytes of the occurrences of `term` in `text` that are no part of longer words.
pub(super) fn whole<'a>(text: &'a str, term: &'a str) -> impl Iterator<Item = usize> + 'a {
    let inner = |c: Option<char>| c.is_some_and(is_in_word);
    let (begins, ends) = (term.starts_with(is_in_word), term.ends_with(is_in_word));
    text.match_indices(term).map(|(start, _)| start).filter(move |&start| {
        let before = inner(text[..start].chars().next_back());
        let after = inner(text[start + term.len()..].chars().next());
        !(begins && before || ends && after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_whole_words() {
        for (text, term, expected) in [
            ("Ein Rad, Fahrrad Radweg (Rad)", "Rad", vec![1, 4]),
            ("Rad-Weg", "Rad", vec![0]),
            ("Rad.Weg", "Rad", vec![]),
            ("ein altes Rad", "altes Rad", vec![1]),
            ("C++ und C", "C++", vec![0]),
            ("大きい犬です", "犬", vec![3]),
            ("", "Rad", vec![]),
        ] {
            assert_eq!(WordSpans::of(text.into()).occurrences(term), expected, "{text}");
        }
    }

    #[test]
    fn words_are_counted_in_any_form_but_short_ones() {
        let words = WordSpans::of("Der Hund, die hunde, das Hundehaus; er ertrinkt".into());
        assert_eq!((words.count_like("Hund"), words.count_like("er")), (3, 1));
        let like = ["hunde", "Hundehütte", "DIE", "Hut", "ertränkt"].map(|word| words.has_like(word));
        assert_eq!(like, [true, true, true, false, false]);
    }

    #[test]
    fn values_of_tokens_are_summed_by_word() {
        let words = WordSpans::of("Ein Fahrrad.".into());
        let sums = words.sums(&[0..3, 3..8, 8..11, 11..12], &[1.0, 2.0, 4.0, 8.0]);
        assert_eq!(sums, [1.0, 6.0]);
    }
}
