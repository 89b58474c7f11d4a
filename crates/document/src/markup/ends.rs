//! Punctuation at the ends of words.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::TextRun;
use super::blanks::{BRACKETS, is_closing, is_opening, is_quote};

/// Punctuation at the ends of words of a translation that is a unit of its own.
///
/// If markup cuts punctuation off from a word of the source, as in `<b>word</b>.`, this belongs to the
/// punctuation before the first or after the last word of the translation that is linked to it; what ends a
/// segment belongs to what ends its translation.
///
/// A word may take over the punctuation of its place in the sentence: in *impostazioni Foo.* for
/// `<b>Foo</b> settings.`, the full stop belongs to *settings.*, which has it in the source.
#[derive(Default)]
pub(super) struct Ends {
    /// By the number of the word.
    pub(super) front: HashMap<usize, EndMarks>,
    pub(super) back: HashMap<usize, EndMarks>,
    /// The units of the source that are punctuation cut off by markup. They do not belong to words.
    pub(super) apart: HashSet<usize>,
}

/// Punctuation at one end of a word of the translation.
#[derive(Clone, Default)]
pub(super) struct EndMarks {
    /// The bytes of the word that it takes.
    pub(super) len: usize,
    /// The units of the source that belong to it.
    pub(super) sources: Vec<usize>,
    /// Those of them that do not belong to the rest of the word, since they belong to another word.
    pub(super) linked_alone: Vec<usize>,
}

/// An end of words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
}

impl Ends {
    /// The ends of `words`, which are linked to the words `of_source` as `links` says, counted from the first
    /// one.
    pub(super) fn new(run: &TextRun, of_source: Range<usize>, links: &[Vec<usize>], words: &[&str]) -> Self {
        let mut ends = Self::default();
        ends.add_cut_off(run, of_source.clone(), links, words);
        ends.add_moved(run, of_source, links, words);
        ends
    }

    fn add_cut_off(&mut self, run: &TextRun, of_source: Range<usize>, links: &[Vec<usize>], words: &[&str]) {
        let is_mark = |unit: &usize| !run.text[run.words.bytes(*unit)].contains(char::is_alphanumeric);
        let begins = |word: &usize| !words[*word].starts_with(char::is_alphanumeric);
        let ends = |word: &usize| !words[*word].ends_with(char::is_alphanumeric);
        let last_of_text = words.len().checked_sub(1);
        for source in of_source.clone() {
            let units = run.words.units_of_word(source);
            if units.len() < 2 {
                continue;
            }
            let front = units.start..units.start + units.clone().take_while(is_mark).count();
            let back = units.end - units.clone().rev().take_while(is_mark).count()..units.end;
            if front == units {
                continue;
            }
            let linked = |of: &Vec<usize>| of.contains(&(source - of_source.start));
            let first = links.iter().position(linked).filter(begins);
            if let Some(first) = first.filter(|_| !front.is_empty()) {
                self.apart.extend(front.clone());
                self.add(End::Front, first, words[first], front);
            }
            let is_last = source + 1 == of_source.end;
            let last = links.iter().rposition(linked).filter(ends);
            let last = last.or(last_of_text.filter(|word| is_last && ends(word)));
            if let Some(last) = last.filter(|_| !back.is_empty()) {
                self.apart.extend(back.clone());
                self.add(End::Back, last, words[last], back);
            }
        }
    }

    /// Adds all punctuation at one end of `word`, to which `sources` belong.
    fn add(&mut self, end: End, number: usize, word: &str, sources: Range<usize>) {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
        let before = if inner.is_empty() { 0 } else { inner.as_ptr() as usize - word.as_ptr() as usize };
        let after = if inner.is_empty() { 0 } else { word.len() - before - inner.len() };
        let (marks, len) = match end {
            End::Front => (self.front.entry(number).or_default(), before),
            End::Back => (self.back.entry(number).or_default(), after),
        };
        marks.len = len;
        marks.sources.extend(sources);
    }

    /// Adds the punctuation that words of the translation have, but not all of their words in the source.
    fn add_moved(&mut self, run: &TextRun, of_source: Range<usize>, links: &[Vec<usize>], words: &[&str]) {
        let mut uses = vec![0; of_source.len()];
        links.iter().flatten().for_each(|&link| uses[link] += 1);
        let last_word = of_source.end.checked_sub(1);
        for (number, (word, links)) in words.iter().zip(links).enumerate() {
            let is_last = number + 1 == words.len();
            for end in [End::Front, End::Back] {
                let all = if end == End::Front { &mut self.front } else { &mut self.back };
                let len = marks_at(end, word, is_last);
                if len == 0 || all.contains_key(&number) {
                    continue;
                }
                let has_marks = |source: &usize| marks_at(end, run.word_text(*source), true) > 0;
                let sources = links.iter().map(|link| of_source.start + link);
                let (mut with, without): (Vec<usize>, Vec<usize>) = sources.partition(has_marks);
                if with.is_empty() && is_last && end == End::Back {
                    with.extend(last_word.filter(has_marks));
                }
                if !with.is_empty() && without.is_empty() && !links.is_empty() {
                    continue;
                }
                let unit = |source: usize| {
                    let units = run.words.units_of_word(source);
                    if end == End::Front { units.start } else { units.end - 1 }
                };
                let is_used_elsewhere = |source: &&usize| uses[**source - of_source.start] > 1;
                let linked_alone =
                    with.iter().filter(is_used_elsewhere).map(|&source| unit(source)).collect();
                let sources = with.into_iter().map(unit).collect();
                all.insert(number, EndMarks { len, sources, linked_alone });
            }
        }
    }
}

/// The bytes at an end of `word` that are punctuation of its place in a sentence. A full stop is this only at
/// the end of a text: elsewhere it may belong to an abbreviation or a number.
pub(super) fn marks_at(end: End, word: &str, is_last: bool) -> usize {
    let is_apostrophe = |c: char| matches!(c, '\'' | '‘' | '’');
    let opens = |c: char| is_opening(c) || is_quote(c) || BRACKETS.iter().any(|(open, _)| *open == c);
    let closes = |c: char| is_closing(c) || is_quote(c) || BRACKETS.iter().any(|(_, close)| *close == c);
    let rest = word.trim_start_matches(|c| opens(c) && !is_apostrophe(c));
    let inner = rest.trim_end_matches(|c| closes(c) && !is_apostrophe(c) && (c != '.' || is_last));
    if !inner.contains(char::is_alphanumeric) {
        return 0;
    }
    // The brackets of `f(x)` and `(s)he` belong to the word.
    match end {
        End::Front => {
            let front = &word[..word.len() - rest.len()];
            let is_paired = |c| BRACKETS.iter().any(|(open, close)| c == *open && inner.contains(*close));
            front.find(is_paired).unwrap_or(front.len())
        }
        End::Back => {
            let back = &rest[inner.len()..];
            let is_paired = |c| BRACKETS.iter().any(|(open, close)| c == *close && inner.contains(*open));
            back.rfind(is_paired).map_or(back.len(), |at| {
                let bracket = back[at..].chars().next().map_or(0, char::len_utf8);
                back.len() - at - bracket
            })
        }
    }
}
