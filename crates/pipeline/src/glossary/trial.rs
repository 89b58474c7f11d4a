//! A term in the place of words.

use std::ops::Range;

use super::spans::Words;

/// The number of words before a term that may change with it, such as an article. A term is often so unlikely
/// that what follows it is, too: a model that may write anything there repeats itself, or changes the meaning.
const BEFORE: usize = 2;

/// A term and the words that it replaces.
pub(super) struct Trial {
    pub(super) term: String,
    /// The bytes of the words, and the numbers of the first and of the one after the last.
    pub(super) spans: Vec<(Range<usize>, Range<usize>)>,
}

impl Trial {
    /// The translation with the term in place of the words.
    pub(super) fn exchanged(&self, Words { text, .. }: &Words) -> String {
        let mut whole = String::new();
        let mut spans: Vec<&Range<usize>> = self.spans.iter().map(|(bytes, _)| bytes).collect();
        spans.sort_by_key(|bytes| bytes.start);
        let mut done = 0;
        for bytes in spans {
            whole += &text[done..bytes.start];
            whole += &self.term;
            done = bytes.end;
        }
        whole + &text[done..]
    }

    /// The beginnings of translations with the term: up to one and two words before it.
    pub(super) fn prefixes(&self, words: &Words) -> Vec<String> {
        let place = self.spans[0].1.start;
        let back = 1..=BEFORE.min(place);
        back.map(|back| words.text[..words.words[place - back].start].to_owned()).collect()
    }

    /// The word that the term replaces; `None` if it replaces several.
    pub(super) fn replaced(&self, before: &Words) -> Option<String> {
        let numbers = &self.spans[0].1;
        (numbers.len() == 1).then(|| before.word(numbers.start).to_owned())
    }

    /// True if the term is in its place in `after`, which was `before`, and what it replaces is gone.
    pub(super) fn is_met(&self, before: &Words, after: &Words) -> bool {
        let earlier = before.occurrences(&self.term).len();
        let now = after.occurrences(&self.term);
        let is_new = now.len() > earlier && now.len() <= earlier + self.spans.len();
        let is_gone = |(_, numbers): &(Range<usize>, Range<usize>)| {
            numbers.clone().all(|number| {
                let word = before.word(number);
                let in_term = Words::of(self.term.clone()).count_like(word) * now.len();
                after.count_like(word) < before.count_like(word).max(1) + in_term
            })
        };
        let exchanged = Words::of(self.exchanged(before));
        let rest = self.spans[0].1.start + Words::of(self.term.clone()).len();
        let tail = |words: &Words| {
            let end = rest.checked_sub(1).and_then(|last| words.words.get(last)).map_or(0, |word| word.end);
            words.text[end..].to_owned()
        };
        let is_kept = after.len() == exchanged.len() && tail(after) == tail(&exchanged);
        is_new && now.contains(&self.spans[0].1.start) && self.spans.iter().all(is_gone) && is_kept
    }
}
