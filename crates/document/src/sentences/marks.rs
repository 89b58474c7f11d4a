//! Punctuation marks at the ends of sentences.

use attentive_base::ignorable::is_ignorable;

/// Consecutive punctuation marks.
pub(super) struct PunctuationMark {
    pub(super) kind: PunctuationKind,
    /// The number of bytes of all marks.
    pub(super) len: usize,
    /// True if the last of them is a question mark or an exclamation mark.
    pub(super) asks: bool,
}

/// The strength of the evidence that a sentence ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PunctuationKind {
    /// A full stop, which may belong to an abbreviation or a number.
    Stop,
    Ellipsis,
    /// An exclamation or a question.
    Strong,
    /// A mark that needs no blank after it.
    Wide,
    /// A semicolon, which is a question mark in Greek.
    Greek,
}

impl PunctuationMark {
    /// The marks at the beginning of `text`, of which there is at least one.
    pub(super) fn read(text: &str) -> Self {
        let mut len = 0;
        let (mut stops, mut kind, mut asks) = (0, PunctuationKind::Stop, false);
        for c in text.chars().take_while(|&c| is_end(c)) {
            len += c.len_utf8();
            asks = matches!(c, '!' | '?' | '！' | '？' | '؟' | '‼' | '⁇' | '⁈' | '⁉' | '‽' | '︕' | '︖');
            let stronger = |kind: PunctuationKind, than: &[PunctuationKind]| !than.contains(&kind);
            match c {
                '.' => stops += 1,
                '…' | '‥' if kind == PunctuationKind::Stop => kind = PunctuationKind::Ellipsis,
                '!' | '?' | '‼' | '⁇' | '⁈' | '⁉' | '‽' | '։' if stronger(kind, &[PunctuationKind::Wide]) =>
                {
                    kind = PunctuationKind::Strong;
                }
                ';' | '\u{37e}' if kind == PunctuationKind::Stop => kind = PunctuationKind::Greek,
                _ if is_wide(c) => kind = PunctuationKind::Wide,
                _ => {}
            }
        }
        if kind == PunctuationKind::Stop && stops > 1 {
            kind = PunctuationKind::Ellipsis;
        }
        Self { kind, len, asks }
    }
}

/// True if a sentence may end after `c`.
pub(super) fn is_end(c: char) -> bool {
    matches!(
        c,
        '.' | '!' | '?' | '…' | '‥' | ';' | '\u{37e}' | '‼' | '⁇' | '⁈' | '⁉' | '‽' | '։' // Armenian
    ) || is_wide(c)
}

/// True if a sentence ends after `c` even without a blank: marks of East Asia, of India, and of scripts
/// without capitals.
fn is_wide(c: char) -> bool {
    matches!(
        c,
        '。' | '！' | '？' | '｡' | '︒' | '︕' | '︖' // Chinese, Japanese
            | '।' | '॥' // Devanagari and other scripts of India
            | '؟' | '۔' | '؞' // Arabic, Urdu
            | '܀' | '܁' | '܂' // Syriac
            | '።' | '፧' | '፨' // Ethiopic
            | '။' // Burmese
            | '។' | '៕' // Khmer
            | '᠃' | '᠉' // Mongolian
            | '꓿' | '꘎' | '꘏' | '꛳' | '꛷'
    )
}

/// The number of bytes of the brackets, quotation marks and references that are closed at the beginning of
/// `text`, after `marks`.
pub(super) fn closers(text: &str, marks: &PunctuationMark) -> usize {
    let mut len = 0;
    while let Some(c) = text[len..].chars().next() {
        let rest = &text[len..];
        len += match c {
            _ if is_closing(c, marks.kind) || is_ignorable(c) => c.len_utf8(),
            '[' => match reference(rest) {
                Some(bytes) => bytes,
                None => break,
            },
            ' ' | '\u{a0}' | '\u{202f}' => match spaced_guillemet(rest) {
                Some(bytes) => bytes,
                None => break,
            },
            _ => break,
        };
    }
    // A quotation mark right before a word is an opening one.
    let opens = |c: char| c.is_alphanumeric() && marks.kind != PunctuationKind::Wide;
    if text[len..].starts_with(opens) { 0 } else { len }
}

/// True for marks that close something right after the end of a sentence; elsewhere, some of them open
/// something.
fn is_closing(c: char, after: PunctuationKind) -> bool {
    match c {
        ')' | ']' | '}' | '”' | '’' | '"' | '\'' | '»' | '›' | '*' | '_' => true,
        '」' | '』' | '）' | '］' | '】' | '》' | '〉' | '〕' | '〟' | '｣' | '＂' => true,
        '¹' | '²' | '³' | '\u{2070}'..='\u{2079}' => true,
        '“' | '‘' | '«' | '‹' => after != PunctuationKind::Wide,
        _ => false,
    }
}

/// The number of bytes of a reference such as `[12]`.
fn reference(text: &str) -> Option<usize> {
    const MAX_DIGITS: usize = 3;
    let digits = text[1..].bytes().take_while(u8::is_ascii_digit).count();
    let closed = text[1 + digits..].starts_with(']');
    ((1..=MAX_DIGITS).contains(&digits) && closed).then_some(digits + 2)
}

/// The number of bytes of a blank and the quotation mark after it, which French sets apart from the quoted
/// words.
fn spaced_guillemet(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let len = chars.next()?.len_utf8();
    let mark = chars.next().filter(|c| matches!(c, '»' | '›'))?;
    let word = chars.next().is_some_and(char::is_alphanumeric);
    (!word).then_some(len + mark.len_utf8())
}

/// True for marks before the first word of a sentence.
pub(super) fn is_opening(c: char) -> bool {
    matches!(
        c,
        '(' | '['
            | '{'
            | '"'
            | '\''
            | '“'
            | '”'
            | '„'
            | '‚'
            | '‘'
            | '’'
            | '«'
            | '»'
            | '‹'
            | '›'
            | '¿'
            | '¡'
            | '「'
            | '『'
            | '（'
            | '《'
            | '*'
            | '_'
    )
}

/// True for characters of scripts that are written without blanks.
pub(super) fn is_ideographic(c: char) -> bool {
    matches!(
        c,
        '\u{2e80}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}'
    )
}

/// True if a blank is needed between two sentences, which is not the case if either side is in a script
/// without blanks.
pub(crate) fn needs_blank(before: &str, after: &str) -> bool {
    let (Some(last), Some(first)) = (before.chars().next_back(), after.chars().next()) else {
        return false;
    };
    let needs = |c: char| !c.is_whitespace() && !is_ideographic(c);
    needs(last) && !is_wide(last) && needs(first)
}
