//! Division of plain text.

use std::ops::Range;

use attentive_base::ignorable::without_ignorable;

use super::markup::{Builder, SourceFormat, TextRun};
use super::placeables::{Markers, Placeable, PlaceableKind, find, forms, pair, tag};
use super::segmentation::{Segmentation, TextPiece, flat, pieces, trim};
use super::{Document, Part, Segment, Split, html};

/// Stands for each byte of a placeable that is no tag while sentences are divided, so that none ends within
/// it.
const MASK: char = '\u{1}';

/// A segment and its place in a text.
pub(super) struct LocatedSegment {
    pub(super) range: Range<usize>,
    pub(super) segment: Segment,
    /// Its placeables, if there are any or if the text is not written as plain text.
    pub(super) run: Option<Box<TextRun>>,
}

/// Divides `source` as `how` says, and divides parts that are too long further.
pub(super) fn read(source: &str, how: Segmentation, fits: &dyn Fn(&str) -> bool) -> Document {
    let (mut segments, mut parts) = (Vec::new(), Vec::new());
    append(source, how, SourceFormat::Plain, fits, &mut segments, &mut parts);
    Document { segments, parts }
}

/// Appends the parts of a text that is written in `format`.
pub(super) fn append(
    source: &str,
    how: Segmentation,
    format: SourceFormat,
    fits: &dyn Fn(&str) -> bool,
    segments: &mut Vec<Segment>,
    parts: &mut Vec<Part>,
) {
    let nesting = Nesting { depth: 0, markers: Markers::Each };
    append_at(nesting, source, how, format, fits, segments, parts);
}

/// The depth of messages in forms of others, whose forms are no longer translated.
const MAX_NESTED_FORMS: usize = 8;

/// The place of a text among the forms of messages.
#[derive(Clone, Copy)]
struct Nesting {
    /// The number of messages of whose forms it is a part.
    depth: usize,
    /// The markers of lists that are looked for in it.
    markers: Markers,
}

fn append_at(
    Nesting { depth, markers }: Nesting,
    source: &str,
    how: Segmentation,
    format: SourceFormat,
    fits: &dyn Fn(&str) -> bool,
    segments: &mut Vec<Segment>,
    parts: &mut Vec<Part>,
) {
    if how.keep_placeables && depth < MAX_NESTED_FORMS {
        let (forms, markers) = forms(source);
        if !forms.is_empty() {
            let mut kept = 0;
            for Range { start, end } in forms {
                Part::keep(parts, &format.escaped(&source[kept..start]));
                append_at(
                    Nesting { depth: depth + 1, markers },
                    &source[start..end],
                    how,
                    format,
                    fits,
                    segments,
                    parts,
                );
                kept = end;
            }
            return Part::keep(parts, &format.escaped(&source[kept..]));
        }
    }
    let mut kept = 0;
    for LocatedSegment { range, segment, run } in find_segments(source, markers, how, format, fits) {
        Part::keep(parts, &format.escaped(&source[kept..range.start]));
        kept = range.end;
        let number = segments.len();
        segments.push(segment);
        parts.push(match run {
            None => Part::Plain(number),
            Some(run) => Part::Run(Box::new(run.at(number))),
        });
    }
    Part::keep(parts, &format.escaped(&source[kept..]));
}

/// The segments of a text that is written in `format`.
pub(super) fn find_segments(
    source: &str,
    markers: Markers,
    how: Segmentation,
    format: SourceFormat,
    fits: &dyn Fn(&str) -> bool,
) -> Vec<LocatedSegment> {
    let placeables = if how.keep_placeables { find(source, markers) } else { Vec::new() };
    let fits = |text: &str| if text.contains(MASK) { fits(&text.replace(MASK, "")) } else { fits(text) };
    let bare = Bare::new(source, &placeables);
    let pieces = pieces(&bare.text, &bare.seams, how, &fits).into_iter();
    let found = pieces.map(|TextPiece { range, touches }| {
        let range = without_outer(source, bare.in_source(source, range, &placeables), &placeables);
        let part = &source[range.clone()];
        let first = placeables.partition_point(|one| one.range.end <= range.start);
        let inside = placeables[first..].iter().take_while(|one| one.range.start < range.end);
        let mut inside: Vec<Placeable> = inside.map(|one| one.within(&range)).collect();
        pair(part, &mut inside);
        if inside.is_empty() && format == SourceFormat::Plain {
            let text = without_ignorable(&flat(part)).into_owned();
            return LocatedSegment {
                range,
                segment: Segment { text, needs_alignment: false, touches },
                run: None,
            };
        }
        let mut builder = Builder::new(Segmentation { split: Split::Nowhere, ..how }, format);
        builder.divided(part, &inside);
        let (run, segment) = builder.finish_plain();
        LocatedSegment { range, segment: Segment { touches, ..segment }, run: Some(Box::new(run)) }
    });
    found.collect()
}

