//! Whitespace around content that is not translated.

/// True for characters that HTML collapses to one blank.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// True for punctuation without a blank before it.
pub(super) fn is_closing(c: char) -> bool {
    matches!(
        c,
        ',' | '.' | ';' | ':' | '!' | '?' | '…' | ')' | ']' | '}' | '”' | '’' | '»' | '。' | '，' | '、'
    )
}

/// True for punctuation without a blank after it.
pub(super) fn is_opening(c: char) -> bool {
    matches!(c, '(' | '[' | '{' | '„' | '“' | '‘' | '«' | '¿' | '¡')
}

/// Blanks on the two sides of something visible that is not translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blanks {
    pub(super) before: bool,
    pub(super) after: bool,
}

impl Blanks {
    /// True if a blank remains between the characters `last` and `next` when the content between these blanks
    /// is removed.
    pub(super) fn remain(self, last: char, next: char) -> bool {
        match (self.before, self.after) {
            (true, false) => !is_closing(next),
            (false, true) => !is_opening(last),
            (true, true) => true,
            (false, false) => last.is_alphanumeric() && next.is_alphanumeric(),
        }
    }
}
