//! Division of plain text.

use super::divide::{Piece, flat, pieces};
use super::{Document, Part, Segment, Split};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Divides `source` as `split` says, and divides parts that are too long further.
pub(super) fn read(source: &str, split: Split, fits: &dyn Fn(&str) -> bool) -> Document {
    let (mut segments, mut parts) = (Vec::new(), Vec::new());
    let text = source.strip_prefix(BYTE_ORDER_MARK).unwrap_or(source);
    let (mut kept, start) = (0, source.len() - text.len());
    for Piece { range, touches } in pieces(text, split, fits) {
        let (from, to) = (start + range.start, start + range.end);
        Part::keep(&mut parts, &source[kept..from]);
        parts.push(Part::Plain(segments.len()));
        segments.push(Segment {
            text: flat(&source[from..to]).into_owned(),
            needs_alignment: false,
            touches,
        });
        kept = to;
    }
    Part::keep(&mut parts, &source[kept..]);
    Document { segments, parts }
}
