//! Division of text that is longer than a model reads.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::abbreviations::is_unfinished;

/// The pieces of `text` to translate, in order and without blanks around them: all of it if it fits, else its sentences,
/// each divided further where it does not fit. Only a single character may be left that does not fit.
pub(super) fn pieces(text: &str, fits: &dyn Fn(&str) -> bool) -> Vec<Range<usize>> {
    let whole = trim(text, 0..text.len());
    if whole.is_empty() {
        return Vec::new();
    }
    if fits(&text[whole.clone()]) {
        return vec![whole];
    }
    let mut pieces = Vec::new();
    for sentence in sentences(text, whole) {
        divide(text, sentence, fits, &mut pieces);
    }
    pieces
}

/// The sentences of `text[range]`, without blanks around them.
fn sentences(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut sentences: Vec<Range<usize>> = Vec::new();
    for (at, part) in text[range.clone()].split_sentence_bound_indices() {
        let part = trim(text, range.start + at..range.start + at + part.len());
        match sentences.last_mut() {
            _ if part.is_empty() => {}
            Some(last) if is_unfinished(&text[last.clone()]) => last.end = part.end,
            _ => sentences.push(part),
        }
    }
    sentences
}

/// Halves `text[range]` until all parts fit.
fn divide(
    text: &str,
    range: Range<usize>,
    fits: &dyn Fn(&str) -> bool,
    pieces: &mut Vec<Range<usize>>,
) {
    let mut waiting = vec![range];
    while let Some(range) = waiting.pop() {
        let part = &text[range.clone()];
        let middle = if fits(part) { None } else { break_of(part) };
        match middle {
            None => pieces.push(range),
            Some(middle) => {
                waiting.push(trim(text, range.start + middle..range.end));
                waiting.push(trim(text, range.start..range.start + middle));
            }
        }
    }
}

/// Where to break `text`, which has no blanks around it: as near to its middle as possible, after the punctuation of a
/// clause, else at a blank, else between words that no blank separates, else between characters.
fn break_of(text: &str) -> Option<usize> {
    nearest_to_middle(text, clause_ends(text))
        .or_else(|| nearest_to_middle(text, blanks(text)))
        .or_else(|| nearest_to_middle(text, text.split_word_bound_indices().map(|(at, _)| at)))
        .or_else(|| nearest_to_middle(text, text.grapheme_indices(true).map(|(at, _)| at)))
}

fn nearest_to_middle(text: &str, places: impl Iterator<Item = usize>) -> Option<usize> {
    let inside = places.filter(|at| (1..text.len()).contains(at));
    inside.min_by_key(|at| (2 * at).abs_diff(text.len()))
}

/// The places after commas, colons and the like before a blank; those of Chinese and Japanese need no blank.
fn clause_ends(text: &str) -> impl Iterator<Item = usize> {
    let next = text.chars().skip(1).chain([' ']);
    let ends = text.char_indices().zip(next).filter(|((_, c), next)| {
        let western = matches!(c, ',' | ';' | ':' | '–' | '—' | '،' | '؛' | '।');
        western && next.is_whitespace() || matches!(c, '，' | '、' | '；' | '：')
    });
    ends.map(|((at, c), _)| at + c.len_utf8())
}

fn blanks(text: &str) -> impl Iterator<Item = usize> {
    let blanks = text.char_indices().filter(|(_, c)| c.is_whitespace());
    blanks.map(|(at, _)| at)
}

/// `range` of `text` without the blanks at its ends.
fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.end - part.trim_start().len();
    start..start + part.trim().len()
}
