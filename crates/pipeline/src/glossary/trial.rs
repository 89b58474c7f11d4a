//! A term in the place of words.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::requirements::shortened;
use super::spans::WordSpans;

/// A term and the words that it replaces.
pub(super) struct Trial {
    pub(super) term: String,
    /// The bytes of the words, and the numbers of the first and of the one after the last; in their order.
    pub(super) spans: Vec<(Range<usize>, Range<usize>)>,
    /// The word that the model writes for the term alone.
    pub(super) known: Option<String>,
    /// True if the words also translate what stands beside the term.
    pub(super) is_shared: bool,
}

impl Trial {
    /// The translation with the term in place of the words.
    pub(super) fn exchanged(&self, WordSpans { text, .. }: &WordSpans) -> String {
        let mut whole = String::new();
        let mut done = 0;
        for (bytes, _) in &self.spans {
            whole += &text[done..bytes.start];
            whole += &self.term;
            done = bytes.end;
        }
        whole + &text[done..]
    }

    /// The translation up to the word before the term; `None` if there is none. That word, such as an
    /// article, may change with the term. What follows stays: a term is often so unlikely that the model
    /// would repeat itself there, or change the meaning.
    pub(super) fn prefix<'a>(&self, words: &'a WordSpans) -> Option<&'a str> {
        let last = self.spans[0].1.start.checked_sub(1)?;
        Some(&words.text[..words.words[last].start])
    }

    /// The translation with the term, and the words that stand before it in `after`; `None` if the term has
    /// another place there.
    pub(super) fn with_beginning_of(&self, after: &WordSpans, before: &WordSpans) -> Option<String> {
        let (bytes, numbers) = &self.spans[0];
        let is_apart = |text: &str| text.ends_with(char::is_whitespace);
        let beginning = after.before(&self.term, numbers.start)?;
        let fits = is_apart(beginning) == is_apart(&before.text[..bytes.start]);
        fits.then(|| beginning.to_owned() + &self.exchanged(before)[bytes.start..])
    }

    /// The problem that the words which the term replaces meant more than the term.
    pub(super) fn doubt(&self, before: &WordSpans) -> Option<String> {
        let replaced = shortened(&before.text[self.spans[0].0.clone()]);
        let term = shortened(&self.term);
        self.is_shared
            .then(|| format!("the term `{term}` replaces `{replaced}`, which may mean more than it"))
    }

    /// The words that the term stands for: the one that it replaces, unless those are several, and the one
    /// that the model writes for it alone.
    pub(super) fn replaced(&self, before: &WordSpans) -> BTreeSet<String> {
        let numbers = &self.spans[0].1;
        let word = (numbers.len() == 1).then(|| before.word(numbers.start).to_owned());
        let both: Vec<String> = word.into_iter().chain(self.known.clone()).collect();
        // Of two forms of a word, the shorter one counts the other one, too.
        let has_shorter = |word: &String| {
            let of_word = WordSpans::of(word.clone());
            both.iter().any(|other| other.len() < word.len() && of_word.count_like(other) > 0)
        };
        both.iter().filter(|word| !has_shorter(word)).cloned().collect()
    }

    /// True if the term is in its place in `after`, which was `before`, and what it replaces is gone.
    pub(super) fn is_met(&self, before: &WordSpans, after: &WordSpans) -> bool {
        let earlier = before.occurrences(&self.term).len();
        let now = after.occurrences(&self.term);
        let is_new = now.len() > earlier && now.len() <= earlier + self.spans.len();
        let is_gone = |(_, numbers): &(Range<usize>, Range<usize>)| {
            numbers.clone().all(|number| {
                let word = before.word(number);
                let in_term = WordSpans::of(self.term.clone()).count_like(word) * now.len();
                after.count_like(word) < before.count_like(word).max(1) + in_term
            })
        };
        is_new && now.contains(&self.spans[0].1.start) && self.spans.iter().all(is_gone)
    }
}
