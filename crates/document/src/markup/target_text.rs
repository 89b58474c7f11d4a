//! The translation of a run, linked to its source.

use std::collections::HashSet;
use std::ops::Range;

use super::TextRun;
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
            let links = links(segment, translated, of_source.len(), words.len());
            let ends = Ends::new(run, of_source.clone(), &links, &words, &translated.text);
            for (number, (word, links)) in words.into_iter().zip(links).enumerate() {
                let links: Vec<usize> = links.into_iter().map(|s| of_source.start + s).collect();
                target.push(run, from + word.start..from + word.end, &links, &ends, number);
            }
            target.gap(run, number + 1);
        }
        target
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
        let (front, back) = (Ends::of(&ends.front, number), Ends::of(&ends.back, number));
        let text = &self.text[word.clone()];
        let (first, last) = if text.contains(char::is_alphanumeric) {
            let inner = text.trim_matches(|c: char| !c.is_alphanumeric());
            let first = inner.as_ptr() as usize - text.as_ptr() as usize;
            (first, first + inner.len())
        } else {
            (0, text.len())
        };
        let start = word.start + if front.is_empty() { 0 } else { first };
        let end = if back.is_empty() { word.end } else { word.start + last };
        if start > word.start {
            self.push_unit(word.start..start, front);
        }
        let inner: Vec<usize> = units.iter().copied().filter(|unit| !ends.apart.contains(unit)).collect();
        self.push_unit(start..end, if inner.is_empty() { units } else { inner });
        if end < word.end {
            self.push_unit(end..word.end, back);
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

/// Units of the source that are punctuation at the ends of its words, cut off by markup. Those before a word
/// belong to the punctuation before the first word of the translation that is linked to it, and those after
/// it to that after the last one, or at the end of a segment to that at the end of the translation.
struct Ends {
    /// The number of a word of the translation, and units of the source.
    front: Vec<(usize, Range<usize>)>,
    back: Vec<(usize, Range<usize>)>,
    /// All of these units, which do not belong to the words themselves.
    apart: HashSet<usize>,
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
        let has = |word: usize, mark: &dyn Fn(&str) -> bool| mark(&text[words[word].clone()]);
        let begins = |word: &str| word.starts_with(|c: char| !c.is_alphanumeric());
        let ends_in_mark = |word: &str| word.ends_with(|c: char| !c.is_alphanumeric());
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
            if let Some(first) = first.filter(|&word| !front.is_empty() && has(word, &begins)) {
                ends.front.push((first, front));
            }
            let last = links.iter().rposition(linked).filter(|&word| has(word, &ends_in_mark));
            let is_last = source + 1 == of_source.end;
            let at_end = words.len().checked_sub(1).filter(|&word| is_last && has(word, &ends_in_mark));
            if let Some(last) = last.or(at_end).filter(|_| !back.is_empty()) {
                ends.back.push((last, back));
            }
        }
        let all = ends.front.iter().chain(&ends.back);
        ends.apart = all.flat_map(|(_, units)| units.clone()).collect();
        ends
    }

    /// The units of `ends` that belong to word `number` of the translation.
    fn of(ends: &[(usize, Range<usize>)], number: usize) -> Vec<usize> {
        ends.iter().filter(|(at, _)| *at == number).flat_map(|(_, units)| units.clone()).collect()
    }
}

/// The words of a segment that belong to each word of its translation, ascending.
fn links(
    segment: &Segment,
    translated: &TranslatedSegment,
    src_len: usize,
    tgt_len: usize,
) -> Vec<Vec<usize>> {
    let mut links = vec![Vec::new(); tgt_len];
    let valid = |&&(src, tgt): &&(usize, usize)| src < src_len && tgt < tgt_len;
    if segment.needs_alignment {
        for &(src, tgt) in translated.alignment.iter().filter(valid) {
            links[tgt].push(src);
        }
    }
    if links.iter().all(Vec::is_empty) && tgt_len > 0 {
        for (tgt, links) in links.iter_mut().enumerate() {
            links.push((2 * tgt + 1) * src_len / (2 * tgt_len));
        }
        for src in 0..src_len {
            links[(2 * src + 1) * tgt_len / (2 * src_len)].push(src);
        }
    }
    for links in &mut links {
        links.sort_unstable();
        links.dedup();
    }
    links
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
