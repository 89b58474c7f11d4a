//! How text is written into a document.

/// Control characters of C, and the letters that stand for them after a backslash.
pub(crate) const ESCAPES: [(char, char); 7] =
    [('\n', 'n'), ('\r', 'r'), ('\t', 't'), ('\u{7}', 'a'), ('\u{8}', 'b'), ('\u{b}', 'v'), ('\u{c}', 'f')];

/// The format that a text is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SourceFormat {
    /// HTML or XML, in which some characters are written as references.
    #[default]
    Markup,
    Plain,
    /// A string of JSON, without its quotation marks.
    Json,
    /// A string of a PO file, without its quotation marks.
    Po,
    Markdown,
    /// A line of subtitles, which must not be blank or contain an arrow.
    Subtitle,
    /// The same with references, as in WebVTT.
    WebVtt,
}

impl SourceFormat {
    /// True if a blank line ends the text.
    pub(super) fn ends_at_blank_lines(self) -> bool {
        matches!(self, Self::Markdown | Self::Subtitle | Self::WebVtt)
    }

    /// Appends `text`, which follows other text in `out`.
    pub(super) fn write(self, text: &str, out: &mut String) {
        for c in text.chars() {
            self.push(c, out);
        }
    }

    /// True if special characters of placeables are written as those of other text. Elsewhere, placeables are
    /// markup of their own, such as addresses.
    pub(super) fn has_references(self) -> bool {
        matches!(self, Self::Markup | Self::Json | Self::Po | Self::WebVtt)
    }

    /// Text between the parts of a document, with its special characters written as references.
    pub(crate) fn escaped(self, text: &str) -> String {
        if self.has_references() { self.spelled(text) } else { text.to_owned() }
    }

    /// `text` as it is written where nothing stands before it in its line.
    pub(super) fn spelled(self, text: &str) -> String {
        let mut out = String::new();
        self.write(text, &mut out);
        out
    }

    fn push(self, c: char, out: &mut String) {
        match (self, c) {
            (Self::Markup | Self::Markdown | Self::WebVtt, c) if is_forbidden(c) => {}
            (Self::Markdown | Self::Subtitle | Self::WebVtt, '\n' | '\r') => out.push(' '),
            (Self::Markup | Self::WebVtt, '&') => out.push_str("&amp;"),
            (Self::Markup | Self::WebVtt, '<') => out.push_str("&lt;"),
            (Self::Markup | Self::WebVtt, '>') => out.push_str("&gt;"),
            // XML does not know HTML's `&nbsp;`.
            (Self::Markup, '\u{a0}') => out.push_str("&#160;"),
            (Self::Json, '"') => out.push_str("\\\""),
            (Self::Json | Self::Po, '\\') => out.push_str("\\\\"),
            (Self::Json, '\n') => out.push_str("\\n"),
            (Self::Json, '\r') => out.push_str("\\r"),
            (Self::Json, '\t') => out.push_str("\\t"),
            (Self::Json, c) if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            (Self::Po, '"') => out.push_str("\\\""),
            (Self::Po, c) if c.is_ascii_control() => match ESCAPES.iter().find(|(one, _)| *one == c) {
                Some((_, letter)) => out.extend(['\\', *letter]),
                None => out.push_str(&format!("\\{:03o}", u32::from(c))),
            },
            (Self::Markdown, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '|' | '~' | '$') => {
                out.push('\\');
                out.push(c);
            }
            (Self::Markdown, '&') => out.push_str("&amp;"),
            (Self::Markdown, '#' | '>' | '+' | '-' | '=' | ':') if begins_line(out) => {
                out.push('\\');
                out.push(c);
            }
            (Self::Markdown, '.' | ')') if ends_in_number_of_line(out) => {
                out.push('\\');
                out.push(c);
            }
            // An arrow divides times.
            (Self::Subtitle, '>') if out.ends_with("--") => out.push('→'),
            (_, c) => out.push(c),
        }
    }
}

/// The last line of `out`, if it is short.
fn line(out: &str) -> Option<&str> {
    const SHORT: usize = 64;
    let end = &out[out.ceil_char_boundary(out.len().saturating_sub(SHORT))..];
    let line = end.rsplit('\n').next().unwrap_or_default();
    (line.len() < end.len() || end.len() == out.len()).then_some(line)
}

/// True if nothing but blanks is in the last line of `out`.
pub(super) fn begins_line(out: &str) -> bool {
    line(out).is_some_and(|line| line.trim().is_empty())
}

/// True if the last line is a number, which a mark would make the number of a list.
fn ends_in_number_of_line(out: &str) -> bool {
    let line = line(out).unwrap_or_default().trim();
    !line.is_empty() && line.len() < 10 && line.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for characters that documents must not have.
pub(super) fn is_forbidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{7f}'..='\u{9f}')
        || matches!(c, '\u{fffe}' | '\u{ffff}')
}
