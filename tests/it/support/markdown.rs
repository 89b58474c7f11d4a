//! Reading Markdown: code, links and anchors, with their lines.

use std::collections::{HashMap, HashSet};

use html5gum::{Token, Tokenizer};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A page of Markdown.
#[derive(Debug)]
pub(crate) struct Page {
    /// The path in the repository.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) blocks: Vec<Block>,
    pub(crate) codes: Vec<Code>,
    pub(crate) links: Vec<Link>,
    /// What a link to a part of the page may name.
    pub(crate) anchors: HashSet<String>,
}

/// A block of code.
#[derive(Debug)]
pub(crate) struct Block {
    /// The number of its first line, or that of its fence.
    pub(crate) line: usize,
    /// The first word after the fence; empty if there is none.
    pub(crate) language: String,
    pub(crate) text: String,
}

/// Code within a line.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) line: usize,
    pub(crate) text: String,
    /// The head of its column, if it is in the body of a table.
    pub(crate) column: Option<String>,
}

/// A link or an image.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) line: usize,
    pub(crate) target: String,
}

impl Page {
    /// Reads `text`, the content of the file `name`.
    pub(crate) fn parse(name: &str, text: &str) -> Self {
        let mut reader = Reader::default();
        let lines = Lines::of(text);
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            reader.take(event, lines.number(range.start));
        }
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            blocks: reader.blocks,
            codes: reader.codes,
            links: reader.links,
            anchors: reader.anchors,
        }
    }
}

/// Where lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line, counted from 1, of the byte at `offset`.
    fn number(&self, offset: usize) -> usize {
        1 + self.0.partition_point(|end| *end < offset)
    }
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    codes: Vec<Code>,
    links: Vec<Link>,
    anchors: HashSet<String>,
    /// How often each anchor has been wanted by a heading.
    slugs: HashMap<String, usize>,
    /// A block of code, while it is read.
    block: Option<Block>,
    /// The text of a heading or of a table's head, while it is read.
    text: Option<String>,
    html: String,
    html_line: usize,
    table: Table,
}

/// The heads of a table's columns, and the column in which the reader is.
#[derive(Default)]
struct Table {
    heads: Vec<String>,
    is_in_head: bool,
    column: usize,
    is_in_cell: bool,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, line: usize) {
        match event {
            Event::Start(tag) => self.start(tag, line),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.block {
                Some(block) => {
                    if block.text.is_empty() {
                        block.line = line;
                    }
                    block.text += &text;
                }
                None => self.add_text(&text),
            },
            Event::Code(text) => {
                self.add_text(&text);
                let head = self.table.heads.get(self.table.column);
                let is_in_body = self.table.is_in_cell && !self.table.is_in_head;
                self.codes.push(Code {
                    line,
                    text: text.into_string(),
                    column: head.filter(|_| is_in_body).cloned(),
                });
            }
            Event::Html(text) => {
                if self.html.is_empty() {
                    self.html_line = line;
                }
                self.html += &text;
            }
            Event::InlineHtml(text) => self.read_html(&text, line),
            Event::SoftBreak | Event::HardBreak => self.add_text(" "),
            _ => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        if let Some(known) = &mut self.text {
            *known += text;
        }
    }

    fn start(&mut self, tag: Tag<'_>, line: usize) {
        match tag {
            Tag::Heading { .. } => self.text = Some(String::new()),
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => first_word(&info),
                    CodeBlockKind::Indented => String::new(),
                };
                self.block = Some(Block { line, language, text: String::new() });
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(Link { line, target: dest_url.into_string() })
            }
            Tag::Table(_) => self.table = Table::default(),
            Tag::TableHead => self.table.is_in_head = true,
            Tag::TableRow => self.table.column = 0,
            Tag::TableCell => {
                self.table.is_in_cell = true;
                if self.table.is_in_head {
                    self.text = Some(String::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                let text = self.text.take().unwrap();
                self.add_heading(&text);
            }
            TagEnd::CodeBlock => self.blocks.extend(self.block.take()),
            TagEnd::HtmlBlock => {
                let html = std::mem::take(&mut self.html);
                self.read_html(&html, self.html_line);
            }
            TagEnd::TableHead => self.table.is_in_head = false,
            TagEnd::TableCell => {
                self.table.is_in_cell = false;
                self.table.column += 1;
                self.table.heads.extend(self.text.take());
            }
            _ => {}
        }
    }

    /// Adds the anchor that GitHub gives a heading; the second one of a name ends with `-1`.
    fn add_heading(&mut self, text: &str) {
        let slug = slug(text);
        let known = self.slugs.entry(slug.clone()).or_default();
        let anchor = match *known {
            0 => slug,
            n => format!("{slug}-{n}"),
        };
        *known += 1;
        self.anchors.insert(anchor);
    }

    /// Adds what the tags of `html`, which begins on `line`, link to, and their anchors.
    fn read_html(&mut self, html: &str, line: usize) {
        let lines = Lines::of(html);
        for Ok(token) in Tokenizer::new(html) {
            let Token::StartTag(tag) = token else {
                continue;
            };
            for (name, value) in &tag.attributes {
                let value = String::from_utf8_lossy(&value.value).into_owned();
                let line = line + lines.number(html.find(&value).unwrap_or(0)) - 1;
                let link = |target: &str| Link { line, target: target.to_owned() };
                match name.as_slice() {
                    b"src" | b"href" => self.links.push(link(&value)),
                    b"srcset" => {
                        let sources = value.split(',');
                        self.links.extend(sources.map(|source| link(&first_word(source))));
                    }
                    b"id" | b"name" => drop(self.anchors.insert(value)),
                    _ => {}
                }
            }
        }
    }
}

