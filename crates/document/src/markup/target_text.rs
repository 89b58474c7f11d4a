//! The translation of a run, linked to its source.

use std::collections::HashSet;
use std::ops::Range;

use super::TextRun;
use super::links::links;
use super::words::word_ranges;
use crate::{Segment, TranslatedSegment};

/// The translations of all segments of a run, as one text. Its units are words, or parts of words if a word
/// of the source is cut and the translation can be cut in the same way.
pub(super) struct TargetText {
    pub(super) text: String,
    /// The bytes of each unit.
    pub(super) units: Vec<Range<usize>>,
    /// The units of the source that belong to each unit.
    pub(super) sources: Vec<Vec<usize>>,
    /// The units that belong to each unit of the source, ascending.
    pub(super) targets: Vec<Vec<usize>>,
}

impl TargetText {
    pub(super) fn new(run: &TextRun, segments: &[Segment], translations: &[TranslatedSegment]) -> Self {
        let mut target = Self {
            text: String::new(),
            units: Vec::new(),
            sources: Vec::new(),
            targets: vec![Vec::new(); run.words.unit_count()],
        };
        target.gap(run, 0);
        for (number, (segment, translated)) in segments.iter().zip(translations).enumerate() {
            let from = target.text.len();
            target.text.push_str(&translated.text);
            let words: Vec<Range<usize>> = word_ranges(&translated.text).collect();
            let of_source = run.words.words_of_piece(number);
            let source: Vec<&str> = of_source.clone().map(|word| run.word_text(word)).collect();
            let target_words: Vec<&str> = words.iter().map(|word| &translated.text[word.clone()]).collect();
            let links = links(segment, translated, &source, &target_words);
            let ends = Ends::new(run, of_source.clone(), &links, &words, &translated.text);
            for (number, (word, links)) in words.into_iter().zip(links).enumerate() {
                let links: Vec<usize> = links.into_iter().map(|s| of_source.start + s).collect();
                target.push(run, from + word.start..from + word.end, &links, &ends, number);
            }
            target.gap(run, number + 1);
        }
        target
    }

    /// Whether a unit is more than punctuation.
    pub(super) fn is_word(&self, unit: usize) -> bool {
        self.text[self.units[unit].clone()].contains(char::is_alphanumeric)
    }

    /// Adds the text of gap `number`, which is not translated.
    fn gap(&mut self, run: &TextRun, number: usize) {
        let (gap, from) = (run.gaps[number].clone(), self.text.len());
        self.text.push_str(&run.text[gap.clone()]);
        for unit in run.words.units_of_gap(number) {
            let bytes = run.words.bytes(unit);
            self.push_unit(from + bytes.start - gap.start..from + bytes.end - gap.start, vec![unit]);
        }
    }

    /// Adds word `number` of a segment's translation, which belongs to the words `links` of the source.
    fn push(&mut self, run: &TextRun, word: Range<usize>, links: &[usize], ends: &Ends, number: usize) {
        let units = links.iter().flat_map(|&source| run.words.units_of_word(source));
        let units: Vec<usize> = units.collect();
        if let ([_], [first, _, ..]) = (links, units.as_slice()) {
            let parts: Vec<&str> = units.iter().map(|&u| &run.text[run.words.bytes(u)]).collect();
            if let Some(cuts) = cut(&parts, &self.text[word.clone()]) {
                for (bytes, parts) in cuts {
                    let bytes = word.start + bytes.start..word.start + bytes.end;
                    self.push_unit(bytes, (first + parts.start..first + parts.end).collect());
                }
                return;
            }
        }
        let (front, back) = (EndMarks::of(&ends.front, number), EndMarks::of(&ends.back, number));
        let (start, end) = (word.start + front.len, word.end - back.len);
        let is_inner = |unit: &usize| {
            !ends.apart.contains(unit) && !front.sources.contains(unit) && !back.sources.contains(unit)
        };
        let inner: Vec<usize> = units.iter().copied().filter(is_inner).collect();
        if start > word.start {
            self.push_unit(word.start..start, front.sources);
        }
        self.push_unit(start..end, if inner.is_empty() { units } else { inner });
        if end < word.end {
            self.push_unit(end..word.end, back.sources);
        }
    }

