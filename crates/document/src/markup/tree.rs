//! The inline markup of a run, nested.

use std::collections::HashSet;
use std::ops::Range;

use attentive_base::error::{Error, Result};

use super::MAX_DEPTH;
use super::blanks::Neighbors;
use super::words::MarkupWords;
use crate::placeables;

/// Markup as it is read, at a place of the text.
#[derive(Debug)]
pub(super) struct MarkupEvent {
    pub(super) range: Range<usize>,
    /// What is written, if it is not that part of the source.
    pub(super) own: Option<MarkupText>,
    pub(super) at: usize,
    pub(super) kind: MarkupKind,
}

/// What is written for a tag or for content that is not translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MarkupText {
    /// As it stands in a document.
    Markup(String),
    /// As text, whose special characters are written as the format does.
    Text(String),
}

impl MarkupText {
    /// True for a placeholder whose order among others counts.
    pub(super) fn takes_next_argument(&self) -> bool {
        let (Self::Markup(text) | Self::Text(text)) = self;
        placeables::takes_next_argument(text)
    }

    /// The markup; nothing for text.
    pub(super) fn markup(&self) -> &str {
        match self {
            Self::Markup(markup) => markup,
            Self::Text(_) => "",
        }
    }
}

/// The kinds of markup in a run. Tags have their numbers in the document and those of their counterparts.
#[derive(Debug)]
pub(super) enum MarkupKind {
    Open {
        number: usize,
        pair: Option<usize>,
    },
    Close {
        number: usize,
        pair: Option<usize>,
    },
    Visible(Neighbors),
    Hidden {
        /// True if it belongs to the word before it.
        follows: bool,
    },
}

impl MarkupKind {
    /// The number of a tag.
    pub(super) fn number(&self) -> Option<usize> {
        match self {
            Self::Open { number, .. } | Self::Close { number, .. } => Some(*number),
            Self::Visible(_) | Self::Hidden { .. } => None,
        }
    }
}

/// A tree of markup. Places and spans are counted in units of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Markup {
    pub(super) nodes: Vec<MarkupNode>,
    /// The nodes that are in no element.
    pub(super) top: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MarkupNode {
    Element(Element),
    Point(Point),
}

/// An element with content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    /// Its start tag.
    pub(super) open: MarkupText,
    /// Its end tag.
    pub(super) close: MarkupText,
    /// The units inside.
    pub(super) span: Range<usize>,
    /// The nodes inside.
    pub(super) children: Vec<usize>,
}

/// Markup without content, or with content that is not translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) mark: MarkupText,
    /// The number of units before it.
    pub(super) at: usize,
    /// True if it belongs to the unit before it rather than to the one after it.
    pub(super) follows: bool,
    /// What was around it, if it takes space.
    pub(super) visible: Option<Neighbors>,
}

impl MarkupNode {
    /// The number of units before it.
    pub(super) fn at(&self) -> usize {
        match self {
            MarkupNode::Element(element) => element.span.start,
            MarkupNode::Point(point) => point.at,
        }
    }

    /// The units inside.
    pub(super) fn span(&self) -> Range<usize> {
        match self {
            MarkupNode::Element(element) => element.span.clone(),
            MarkupNode::Point(point) => point.at..point.at,
        }
    }
}

impl Markup {
    /// Nests the tags of a run. A tag whose counterpart is missing or in another run becomes a point. If two
    /// elements overlap, the first one is extended.
    ///
    /// # Errors
    /// [`Error::Usage`] if the elements are nested too deeply.
    pub(super) fn nest(source: &str, events: &[MarkupEvent], words: &MarkupWords) -> Result<Self> {
        let numbers = events.iter().filter_map(|event| event.kind.number());
        let mut nesting = Nesting { markup: Markup::default(), open: Vec::new(), inside: numbers.collect() };
        for event in events {
            let in_source = || MarkupText::Markup(source[event.range.clone()].to_owned());
            let mark = event.own.clone().unwrap_or_else(in_source);
            nesting.take(mark, words.unit_at(event.at), &event.kind)?;
        }
        Ok(nesting.markup)
    }
}

struct Nesting {
    markup: Markup,
    open: Vec<Open>,
    /// The numbers of all tags in the run.
    inside: HashSet<usize>,
}

/// An element that has begun.
struct Open {
    number: usize,
    node: usize,
    /// True if its end tag was read, but elements inside it are still open.
    ended: bool,
}

impl Nesting {
    fn take(&mut self, mark: MarkupText, at: usize, kind: &MarkupKind) -> Result<()> {
        let (follows, visible) = match kind {
            MarkupKind::Open { number, pair } => {
                if self.is_inside(pair) {
                    return self.open(mark, at, *number);
                }
                (false, None)
            }
            MarkupKind::Close { pair, .. } => {
                if self.is_inside(pair) {
                    self.close(mark, at, *pair);
                    return Ok(());
                }
                (true, None)
            }
            MarkupKind::Visible(neighbors) => (neighbors.touch_before_alone(), Some(*neighbors)),
            MarkupKind::Hidden { follows } => (*follows, None),
        };
        self.add(MarkupNode::Point(Point { mark, at, follows, visible }));
        Ok(())
    }

    fn is_inside(&self, pair: &Option<usize>) -> bool {
        pair.is_some_and(|pair| self.inside.contains(&pair))
    }

    fn add(&mut self, node: MarkupNode) -> usize {
        let number = self.markup.nodes.len();
        let parent = self.open.last().map(|open| open.node);
        let siblings = match parent.map(|parent| &mut self.markup.nodes[parent]) {
            Some(MarkupNode::Element(element)) => &mut element.children,
            _ => &mut self.markup.top,
        };
        siblings.push(number);
        self.markup.nodes.push(node);
        number
    }

    fn open(&mut self, mark: MarkupText, at: usize, number: usize) -> Result<()> {
        if self.open.len() == MAX_DEPTH {
            return Err(Error::usage(
                format!("the text nests more than {MAX_DEPTH} inline elements in each other"),
                "close elements where their text ends, or send the text in several parts",
            ));
        }
        let node = self.add(MarkupNode::Element(Element {
            open: mark,
            close: MarkupText::Markup(String::new()),
            span: at..at,
            children: Vec::new(),
        }));
        self.open.push(Open { number, node, ended: false });
        Ok(())
    }

    fn close(&mut self, mark: MarkupText, at: usize, pair: Option<usize>) {
        if let Some(open) = self.open.iter_mut().find(|open| Some(open.number) == pair) {
            open.ended = true;
            if let MarkupNode::Element(element) = &mut self.markup.nodes[open.node] {
                element.close = mark;
            }
        }
        while let Some(last) = self.open.pop_if(|last| last.ended) {
            if let MarkupNode::Element(element) = &mut self.markup.nodes[last.node] {
                element.span.end = at;
            }
        }
    }
}
