//! Whitespace around content that is not translated, and punctuation.

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

/// True for quotation marks, each of which opens in one language and closes in another.
pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '”' | '„' | '‘' | '’' | '‚' | '«' | '»' | '‹' | '›')
}

/// Brackets that open, and those that close what they open.
pub(super) const BRACKETS: [(char, char); 10] = [
    ('(', ')'),
    ('[', ']'),
    ('{', '}'),
    ('<', '>'),
    ('（', '）'),
    ('「', '」'),
    ('『', '』'),
    ('【', '】'),
    ('《', '》'),
    ('〈', '〉'),
];

/// True for a mark that begins a pair of brackets or quotation marks after `text`, or after a blank.
pub(super) fn begins_pair(c: char, text: &str, blank: bool) -> bool {
    // Not an apostrophe, nor the end of another quotation.
    let is_end = |last: char| last.is_alphanumeric() || is_closing(last) || is_quote(last);
    let begins = blank || !text.ends_with(is_end);
    BRACKETS.iter().any(|(open, _)| *open == c) || is_quote(c) && begins
}

/// True if `closing` ends the pair that `opening` begins.
pub(super) fn ends_pair(opening: char, closing: char) -> bool {
    BRACKETS.contains(&(opening, closing)) || is_quote(opening) && is_quote(closing)
}

/// What is next to something visible that is not translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Neighbor {
    /// Nothing: the text begins or ends there.
    #[default]
    Edge,
    Blank,
    /// A letter or digit without a blank between, so that none may come between.
    Word,
    /// This punctuation, without a blank between.
    Mark(char),
    /// Something else that is not translated, without a blank between.
    Kept,
}

/// The two neighbors of something visible that is not translated, in the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Neighbors {
    pub(super) before: Neighbor,
    pub(super) after: Neighbor,
}

/// True if one language writes `a` where another one writes `b`.
fn is_like(a: char, b: char) -> bool {
    let both = |is: fn(char) -> bool| is(a) && is(b);
    a == b || both(is_quote) || both(is_opening) || both(is_closing)
}

impl Neighbor {
    /// The side at which the character `c` is.
    pub(super) fn of(c: char) -> Self {
        match c {
            c if c.is_alphanumeric() => Self::Word,
            // Such as a no-break space.
            c if c.is_whitespace() => Self::Blank,
            c => Self::Mark(c),
        }
    }

    /// Whether a blank is needed before what is kept, if it comes after the character `last`.
    pub(super) fn needs_blank_after(self, last: char) -> bool {
        match self {
            Self::Word | Self::Kept => false,
            Self::Blank => !last.is_whitespace() && !is_opening(last),
            Self::Mark(mark) if is_like(mark, last) => false,
            Self::Edge | Self::Mark(_) => last.is_alphanumeric() || is_closing(last) && !is_opening(last),
        }
    }

    /// Whether a blank is needed after what is kept, if the character `next` follows.
    pub(super) fn needs_blank_before(self, next: char) -> bool {
        match self {
            Self::Word | Self::Kept => false,
            Self::Blank => !next.is_whitespace() && !is_closing(next),
            Self::Mark(mark) if is_like(mark, next) => false,
            Self::Edge | Self::Mark(_) => next.is_alphanumeric() || is_opening(next) && !is_closing(next),
        }
    }
}

impl Neighbors {
    /// True for content that touches what is before it, but not what is after it, such as a footnote's
    /// number.
    pub(super) fn touch_before_alone(self) -> bool {
        matches!(self.before, Neighbor::Word | Neighbor::Mark(_)) && self.after == Neighbor::Blank
    }

    /// True if a blank remains between the characters `last` and `next` when the content between these
    /// is removed.
    pub(super) fn leave_blank(self, last: char, next: char) -> bool {
        match (self.before == Neighbor::Blank, self.after == Neighbor::Blank) {
            // A quotation mark belongs to what it touches.
            (true, false) => !is_closing(next) && next != '"',
            (false, true) => !is_opening(last) && last != '"',
            (true, true) => true,
            (false, false) => last.is_alphanumeric() && next.is_alphanumeric(),
        }
    }
}