    fn push_unit(&mut self, bytes: Range<usize>, sources: Vec<usize>) {
        for &source in &sources {
            self.targets[source].push(self.units.len());
        }
        self.units.push(bytes);
        self.sources.push(sources);
    }
}

/// Punctuation that belongs to a place in a sentence rather than to the word beside it.
const OPENING: &[char] = &['(', '[', '{', '"', '«', '“', '„', '¿', '¡', '「', '（'];
const CLOSING: &[char] = &[
    '.', ',', ';', ':', '!', '?', '…', ')', ']', '}', '"', '»', '”', '。', '、', '，', '；', '：', '！',
    '？', '」', '）',
];

/// Punctuation at the ends of words of the translation that is a unit of its own.
///
/// Units of the source that are punctuation at the ends of its words, cut off by markup, belong to it: those
/// before a word to the punctuation before the first word of the translation that is linked to it, and those
/// after it to that after the last one, or at the end of a segment to that at the end of the translation.
/// Punctuation that a word of the translation has, but not all of its words in the source, belongs to those
/// that have it; if there are none, to nothing, or at the end of a segment to its end.
struct Ends {
    /// With the number of the word.
    front: Vec<(usize, EndMarks)>,
    back: Vec<(usize, EndMarks)>,
    /// The units of the source that were cut off by markup, which do not belong to the words themselves.
    apart: HashSet<usize>,
}

/// Punctuation at one end of a word of the translation.
#[derive(Clone, Default)]
struct EndMarks {
    /// The bytes of the word that it takes.
    len: usize,
    /// The units of the source that belong to it.
    sources: Vec<usize>,
}

impl EndMarks {
    /// What word `number` has in `ends`.
    fn of(ends: &[(usize, Self)], number: usize) -> Self {
        let marks = ends.iter().filter(|(at, _)| *at == number).map(|(_, marks)| marks);
        marks.fold(Self::default(), |mut all, marks| {
            all.sources.extend(&marks.sources);
            Self { len: marks.len, ..all }
        })
    }
}

impl Ends {
    fn new(
        run: &TextRun,
        of_source: Range<usize>,
        links: &[Vec<usize>],
        words: &[Range<usize>],
        text: &str,
    ) -> Self {
        let mut ends = Self { front: Vec::new(), back: Vec::new(), apart: HashSet::new() };
        let is_mark = |unit: &usize| !run.text[run.words.bytes(*unit)].contains(char::is_alphanumeric);
        let word = |number: usize| &text[words[number].clone()];
        let is_inner = |c: char| c.is_alphanumeric();
        let front_len = |number: usize| word(number).find(is_inner).unwrap_or(0);
        let back_len = |number: usize| {
            let word = word(number);
            if word.contains(is_inner) {
                word.len() - word.trim_end_matches(|c| !is_inner(c)).len()
            } else {
                0
            }
        };
        let begins = |number: usize| !word(number).starts_with(is_inner);
        let ends_in_mark = |number: usize| !word(number).ends_with(is_inner);
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
            let first = links.iter().position(linked);
            if let Some(first) = first.filter(|&number| !front.is_empty() && begins(number)) {
                ends.apart.extend(front.clone());
                ends.front.push((first, EndMarks { len: front_len(first), sources: front.collect() }));
            }
            let last = links.iter().rposition(linked).filter(|&number| ends_in_mark(number));
            let is_last = source + 1 == of_source.end;
            let at_end = last_of_text.filter(|&number| is_last && ends_in_mark(number));
            if let Some(last) = last.or(at_end).filter(|_| !back.is_empty()) {
                ends.apart.extend(back.clone());
                ends.back.push((last, EndMarks { len: back_len(last), sources: back.collect() }));
            }
        }
        ends.add_moved(run, of_source, links, words, text);
        ends
    }

    /// Adds the punctuation that words of the translation have, but not all of their words in the source.
    fn add_moved(
        &mut self,
        run: &TextRun,
        of_source: Range<usize>,
        links: &[Vec<usize>],
        words: &[Range<usize>],
        text: &str,
    ) {
        let last = of_source.end.checked_sub(1);
        for (number, (word, links)) in words.iter().zip(links).enumerate() {
            let word = &text[word.clone()];
            let is_free = |ends: &[(usize, EndMarks)]| ends.iter().all(|(at, _)| *at != number);
            let sources = || links.iter().map(|link| of_source.start + link);
            let len = word.len() - word.trim_start_matches(OPENING).len();
            if is_free(&self.front) && (1..word.len()).contains(&len) {
                let has_marks = |source: &usize| run.word_text(*source).starts_with(OPENING);
                let (with, without): (Vec<usize>, Vec<usize>) = sources().partition(has_marks);
                if with.is_empty() || !without.is_empty() {
                    let sources = with.into_iter().map(|source| run.words.units_of_word(source).start);
                    self.front.push((number, EndMarks { len, sources: sources.collect() }));
                }
            }
            let len = word.len() - word.trim_end_matches(CLOSING).len();
            if is_free(&self.back) && (1..word.len()).contains(&len) {
                let has_marks = |source: &usize| run.word_text(*source).ends_with(CLOSING);
                let (mut with, without): (Vec<usize>, Vec<usize>) = sources().partition(has_marks);
                if with.is_empty() && number + 1 == words.len() {
                    with.extend(last.filter(has_marks));
                }
                if with.is_empty() || !without.is_empty() {
                    let sources = with.into_iter().map(|source| run.words.units_of_word(source).end - 1);
                    self.back.push((number, EndMarks { len, sources: sources.collect() }));
                }
            }
        }
    }
}

