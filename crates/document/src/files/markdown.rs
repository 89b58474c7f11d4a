//! Markdown.

use std::ops::Range;

use attentive_base::error::Result;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::markup::{Collector, SourceFormat};
use crate::tags::{Pairs, Tag as HtmlTag};
use crate::{Document, Segmentation, html};

/// Divides the texts of paragraphs, headings, items and cells. Code, addresses, images and formulas are kept.
pub(super) fn read(source: &str, how: Segmentation, fits: &dyn Fn(&str) -> bool) -> Result<Document> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_MATH;
    let events: Vec<_> = Parser::new_ext(source, options).into_offset_iter().collect();
    let mut reader = Reader {
        source,
        events: &events,
        tags: pairs_of_tags(&events),
        how,
        fits,
        at: 0,
        in_text: false,
        open: Vec::new(),
        collector: Collector::new(source, how, SourceFormat::Markdown, fits),
    };
    let mut next = 0;
    while next < events.len() {
        next = reader.take(next)?;
    }
    reader.block()?;
    reader.collector.boundary(reader.at..source.len())?;
    reader.collector.finish()
}

type Located<'a> = (Event<'a>, Range<usize>);

struct Reader<'a> {
    source: &'a str,
    events: &'a [Located<'a>],
    /// For each event that is an HTML tag, the number of its counterpart.
    tags: Vec<Option<usize>>,
    how: Segmentation,
    fits: &'a dyn Fn(&str) -> bool,
    /// The end of what was read.
    at: usize,
    /// True within a text.
    in_text: bool,
    /// The inline elements that are open, by the numbers of their first events.
    open: Vec<usize>,
    collector: Collector<'a>,
}