fn first_word(text: &str) -> String {
    let mut words = text.split([' ', ',', '\t', '\n']).filter(|word| !word.is_empty());
    words.next().unwrap_or_default().to_owned()
}

/// The anchor that GitHub gives a heading: in lower case, without punctuation, with hyphens for blanks.
fn slug(text: &str) -> String {
    let kept = text.trim().chars().filter_map(|one| match one {
        ' ' => Some('-'),
        '-' | '_' => Some(one),
        one => one.is_alphanumeric().then_some(one),
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[test]
fn headings_have_the_anchors_of_github() {
    let text = "# `a.b` – Two, *words*\n\n## Use it if …\n\n## Sameness\n\n## Sameness\n\n<a \
                id=\"here\"></a>\n\nUnder\n=====\n";
    let anchors = Page::parse("page", text).anchors;
    let expected = ["ab--two-words", "use-it-if-", "sameness", "sameness-1", "here", "under"];
    assert_eq!(anchors, expected.map(str::to_owned).into());
}

#[test]
fn links_of_every_kind_are_found_with_their_lines() {
    let text = "[a](x.md#y)\n![b](z.svg)\n\n<picture>\n  <source srcset=\"d.png 1x, e.png 2x\">\n  <img\n    src=\"f.png\">\n</picture>\n\n`[no](link)`";
    let links = Page::parse("page", text).links;
    let found: Vec<_> = links.iter().map(|link| (link.line, link.target.as_str())).collect();
    assert_eq!(found, [(1, "x.md#y"), (2, "z.svg"), (5, "d.png"), (5, "e.png"), (7, "f.png")]);
}

#[test]
fn code_has_its_line_language_and_column() {
    let text = "`a b`\n\n```sh title\nx\ny\n```\n\n| `h` | Attentive |\n|---|---|\n| 1 | `c` |\n";
    let page = Page::parse("page", text);
    let [block] = &page.blocks[..] else {
        panic!("{page:?}");
    };
    assert_eq!((block.line, block.language.as_str(), block.text.as_str()), (4, "sh", "x\ny\n"));
    let codes: Vec<_> =
        page.codes.iter().map(|code| (code.line, code.text.as_str(), code.column.as_deref())).collect();
    assert_eq!(codes, [(1, "a b", None), (8, "h", None), (10, "c", Some("Attentive"))]);
}
