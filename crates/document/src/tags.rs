//! Tags that are read one by one, without a tree: in plain text, subtitles and Markdown.

use super::html;

/// A start or end tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// As it is written.
    pub(super) name: &'a str,
    pub(super) is_end: bool,
    /// True if it ends the element that it begins, as in `<br/>`.
    pub(super) is_empty: bool,
}

impl<'a> Tag<'a> {
    /// The tag that `text` is; `None` for other text.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let inside = text.strip_prefix('<')?.strip_suffix('>')?;
        let end = inside.strip_prefix('/');
        let name = end.unwrap_or(inside).split([' ', '\t', '\n', '\r', '.', '/']).next().unwrap_or_default();
        Some(Self { name, is_end: end.is_some(), is_empty: inside.ends_with('/') })
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// Finds the counterparts of tags.
#[derive(Debug, Default)]
pub(super) struct Pairs<'a> {
    /// The start tags that wait for their end tags, by their numbers, with the depth at which they are.
    open: Vec<(usize, Tag<'a>, usize)>,
}

impl<'a> Pairs<'a> {
    /// Takes tag `number`, and returns the number of the start tag that it ends. Only tags at the same
    /// `depth` of other markup belong together.
    pub(super) fn take(&mut self, number: usize, tag: Tag<'a>, depth: usize) -> Option<usize> {
        /// The number of tags that wait; the first of more are tags by themselves.
        const MAX_OPEN_TAGS: usize = 64;
        if tag.is_empty || html::is_void(&tag.name.to_ascii_lowercase()) {
            return None;
        }
        if !tag.is_end {
            if self.open.len() == MAX_OPEN_TAGS {
                self.open.remove(0);
            }
            self.open.push((number, tag, depth));
            return None;
        }
        let same = |(_, start, around): &(usize, Tag<'_>, usize)| start.is(tag.name) && *around == depth;
        let place = self.open.iter().rposition(same)?;
        let (start, ..) = self.open[place];
        self.open.truncate(place);
        Some(start)
    }

    /// Leaves markup inside which tags were at a depth greater than `depth`.
    pub(super) fn leave(&mut self, depth: usize) {
        self.open.retain(|&(.., around)| around <= depth);
    }
}

/// For each of `tags`, the number of its counterpart.
pub(super) fn pairs<'a>(tags: impl IntoIterator<Item = Option<Tag<'a>>>) -> Vec<Option<usize>> {
    let mut found = Vec::new();
    let mut pairs = Pairs::default();
    for (number, tag) in tags.into_iter().enumerate() {
        let start = tag.and_then(|tag| pairs.take(number, tag, 0));
        found.push(start);
        if let Some(start) = start {
            found[start] = Some(number);
        }
    }
    found
}
