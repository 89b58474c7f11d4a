//! sacreBLEU's tokenizers for BLEU and TER.
//!
//! Every function returns the line with words separated by spaces; repeated spaces are not significant.

use std::sync::LazyLock;

use regex::Regex;

use super::text;

/// Word segmentation for BLEU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum BleuTokenizer {
    /// `mteval-v13a`, as used at WMT: separates ASCII punctuation except commas and dots in numbers.
    #[default]
    #[serde(rename = "13a")]
    #[cfg_attr(feature = "cli", value(name = "13a"))]
    Mteval13a,
    /// `mteval-v14 --international-tokenization`: separates every Unicode punctuation mark and symbol.
    #[serde(rename = "intl")]
    #[cfg_attr(feature = "cli", value(name = "intl"))]
    International,
    /// For Chinese: each Chinese character is a word, and everything else is split as by `13a`.
    #[serde(rename = "zh")]
    #[cfg_attr(feature = "cli", value(name = "zh"))]
    Chinese,
    /// Each character is a word.
    #[serde(rename = "char")]
    #[cfg_attr(feature = "cli", value(name = "char"))]
    Character,
    /// Words are separated by white space; for text that is already tokenized.
    #[serde(rename = "none")]
    #[cfg_attr(feature = "cli", value(name = "none"))]
    None,
}

impl BleuTokenizer {
    /// Separates the words of the line with spaces.
    pub(super) fn tokenize(self, line: &str) -> String {
        match self {
            Self::Mteval13a => mteval_13a(line),
            Self::International => international(line),
            Self::Chinese => chinese(line),
            Self::Character => surround(line, |_| true),
            Self::None => line.to_owned(),
        }
    }

    /// The value of `tok:` in a signature.
    pub(super) fn signature(self) -> &'static str {
        match self {
            Self::Mteval13a => "13a",
            Self::International => "intl",
            Self::Chinese => "zh",
            Self::Character => "char",
            Self::None => "none",
        }
    }
}

fn mteval_13a(line: &str) -> String {
    let line = line.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    western(&format!(" {} ", unescape(line)))
}

/// Separates ASCII punctuation: the step that `13a` and `zh` share.
fn western(line: &str) -> String {
    split_numbers(&surround(line, is_western_mark))
}

/// `zh`: markup and entities are left unchanged, and a dot or comma at an end of the line is not split off.
fn chinese(line: &str) -> String {
    western(&surround(text::strip(line), is_chinese))
}

fn international(line: &str) -> String {
    static MARK_BEHIND: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\P{N})(\p{P})"));
    static MARK_BEFORE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\p{P})(\P{N})"));
    static SYMBOL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\p{S}"));
    let line = MARK_BEHIND.replace_all(line, "$1 $2 ");
    let line = MARK_BEFORE.replace_all(&line, " $1 $2");
    SYMBOL.replace_all(&line, " $0 ").into_owned()
}

fn pattern(source: &str) -> Regex {
    Regex::new(source).unwrap_or_else(|error| panic!("the pattern `{source}` is not valid: {error}"))
}

/// TER's normalization of Western text.
pub(super) fn tercom_western(line: &str) -> String {
    // Tercom intends to undo hyphenation but looks for the hyphen after the line break.
    let line = line.replace("\n-", "").replace('\n', " ");
    let line = surround(&format!(" {} ", unescape(line)), is_western_mark);
    split_numbers(&line.replace("'s ", " 's "))
}

/// TER's normalization of Chinese and Japanese text, after [`tercom_western`]: each such character becomes a
/// word.
///
/// Kana are not split: sacreBLEU's rules for them require a line that starts with kana, but a normalized line
/// starts with a space.
pub(super) fn tercom_asian(line: &str) -> String {
    surround(line, |c| is_ideograph(c) || is_asian_mark(c))
}

