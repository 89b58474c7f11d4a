//! Subtitles: SubRip and WebVTT.

use std::ops::Range;

use attentive_base::error::Result;

use super::{broken, lines};
use crate::markup::{Collector, SourceFormat};
use crate::tags::{Tag, pairs};
use crate::{Document, Segmentation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubtitleFormat {
    Srt,
    WebVtt,
}

/// Divides the texts of the subtitles. A sentence may go on in the next line of a subtitle, but not in the
/// next subtitle.
pub(super) fn read(
    source: &str,
    subtitles: SubtitleFormat,
    how: Segmentation,
    fits: &dyn Fn(&str) -> bool,
) -> Result<Document> {
    let format = match subtitles {
        SubtitleFormat::Srt => SourceFormat::Subtitle,
        SubtitleFormat::WebVtt => SourceFormat::WebVtt,
    };
    let lines: Vec<(usize, &str)> = lines(source).collect();
    if subtitles == SubtitleFormat::WebVtt && !source.trim_start_matches('\u{feff}').starts_with("WEBVTT") {
        return Err(broken("WebVTT", None, "it does not begin with `WEBVTT`"));
    }
    if subtitles == SubtitleFormat::Srt
        && !source.trim().is_empty()
        && !lines.iter().any(|(_, line)| has_times(line))
    {
        return Err(broken("SubRip", None, "no line has times, such as 00:00:01,000 --> 00:00:02,000"));
    }
    let mut reader = Reader { subtitles, tags: 0, collector: Collector::new(source, how, format, fits) };
    let goes_on = texts_after(&lines);
    let (mut in_text, mut in_note, mut begun) = (false, false, false);
    for (number, &(at, line)) in lines.iter().enumerate() {
        let text = line.trim_end_matches(['\n', '\r']);
        let whole = at..at + line.len();
        let next = &lines[number + 1..];
        if text.trim().is_empty() {
            // SubRip's texts may have blank lines.
            let goes_on = in_text && subtitles == SubtitleFormat::Srt && goes_on[number];
            (in_text, in_note, begun) = (goes_on, false, false);
            reader.collector.boundary(whole)?;
        } else if in_text && !is_head(text, next) {
            reader.line(source, at..at + text.len(), begun, at + line.len())?;
            begun = true;
        } else {
            let is_note = |name: &str| text == name || text.starts_with(&format!("{name} "));
            in_note |=
                subtitles == SubtitleFormat::WebVtt && ["NOTE", "STYLE", "REGION"].into_iter().any(is_note);
            (in_text, begun) = (!in_note && has_times(text), false);
            reader.collector.boundary(whole)?;
        }
    }
    reader.collector.finish()
}

/// True for the line with the times of a subtitle.
fn has_times(line: &str) -> bool {
    let Some((start, end)) = line.split_once("-->") else { return false };
    let is_time = |text: &str| text.trim().starts_with(|c: char| c.is_ascii_digit()) && text.contains(':');
    is_time(start) && is_time(end)
}

/// True for a line that begins a subtitle, before the lines `next`: its number or its times.
fn is_head(line: &str, next: &[(usize, &str)]) -> bool {
    let is_number = line.trim().bytes().all(|byte| byte.is_ascii_digit());
    has_times(line) || is_number && next.first().is_some_and(|(_, next)| has_times(next))
}

/// For each of `lines`, whether the first line from there on that is not blank goes on with a text.
fn texts_after(lines: &[(usize, &str)]) -> Vec<bool> {
    let mut after = vec![false; lines.len()];
    let mut next = false;
    for (number, (_, line)) in lines.iter().enumerate().rev() {
        if !line.trim().is_empty() {
            next = !is_head(line, &lines[number + 1..]);
        }
        after[number] = next;
    }
    after
}

struct Reader<'a> {
    subtitles: SubtitleFormat,
    /// The number of tags so far.
    tags: usize,
    collector: Collector<'a>,
}

impl Reader<'_> {
    /// Takes the line `range` of a subtitle, whose line break ends at `end`.
    fn line(&mut self, source: &str, range: Range<usize>, begun: bool, end: usize) -> Result<()> {
        let line = &source[range.clone()];
        if begun && line.trim_start().starts_with(['-', '–', '—', '♪', '♫']) {
            // Another person's words, or the next line of a song.
            self.collector.end_run()?;
        }
        let tags = tags(line, self.subtitles);
        let pairs = pairs(tags.iter().map(|tag| Tag::read(&line[tag.clone()])));
        let first = self.tags;
        self.tags += tags.len();
        let mut at = 0;
        for (number, tag) in tags.iter().enumerate() {
            if tag.start < at {
                continue;
            }
            self.text(&line[at..tag.start], range.start + at);
            at = tag.end;
            let place = range.start + tag.start..range.start + tag.end;
            let run = &mut self.collector.run;
            // How words are read is not read itself.
            let reads = Tag::read(&line[tag.clone()]).is_some_and(|tag| tag.is("rt"));
            match pairs[number] {
                Some(other) if other > number && reads => {
                    at = tags[other].end;
                    run.hidden(place.start..range.start + at);
                }
                Some(other) if other > number => run.open(place, first + number, Some(first + other)),
                Some(other) => run.close(place, first + number, Some(first + other)),
                None => run.hidden(place),
            }
        }
        self.text(&line[at..], range.start + at);
        if end > range.end {
            self.collector.run.line_break(range.end..end);
        }
        if line.trim_end().ends_with(['♪', '♫']) {
            self.collector.end_run()?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str, at: usize) {
        if !text.is_empty() {
            let read = if self.subtitles == SubtitleFormat::WebVtt { decoded(text) } else { text.to_owned() };
            self.collector.run.text(&read, at..at + text.len());
        }
    }
}

/// The tags of a line: elements, and in SubRip styles in braces.
fn tags(line: &str, subtitles: SubtitleFormat) -> Vec<Range<usize>> {
    /// The maximum number of bytes of a tag.
    const MAX_TAG_BYTES: usize = 256;
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = line[at..].find(['<', '{']).map(|start| at + start) {
        let rest = &line[start..];
        let rest = &rest[..rest.floor_char_boundary(MAX_TAG_BYTES)];
        let close = if rest.starts_with('<') { '>' } else { '}' };
        let end = rest.find(close).map(|end| start + end + 1);
        let is_tag = |inside: &str| match subtitles {
            _ if close == '}' => subtitles == SubtitleFormat::Srt && inside.starts_with('\\'),
            SubtitleFormat::WebVtt => true,
            SubtitleFormat::Srt => {
                let name = inside.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
                ["i", "b", "u", "s", "font"].iter().any(|one| name.eq_ignore_ascii_case(one))
            }
        };
        at = match end {
            Some(end) if is_tag(&line[start + 1..end - 1]) => {
                found.push(start..end);
                end
            }
            _ => start + 1,
        };
    }
    found
}

/// WebVTT's text with characters in place of its references.
fn decoded(text: &str) -> String {
    let mut text = text.to_owned();
    for (reference, c) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", "\u{a0}"),
        ("&lrm;", "\u{200e}"),
        ("&rlm;", "\u{200f}"),
        ("&amp;", "&"),
    ] {
        text = text.replace(reference, c);
    }
    text
}
