//! Plain text, line by line.

use super::divide::pieces;
use super::{Document, Part, Segment};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Divides `source` into lines and, where they are too long, into pieces of them.
pub(super) fn read(source: &str, fits: &dyn Fn(&str) -> bool) -> Document {
    let (mut segments, mut parts) = (Vec::new(), Vec::new());
    let text = source.strip_prefix(BYTE_ORDER_MARK).unwrap_or(source);
    let (mut kept, mut start) = (0, source.len() - text.len());
    for line in text.split_inclusive(is_line_break) {
        for piece in pieces(line, fits) {
            let (from, to) = (start + piece.start, start + piece.end);
            Part::keep(&mut parts, &source[kept..from]);
            parts.push(Part::Plain(segments.len()));
            segments.push(Segment {
                text: source[from..to].to_owned(),
                needs_alignment: false,
            });
            kept = to;
        }
        start += line.len();
    }
    Part::keep(&mut parts, &source[kept..]);
    Document { segments, parts }
}

/// The line breaks of Unicode. CR LF needs no care: between the two is an empty line, which is kept.
fn is_line_break(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}