impl Reader<'_> {
    /// Reads event `number`, and returns the number of the next one.
    fn take(&mut self, number: usize) -> Result<usize> {
        let (event, range) = &self.events[number];
        let range = range.clone();
        match event {
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough) => {
                self.begin(range.start)?;
                let width = self.width(number);
                self.open_element(number, range.start..range.start + width);
            }
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) => {
                if let Some(start) = self.open.pop() {
                    let width = self.width(start);
                    self.close_element(number, start, range.end - width..range.end);
                }
            }
            Event::Start(Tag::Link { link_type, .. }) => {
                self.begin(range.start)?;
                let end = self.end_of(number);
                if end == number + 1 || matches!(link_type, LinkType::Autolink | LinkType::Email) {
                    self.visible(range);
                    return Ok(end + 1);
                }
                self.open_element(number, range.start..range.start + 1);
            }
            Event::End(TagEnd::Link) => {
                if let Some(start) = self.open.pop() {
                    self.end_link(number, start, range);
                }
            }
            Event::Start(Tag::Image { .. }) => {
                self.begin(range.start)?;
                self.visible(range);
                return Ok(self.end_of(number) + 1);
            }
            Event::Start(Tag::HtmlBlock) => {
                self.block()?;
                self.collector.boundary(self.at..range.start)?;
                let inside = html::read(&self.source[range.clone()], self.how, self.fits)?;
                self.collector.append(inside)?;
                self.at = range.end;
                return Ok(self.end_of(number) + 1);
            }
            Event::Start(Tag::CodeBlock(_) | Tag::MetadataBlock(_)) => {
                self.block()?;
                return Ok(self.end_of(number) + 1);
            }
            Event::Text(text) => {
                // A backslash before the first character is not in its range.
                let before = range.start.checked_sub(1).filter(|&at| at >= self.at);
                let escaped = before.filter(|&at| {
                    self.source.as_bytes()[at] == b'\\'
                        && text.starts_with(|c: char| c.is_ascii_punctuation())
                });
                let start = escaped.unwrap_or(range.start);
                self.begin(start)?;
                self.collector.run.text(text, start..range.end);
                self.at = range.end;
            }
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {
                self.begin(range.start)?;
                self.visible(range);
            }
            Event::InlineHtml(tag) => return self.tag(number, tag, range),
            Event::SoftBreak => {
                self.collector.run.text("\n", range.clone());
                self.at = range.end;
            }
            Event::HardBreak => {
                self.collector.run.line_break(range.clone());
                self.at = range.end;
            }
            Event::Start(_) | Event::End(_) | Event::Rule | Event::TaskListMarker(_) | Event::Html(_) => {
                self.block()?;
            }
        }
        Ok(number + 1)
    }

    /// Begins a text at `start`, unless one was begun before.
    fn begin(&mut self, start: usize) -> Result<()> {
        if !self.in_text {
            self.collector.boundary(self.at..start)?;
            self.in_text = true;
        }
        Ok(())
    }

    /// Ends the text.
    fn block(&mut self) -> Result<()> {
        self.in_text = false;
        self.collector.end_run()
    }

    fn visible(&mut self, range: Range<usize>) {
        self.collector.run.visible(range.clone());
        self.at = range.end;
    }

    fn open_element(&mut self, number: usize, range: Range<usize>) {
        let end = self.end_of(number);
        self.collector.run.open(range.clone(), number, Some(end));
        self.open.push(number);
        self.at = range.end;
    }

    fn close_element(&mut self, number: usize, start: usize, range: Range<usize>) {
        self.collector.run.close(range.clone(), number, Some(start));
        self.at = range.end;
    }

    /// Ends a link. One that is named by its text keeps the name.
    fn end_link(&mut self, number: usize, start: usize, range: Range<usize>) {
        let (Event::Start(Tag::Link { link_type, .. }), _) = &self.events[start] else { return };
        let is_named_by_text = matches!(
            link_type,
            LinkType::Shortcut | LinkType::ShortcutUnknown | LinkType::Collapsed | LinkType::CollapsedUnknown
        );
        let end = self.at..range.end;
        if is_named_by_text {
            let own = format!("][{}]", &self.source[range.start + 1..self.at]);
            self.collector.run.close_as(end, own, number, Some(start));
        } else {
            self.collector.run.close(end, number, Some(start));
        }
        self.at = range.end;
    }

    /// Reads an HTML tag, or a whole element whose content is kept, and returns the number of the next event.
    fn tag(&mut self, number: usize, markup: &str, range: Range<usize>) -> Result<usize> {
        let name = HtmlTag::read(markup).map_or("", |tag| tag.name);
        let end = self.tags[number].filter(|&end| end > number);
        if html::ends_text(name, true) && !name.eq_ignore_ascii_case("br") {
            let last = end.filter(|_| html::keeps(markup)).unwrap_or(number);
            self.block()?;
            self.collector.boundary(self.at..self.events[last].1.end)?;
            self.at = self.events[last].1.end;
            return Ok(last + 1);
        }
        self.begin(range.start)?;
        if let Some(end) =
            end.filter(|&end| html::keeps(markup) || html::is_note(name) && !self.has_letters(number..end))
        {
            self.visible(range.start..self.events[end].1.end);
            return Ok(end + 1);
        }
        let run = &mut self.collector.run;
        match self.tags[number] {
            Some(end) if end > number => run.open(range.clone(), number, Some(end)),
            Some(start) => run.close(range.clone(), number, Some(start)),
            None if name.eq_ignore_ascii_case("img") => run.visible(range.clone()),
            None if name.eq_ignore_ascii_case("br") => run.line_break(range.clone()),
            None => run.hidden(range.clone()),
        }
        self.at = range.end;
        Ok(number + 1)
    }

    /// True if any text among these events has a letter.
    fn has_letters(&self, events: Range<usize>) -> bool {
        self.events[events].iter().any(|(event, _)| match event {
            Event::Text(text) => text.contains(char::is_alphabetic),
            _ => false,
        })
    }

    /// The number of characters of the mark of an element.
    fn width(&self, number: usize) -> usize {
        let (event, range) = &self.events[number];
        let source = &self.source[range.clone()];
        match event {
            Event::Start(Tag::Strong) => 2,
            Event::Start(Tag::Strikethrough) => {
                source.bytes().take_while(|&byte| byte == b'~').count().min(2)
            }
            _ => 1,
        }
    }

    /// The number of the end of the element that begins at event `number`.
    fn end_of(&self, number: usize) -> usize {
        let mut depth = 0;
        for (place, (event, _)) in self.events.iter().enumerate().skip(number) {
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return place;
            }
        }
        self.events.len() - 1
    }
}

/// The counterparts of HTML tags within the same text.
fn pairs_of_tags(events: &[Located<'_>]) -> Vec<Option<usize>> {
    let mut found = vec![None; events.len()];
    let (mut pairs, mut depth) = (Pairs::default(), 0);
    for (number, (event, _)) in events.iter().enumerate() {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => {
                depth -= 1;
                pairs.leave(depth);
            }
            Event::InlineHtml(tag) => {
                let start = HtmlTag::read(tag).and_then(|tag| pairs.take(number, tag, depth));
                if let Some(start) = start {
                    (found[start], found[number]) = (Some(number), Some(start));
                }
            }
            _ => {}
        }
    }
    found
}