/// `range` without the placeables at its ends that blanks separate from the rest.
fn without_outer(source: &str, mut range: Range<usize>, placeables: &[Placeable]) -> Range<usize> {
    let blanks = |text: &str| text.len() - text.trim_start().len();
    for one in placeables.iter().skip(placeables.partition_point(|one| one.range.start < range.start)) {
        let after = blanks(&source[one.range.end..]);
        if one.kind != PlaceableKind::Other
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
        if one.kind != PlaceableKind::Other || one.range.end != range.end || !is_apart {
            break;
        }
        range.end = before;
    }
    trim(source, range)
}

/// A text as its sentences are read: without inline tags, with line breaks in place of tags of blocks, and
/// with [`MASK`] in place of other placeables.
struct Bare {
    text: String,
    /// The places at which tags were between two other characters.
    seams: Vec<usize>,
    /// The place of each tag in the text, and its bytes in the source.
    tags: Vec<(usize, Range<usize>)>,
}

impl Bare {
    fn new(source: &str, placeables: &[Placeable]) -> Self {
        let mut bare =
            Self { text: String::with_capacity(source.len()), seams: Vec::new(), tags: Vec::new() };
        let mut at = 0;
        for Placeable { range, kind } in placeables {
            bare.text.push_str(&source[at..range.start]);
            at = range.end;
            let mask = match tag(&source[range.clone()]) {
                None => MASK,
                Some(tag) if html::ends_text(tag.name, *kind != PlaceableKind::Other) => '\n',
                Some(_) => {
                    bare.seams.push(bare.text.len());
                    bare.tags.push((bare.text.len(), range.clone()));
                    continue;
                }
            };
            bare.text.extend(std::iter::repeat_n(mask, range.len()));
        }
        bare.text.push_str(&source[at..]);
        let text = &bare.text;
        let is_inside = |at: usize| {
            text[..at].ends_with(|c: char| !c.is_whitespace())
                && text[at..].starts_with(|c: char| !c.is_whitespace())
        };
        bare.seams.dedup();
        bare.seams.retain(|&at| is_inside(at));
        bare
    }

    /// The bytes of the source that belong to `text[range]`, with the start tags before them and the end tags
    /// after them.
    fn in_source(&self, source: &str, range: Range<usize>, placeables: &[Placeable]) -> Range<usize> {
        let before = self.tags.partition_point(|(at, _)| *at <= range.start);
        let inside = self.tags.partition_point(|(at, _)| *at < range.end);
        let is_end = |tag: &Range<usize>| source[tag.start..].starts_with("</");
        // The number of bytes of all tags up to one.
        let moved = |tags: &[(usize, Range<usize>)]| tags.last().map_or(0, |(at, tag)| tag.end - at);
        // A text that is too long is not cut within a placeable.
        let outside = |at: usize| {
            let next = placeables.partition_point(|one| one.range.end <= at);
            placeables.get(next).filter(|one| one.range.start < at).map_or(at, |one| one.range.end)
        };
        let mut start = outside(range.start + moved(&self.tags[..before]));
        for (_, tag) in self.tags[..before].iter().rev() {
            if tag.end != start || is_end(tag) {
                break;
            }
            start = tag.start;
        }
        let mut end = outside(range.end + moved(&self.tags[..inside]));
        for (_, tag) in &self.tags[inside..] {
            if tag.start != end || !is_end(tag) {
                break;
            }
            end = tag.end;
        }
        start..end
    }
}
