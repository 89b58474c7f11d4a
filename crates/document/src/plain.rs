//! Division of plain text.

use std::ops::Range;

use attentive_base::ignorable::without_ignorable;

use super::divide::{Piece, Segmentation, flat, pieces, trim};
use super::markup::{Builder, Form, Run};
use super::placeables::{Kind, Markers, Placeable, find, pair};
use super::{Document, Part, Segment, Split};

/// Stands for each byte of a placeable while sentences are divided, so that none ends within it.
const MASK: char = '\u{1}';

/// A segment and its place in a text.
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) segment: Segment,
    /// Its placeables, if there are any or if the text is not written as plain text.
    pub(super) run: Option<Box<Run>>,
}

/// Divides `source` as `how` says, and divides parts that are too long further.
pub(super) fn read(source: &str, how: Segmentation, fits: &dyn Fn(&str) -> bool) -> Document {
    let (mut segments, mut parts) = (Vec::new(), Vec::new());
    append(source, how, Form::Plain, fits, &mut segments, &mut parts);
    Document { segments, parts }
}

/// Appends the parts of a text that is written in `form`.
pub(super) fn append(
    source: &str,
    how: Segmentation,
    form: Form,
    fits: &dyn Fn(&str) -> bool,
    segments: &mut Vec<Segment>,
    parts: &mut Vec<Part>,
) {
    let mut kept = 0;
    for Found { range, segment, run } in found(source, how, form, fits) {
        Part::keep(parts, &form.escaped(&source[kept..range.start]));
        kept = range.end;
        let number = segments.len();
        segments.push(segment);
        parts.push(match run {
            None => Part::Plain(number),
            Some(run) => Part::Run(Box::new(run.at(number))),
        });
    }
    Part::keep(parts, &form.escaped(&source[kept..]));
}

/// The segments of a text that is written in `form`.
pub(super) fn found(source: &str, how: Segmentation, form: Form, fits: &dyn Fn(&str) -> bool) -> Vec<Found> {
    let placeables = if how.keep_placeables { find(source, Markers::Each) } else { Vec::new() };
    let fits = |text: &str| if text.contains(MASK) { fits(&text.replace(MASK, "")) } else { fits(text) };
    let pieces = pieces(&masked(source, &placeables), how, &fits).into_iter();
    let found = pieces.map(|Piece { range, touches }| {
        let range = without_outer(source, range, &placeables);
        let part = &source[range.clone()];
        let first = placeables.partition_point(|one| one.range.end <= range.start);
        let inside = placeables[first..].iter().take_while(|one| one.range.start < range.end);
        let mut inside: Vec<Placeable> = inside.map(|one| one.within(&range)).collect();
        pair(part, &mut inside);
        if inside.is_empty() && form == Form::Plain {
            let text = without_ignorable(&flat(part)).into_owned();
            return Found { range, segment: Segment { text, needs_alignment: false, touches }, run: None };
        }
        let mut builder = Builder::new(Segmentation { split: Split::Nowhere, ..how }, form);
        builder.divided(part, &inside);
        let (run, segment) = builder.finish_plain();
        Found { range, segment: Segment { touches, ..segment }, run: Some(Box::new(run)) }
    });
    found.collect()
}

/// `range` without the placeables at its ends that blanks separate from the rest.
fn without_outer(source: &str, mut range: Range<usize>, placeables: &[Placeable]) -> Range<usize> {
    let blanks = |text: &str| text.len() - text.trim_start().len();
    for one in placeables.iter().skip(placeables.partition_point(|one| one.range.start < range.start)) {
        let after = blanks(&source[one.range.end..]);
        if one.kind != Kind::Other
            || one.range.start != range.start
            || after == 0
            || one.range.end >= range.end
        {
            break;
        }
        range.start = (one.range.end + after).min(range.end);
    }
    let end = placeables.partition_point(|one| one.range.end <= range.end);
    for one in placeables[..end].iter().rev() {
        let before = source[..one.range.start].trim_end().len();
        let is_apart = before < one.range.start && before > range.start;
        if one.kind != Kind::Other || one.range.end != range.end || !is_apart {
            break;
        }
        range.end = before;
    }
    trim(source, range)
}

/// `source` with [`MASK`] in place of each byte of the placeables.
fn masked(source: &str, placeables: &[Placeable]) -> String {
    let mut masked = String::with_capacity(source.len());
    let mut at = 0;
    for Placeable { range, .. } in placeables {
        masked.push_str(&source[at..range.start]);
        masked.extend(std::iter::repeat_n(MASK, range.len()));
        at = range.end;
    }
    masked.push_str(&source[at..]);
    masked
}