/// Cuts `word` into units for the parts of the word that it translates, as pairs (bytes, numbers of parts):
/// at each part if the word was copied, otherwise only around punctuation and digits at its ends.
fn cut(parts: &[&str], word: &str) -> Option<Vec<(Range<usize>, Range<usize>)>> {
    let copied = parts.concat() == word;
    let (mut first, mut start) = (0, 0);
    let mut front = Vec::new();
    while let Some(part) = parts.get(first) {
        let rest = &word[start..];
        let same = (copied && rest.starts_with(part)).then_some(part.len());
        let Some(len) = same.or_else(|| like_front(part, rest)) else {
            break;
        };
        front.push((start..start + len, first..first + 1));
        (first, start) = (first + 1, start + len);
    }
    let (mut last, mut end) = (parts.len(), word.len());
    let mut back = Vec::new();
    while last > first {
        let Some(len) = like_back(parts[last - 1], &word[start..end]) else {
            break;
        };
        back.push((end - len..end, last - 1..last));
        (last, end) = (last - 1, end - len);
    }
    match (first < last, start < end) {
        (true, true) => front.push((start..end, first..last)),
        (false, false) => {}
        _ => return None,
    }
    front.extend(back.into_iter().rev());
    Some(front)
}

/// The number of bytes at the front of `word` that correspond to `part`: the same digits and punctuation, or
/// as much punctuation.
fn like_front(part: &str, word: &str) -> Option<usize> {
    if part.chars().any(char::is_alphabetic) {
        return None;
    }
    if word.starts_with(part) {
        return Some(part.len());
    }
    punctuation(part, word.chars())
}

fn like_back(part: &str, word: &str) -> Option<usize> {
    if part.chars().any(char::is_alphabetic) {
        return None;
    }
    if word.ends_with(part) {
        return Some(part.len());
    }
    punctuation(part, word.chars().rev())
}

/// The bytes of as many of the first `chars` as `part` has characters, if all of both are punctuation.
fn punctuation(part: &str, mut chars: impl Iterator<Item = char>) -> Option<usize> {
    let is_punctuation = |c: char| !c.is_alphanumeric();
    let mut len = 0;
    for c in part.chars() {
        let other = chars.next()?;
        if !is_punctuation(c) || !is_punctuation(other) {
            return None;
        }
        len += other.len_utf8();
    }
    Some(len)
}