/// Removes the ASCII punctuation marks known to TER.
pub(super) fn without_western_marks(line: &str) -> String {
    line.replace(['.', ',', '?', ':', ';', '!', '"', '(', ')'], "")
}

/// Removes the ideographic and full-width punctuation marks known to TER.
pub(super) fn without_asian_marks(line: &str) -> String {
    line.replace(is_asian_mark, "")
}

/// Resolves the four XML entities one after the other: `&amp;lt;` becomes `<`.
fn unescape(line: String) -> String {
    if !line.contains('&') {
        return line;
    }
    line.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
}

/// Separates dots and commas except between digits, and a dash after a digit.
fn split_numbers(line: &str) -> String {
    let is_point = |c| matches!(c, '.' | ',');
    let is_digit = |c: char| c.is_ascii_digit();
    let second_apart = |first, second| [first, ' ', second, ' '];
    let first_apart = |first, second| [' ', first, ' ', second];
    let line = rewrite_pairs(line, |a, b| !is_digit(a) && is_point(b), second_apart);
    let line = rewrite_pairs(&line, |a, b| is_point(a) && !is_digit(b), first_apart);
    rewrite_pairs(&line, |a, b| is_digit(a) && b == '-', second_apart)
}

/// Surrounds the characters that satisfy `special` with spaces.
fn surround(line: &str, special: impl Fn(char) -> bool) -> String {
    let mut spaced = String::with_capacity(2 * line.len());
    for c in line.chars() {
        if special(c) {
            spaced.extend([' ', c, ' ']);
        } else {
            spaced.push(c);
        }
    }
    spaced
}

/// Replaces adjacent pairs that satisfy `wanted`, from left to right and without overlaps.
fn rewrite_pairs(
    line: &str,
    wanted: impl Fn(char, char) -> bool,
    replacement: impl Fn(char, char) -> [char; 4],
) -> String {
    let mut rewritten = String::with_capacity(2 * line.len());
    let mut chars = line.chars().peekable();
    while let Some(first) = chars.next() {
        match chars.next_if(|&second| wanted(first, second)) {
            Some(second) => rewritten.extend(replacement(first, second)),
            None => rewritten.push(first),
        }
    }
    rewritten
}

/// ASCII punctuation and symbols except `'`, `,`, `-` and `.`.
fn is_western_mark(c: char) -> bool {
    c.is_ascii_punctuation() && !matches!(c, '\'' | ',' | '-' | '.')
}

/// The characters that sacreBLEU's `zh` separates: ideographs, full-width forms and East Asian marks. U+2001
/// to U+2A6D (typographic marks, currencies, arrows, mathematical signs and others) are among them, and
/// ideographs above U+FFFF are not, since the script writes these as `\u20000` to `\u2a6d6` and so on, which
/// Python reads as four digits and a fifth character.
fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{2001}'..='\u{2a6d}' | '\u{2e80}'..='\u{2fdf}' | '\u{2ff0}'..='\u{303f}' | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31bf}' | '\u{31c0}'..='\u{31ef}' | '\u{3200}'..='\u{33ff}' | '\u{3400}'..='\u{4db5}'
        | '\u{4e00}'..='\u{9fbb}' | '\u{f900}'..='\u{fa2d}' | '\u{fa30}'..='\u{fa6a}' | '\u{fa70}'..='\u{fad9}'
        | '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}')
}

/// The Unicode blocks whose characters TER treats as words: radicals, strokes, enclosed and compatibility
/// forms, extension A, unified ideographs.
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2eff}' | '\u{31c0}'..='\u{31ef}' | '\u{3200}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}')
}

/// Ideographic, half-width and full-width punctuation.
fn is_asian_mark(c: char) -> bool {
    matches!(c,
        '\u{3001}' | '\u{3002}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{30fb}' | '\u{ff61}'..='\u{ff65}'
        | '．' | '，' | '？' | '：' | '；' | '！' | '＂' | '（' | '）')
}
