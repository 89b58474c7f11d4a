//! The translation of a run, linked to its source.

use std::ops::Range;

use super::TextRun;
use super::ends::{End, Ends, marks_at};
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
            let ends = Ends::new(run, of_source.clone(), &links, &target_words);
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
        let [front, back] =
            [&ends.front, &ends.back].map(|ends| ends.get(&number).cloned().unwrap_or_default());
        let (start, end) = (word.start + front.len, word.end - back.len);
        let is_apart = |unit: &usize| {
            ends.apart.contains(unit) || front.linked_alone.contains(unit) || back.linked_alone.contains(unit)
        };
        let inner: Vec<usize> = units.iter().copied().filter(|unit| !is_apart(unit)).collect();
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
    // Further punctuation that the word between them does not have in the source.
    let more = |at: End, word: &str| marks_at(at, word, true);
    if let (Some((bytes, _)), Some(part)) = (front.last_mut(), parts.get(first))
        && more(End::Front, part) == 0
    {
        start += more(End::Front, &word[start..end]);
        bytes.end = start;
    }
    if let (Some((bytes, _)), Some(part)) = (back.last_mut(), last.checked_sub(1).map(|last| parts[last]))
        && more(End::Back, part) == 0
    {
        end -= more(End::Back, &word[start..end]);
        bytes.start = end;
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
