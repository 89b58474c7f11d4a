//! Division of a text into the pieces that are translated.

use std::borrow::Cow;
use std::ops::Range;

use attentive_base::ignorable::is_ignorable;
use unicode_segmentation::UnicodeSegmentation;

use super::sentences::{needs_blank, sentences};

/// The places at which a text is divided into segments.
///
/// With any choice, text that a model cannot read at once is divided into sentences, then at the punctuation
/// of clauses, then at blanks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Nowhere. Line breaks count as blanks.
    Nowhere,
    /// After each line.
    Lines,
    /// After each sentence and each line.
    #[default]
    Sentences,
    /// After each sentence and each paragraph, which a blank line ends. Other line breaks count as blanks.
    Paragraphs,
}

/// How a text is divided into segments, and what of it is left out.
///
/// ```
/// use attentive_document::{Document, Segmentation, Split};
///
/// let source = "1. Hello {name}!\n10:30";
/// let texts = |how| Document::text(source, how, |_| true).segments().iter().map(|one| one.text.clone()).collect();
/// let found: Vec<String> = texts(Segmentation::from(Split::Lines));
/// assert_eq!(found, ["Hello!"]);
/// let how = Segmentation { split: Split::Lines, keep_placeables: false, keep_numbers: false };
/// let found: Vec<String> = texts(how);
/// assert_eq!(found, ["1. Hello {name}!", "10:30"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// The places at which it is divided.
    pub split: Split,
    /// True if [placeables](crate::placeables) are kept as they are, and placed by alignment; otherwise, a
    /// model reads them.
    pub keep_placeables: bool,
    /// True if a text without letters, such as `10:30`, is kept as it is.
    pub keep_numbers: bool,
}

impl Default for Segmentation {
    fn default() -> Self {
        Self { split: Split::default(), keep_placeables: true, keep_numbers: true }
    }
}

impl From<Split> for Segmentation {
    fn from(split: Split) -> Self {
        Self { split, ..Self::default() }
    }
}

impl Segmentation {
    /// True if `text` has anything to translate.
    pub(super) fn has_words(self, text: &str) -> bool {
        text.contains(|c: char| c.is_alphabetic() && !is_ignorable(c) || !self.keep_numbers && c.is_numeric())
    }
}

/// A piece of a text.
pub(super) struct TextPiece {
    /// The bytes of the piece, without blanks around them.
    pub(super) range: Range<usize>,
    /// True if it begins a sentence right after another one, and the language needs no blank between them.
    pub(super) touches: bool,
}

/// The pieces of `text` to translate, in order: the parts given by `how`, each divided further if it does
/// not fit. A piece that does not fit has a single character. Sentences may also end at the places `seams`,
/// ascending, where the text has markup instead of blanks.
pub(super) fn pieces(
    text: &str,
    seams: &[usize],
    how: Segmentation,
    fits: &dyn Fn(&str) -> bool,
) -> Vec<TextPiece> {
    let mut pieces = Vec::new();
    for paragraph in paragraphs(text, how.split) {
        let paragraph = with_words(text, paragraph, how);
        let whole = matches!(how.split, Split::Nowhere | Split::Lines);
        let found = if whole && fits(&flat(&text[paragraph.clone()])) {
            vec![paragraph]
        } else {
            sentences_at(text, paragraph, seams)
        };
        let mut end = None;
        for sentence in found {
            let sentence = with_words(text, sentence, how);
            let touches =
                end == Some(sentence.start) && !needs_blank(&text[..sentence.start], &text[sentence.start..]);
            end = (!sentence.is_empty()).then_some(sentence.end);
            divide(text, sentence, touches, how, fits, &mut pieces);
        }
    }
    pieces
}

/// The sentences of `text[paragraph]`. They are those of the text with a blank at each of the `seams`.
fn sentences_at(text: &str, paragraph: Range<usize>, seams: &[usize]) -> Vec<Range<usize>> {
    let first = seams.partition_point(|&seam| seam <= paragraph.start);
    let end = seams.partition_point(|&seam| seam < paragraph.end);
    let is_end = |&&seam: &&usize| text[..seam].ends_with(|c: char| !c.is_alphanumeric());
    let seams: Vec<usize> = seams[first..end.max(first)].iter().filter(is_end).copied().collect();
    let mut spaced = String::with_capacity(paragraph.len() + seams.len());
    let mut from = paragraph.start;
    for &seam in &seams {
        spaced.push_str(&text[from..seam]);
        spaced.push(' ');
        from = seam;
    }
    spaced.push_str(&text[from..paragraph.end]);
    // The number of blanks before a place is that of the seams before it, each of which has moved what
    // follows.
    let moved: Vec<usize> =
        seams.iter().enumerate().map(|(number, seam)| seam - paragraph.start + number).collect();
    let back = |at: usize| paragraph.start + at - moved.partition_point(|&blank| blank < at);
    sentences(&spaced).into_iter().map(|range| back(range.start)..back(range.end)).collect()
}

