//! Whitespace around content that is not translated.

/// True for characters that HTML collapses to one blank.
pub(crate) fn is_space(c: char) -> bool {
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

/// What is next to something visible that is not translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Side {
    /// Nothing: the text begins or ends there.
    #[default]
    Edge,
    Blank,
    /// A letter or digit without a blank between, so that none may come between.
    Word,
    /// Punctuation without a blank between.
    Mark,
    /// Something else that is not translated, without a blank between.
    Kept,
}

/// The two sides of something visible that is not translated, in the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) before: Side,
    pub(super) after: Side,
}

impl Side {
    /// The side at which the character `c` is.
    pub(super) fn of(c: char) -> Self {
        match c {
            c if c.is_alphanumeric() => Self::Word,
            // Such as a no-break space.
            c if c.is_whitespace() => Self::Blank,
            _ => Self::Mark,
        }
    }

    /// Whether a blank is needed before what is kept, if it comes after the character `last`.
    pub(super) fn needs_blank_after(self, last: char) -> bool {
        match self {
            Self::Word | Self::Kept => false,
            Self::Blank => !last.is_whitespace() && !is_opening(last),
            Self::Edge | Self::Mark => last.is_alphanumeric(),
        }
    }

    /// Whether a blank is needed after what is kept, if the character `next` follows.
    pub(super) fn needs_blank_before(self, next: char) -> bool {
        match self {
            Self::Word | Self::Kept => false,
            Self::Blank => !next.is_whitespace() && !is_closing(next),
            Self::Edge | Self::Mark => next.is_alphanumeric(),
        }
    }
}

impl Sides {
    /// True for content that touches what is before it, but not what is after it, such as a footnote's
    /// number.
    pub(super) fn touch_before_alone(self) -> bool {
        matches!(self.before, Side::Word | Side::Mark) && self.after == Side::Blank
    }

    /// True if a blank remains between the characters `last` and `next` when the content between these sides
    /// is removed.
    pub(super) fn leave_blank(self, last: char, next: char) -> bool {
        match (self.before == Side::Blank, self.after == Side::Blank) {
            // A quotation mark belongs to what it touches.
            (true, false) => !is_closing(next) && next != '"',
            (false, true) => !is_opening(last) && last != '"',
            (true, true) => true,
            (false, false) => last.is_alphanumeric() && next.is_alphanumeric(),
        }
    }
}