/// `text` without line breaks: each becomes one blank, with the blanks around it.
pub(super) fn flat(text: &str) -> Cow<'_, str> {
    if !text.contains(is_line_break) {
        return text.into();
    }
    let mut lines = text.split(is_line_break).map(str::trim);
    let mut flat = lines.next().unwrap_or_default().to_owned();
    for line in lines.filter(|line| !line.is_empty()) {
        flat.push(' ');
        flat.push_str(line);
    }
    flat.into()
}

/// The parts of `text` between which sentences always end, without blanks around them and without empty
/// parts.
fn paragraphs(text: &str, split: Split) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut at, mut ended) = (0, true);
    for line in text.split_inclusive(is_line_break) {
        let range = trim(text, at..at + line.len());
        at += line.len();
        // An apparently empty line within "\r\n" does not count.
        let is_empty = range.is_empty() && !(line == "\n" && text[..at - 1].ends_with('\r'));
        let joins = match split {
            Split::Nowhere => true,
            Split::Lines | Split::Sentences => false,
            Split::Paragraphs => !ended,
        };
        match found.last_mut() {
            _ if range.is_empty() => ended |= is_empty,
            Some(last) if joins => last.end = range.end,
            _ => {
                found.push(range);
                ended = false;
            }
        }
    }
    found
}

/// The line breaks of Unicode.
fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Halves `text[range]` until all parts fit.
fn divide(
    text: &str,
    range: Range<usize>,
    touches: bool,
    how: Segmentation,
    fits: &dyn Fn(&str) -> bool,
    pieces: &mut Vec<TextPiece>,
) {
    let first = range.start;
    let mut waiting = vec![range];
    waiting.retain(|range| !range.is_empty());
    while let Some(range) = waiting.pop() {
        let part = &text[range.clone()];
        let middle = if fits(&flat(part)) { None } else { break_of(part) };
        match middle {
            None if !how.has_words(part) => {}
            None => {
                let follows = |last: &TextPiece| last.range.end == range.start;
                let touches = touches && range.start == first && pieces.last().is_some_and(follows);
                pieces.push(TextPiece { touches, range });
            }
            Some(middle) => {
                let halves = [range.start + middle..range.end, range.start..range.start + middle];
                waiting
                    .extend(halves.map(|half| trim(text, half)).into_iter().filter(|half| !half.is_empty()));
            }
        }
    }
}

/// The place at which to break `text`, which has no blanks around it: as near to its middle as possible,
/// after the punctuation of a clause, otherwise at a blank, otherwise between words without a blank,
/// otherwise between characters.
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

/// The places after commas, colons and the like that a blank follows. Those of Chinese and Japanese need no
/// blank.
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

/// `range` of `text` without the emoji and blanks at its ends, which stay as they are; empty if nothing to
/// translate is left.
fn with_words(text: &str, range: Range<usize>, how: Segmentation) -> Range<usize> {
    let part = &text[range.clone()];
    if !how.has_words(part) {
        return range.start..range.start;
    }
    let kept = |c: char| c.is_whitespace() || is_picture(c) || is_ignorable(c);
    let start = range.end - part.trim_start_matches(kept).len();
    start..start + part.trim_matches(kept).len()
}

/// Emoji and the like, which few vocabularies have.
fn is_picture(c: char) -> bool {
    matches!(
        c,
        '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{fe0f}' | '\u{200d}'
            | '\u{20e3}' | '\u{e0020}'..='\u{e007f}'
    )
}

/// `range` of `text` without the blanks at its ends, and characters that mean nothing there.
pub(super) fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let is_blank = |c: char| c.is_whitespace() || is_ignorable(c);
    let part = &text[range.clone()];
    let start = range.end - part.trim_start_matches(is_blank).len();
    start..start + part.trim_matches(is_blank).len()
}
