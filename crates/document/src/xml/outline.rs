//! Which elements are texts of their own, and which stand among text.

use std::collections::HashSet;

use super::tokens::{XmlStartTag, XmlToken, XmlTokenKind};

/// What a client says about elements by their names, with or without prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlTags {
    /// Elements whose content is kept as it is.
    pub ignored: HashSet<String>,
    /// Elements that are always texts of their own.
    pub splitting: HashSet<String>,
    /// Elements that never are, so that a sentence may go on before and after their tags.
    pub non_splitting: HashSet<String>,
    /// Finds out for all other elements what they are; otherwise, they are part of the text around them.
    pub outline_detection: bool,
}

impl Default for XmlTags {
    fn default() -> Self {
        Self {
            ignored: HashSet::new(),
            splitting: HashSet::new(),
            non_splitting: HashSet::new(),
            outline_detection: true,
        }
    }
}

/// What the tags of an element mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagRole {
    /// They separate texts.
    Boundary,
    /// They are markup within a text.
    Inline,
    /// The whole element is kept as it is.
    Kept { inline: bool },
}

/// The role of each token that is a tag.
#[derive(Debug)]
pub(super) struct Outline(Vec<TagRole>);

impl Outline {
    /// An element is inline if it stands among text, or is alone in an inline one. Several elements that have
    /// only blanks between them are texts of their own, unless these blanks are those between the words of a
    /// text: without a line break, in an inline element.
    pub(super) fn new(tokens: &[XmlToken], tags: &XmlTags) -> Self {
        let contents = contents(tokens);
        let kept = kept(tokens, &tags.ignored);
        let translated_inside = translated_inside(tokens, &kept);
        let mut roles = vec![TagRole::Boundary; tokens.len()];
        for (number, token) in tokens.iter().enumerate() {
            roles[number] = match &token.kind {
                XmlTokenKind::End => token.pair.map_or(TagRole::Boundary, |start| roles[start]),
                _ if kept[number] && translated_inside[number] => TagRole::Boundary,
                XmlTokenKind::Start(start) | XmlTokenKind::Empty(start) => {
                    let parent = token.parent.map(|parent| (roles[parent], &contents[parent]));
                    let inline = start.is_cdata || is_inline(start, parent, &contents[tokens.len()], tags);
                    match (kept[number], inline) {
                        (true, inline) => TagRole::Kept { inline },
                        (false, true) => TagRole::Inline,
                        (false, false) => TagRole::Boundary,
                    }
                }
                _ if kept[number] => TagRole::Kept { inline: false },
                XmlTokenKind::Text(_) | XmlTokenKind::Reference | XmlTokenKind::Other => TagRole::Inline,
            };
        }
        part_by_boundaries(tokens, &mut roles);
        Self(roles)
    }

    pub(super) fn role(&self, token: usize) -> TagRole {
        self.0[token]
    }
}

/// Whether each token is in an element that is not to be translated. Elements in it may be again.
pub(crate) fn kept(tokens: &[XmlToken], ignored: &HashSet<String>) -> Vec<bool> {
    // Whether each is kept, and whether no element in it may be translated.
    let mut found: Vec<(bool, bool)> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let (around, is_ignored) = token.parent.map_or((false, false), |parent| found[parent]);
        found.push(match &token.kind {
            XmlTokenKind::Start(start) | XmlTokenKind::Empty(start) => {
                let is_ignored = is_ignored || names(start, ignored);
                (is_ignored || start.translate.map_or(around, |translate| !translate), is_ignored)
            }
            _ => (around, is_ignored),
        });
    }
    found.into_iter().map(|(is_kept, _)| is_kept).collect()
}

/// Whether each token begins an element with one inside that is to be translated whatever is around it.
fn translated_inside(tokens: &[XmlToken], kept: &[bool]) -> Vec<bool> {
    let mut inside = vec![false; tokens.len()];
    for (token, &is_kept) in tokens.iter().zip(kept) {
        let asks =
            !is_kept && matches!(&token.kind, XmlTokenKind::Start(start) if start.translate == Some(true));
        let mut parent = token.parent.filter(|_| asks);
        while let Some(number) = parent.filter(|&number| !inside[number]) {
            inside[number] = true;
            parent = tokens[number].parent;
        }
    }
    inside
}

/// An inline element with a boundary inside is one itself, so that nothing is placed across its tags.
fn part_by_boundaries(tokens: &[XmlToken], roles: &mut [TagRole]) {
    let is_boundary = |role: TagRole| matches!(role, TagRole::Boundary | TagRole::Kept { inline: false });
    let mut before = Vec::with_capacity(tokens.len() + 1);
    before.push(0);
    for role in roles.iter() {
        before.push(before[before.len() - 1] + usize::from(is_boundary(*role)));
    }
    for (number, token) in tokens.iter().enumerate() {
        let (XmlTokenKind::Start(_), Some(end)) = (&token.kind, token.pair) else { continue };
        if roles[number] == TagRole::Inline && before[end] > before[number + 1] {
            (roles[number], roles[end]) = (TagRole::Boundary, TagRole::Boundary);
        }
    }
}

/// What is directly in an element.
#[derive(Clone, Debug, Default)]
struct Content {
    /// Text other than blanks.
    has_text: bool,
    /// The number of elements.
    elements: usize,
    /// True if there are blanks without a line break between elements.
    has_blanks: bool,
    /// True if there is a line break between elements.
    has_breaks: bool,
}

/// The content of each element, by the number of its start tag, and last that of the whole document.
fn contents(tokens: &[XmlToken]) -> Vec<Content> {
    let mut contents = vec![Content::default(); tokens.len() + 1];
    for token in tokens {
        let content = &mut contents[token.parent.unwrap_or(tokens.len())];
        match &token.kind {
            XmlTokenKind::Text(text) if text.trim().is_empty() => {
                content.has_breaks |= text.contains(['\n', '\r']);
                content.has_blanks |= !text.contains(['\n', '\r']);
            }
            XmlTokenKind::Text(_) | XmlTokenKind::Reference => content.has_text = true,
            XmlTokenKind::Start(start) if start.is_cdata => content.has_text = true,
            XmlTokenKind::Start(_) | XmlTokenKind::Empty(_) => content.elements += 1,
            XmlTokenKind::End | XmlTokenKind::Other => {}
        }
    }
    contents
}

fn is_inline(
    start: &XmlStartTag,
    parent: Option<(TagRole, &Content)>,
    document: &Content,
    tags: &XmlTags,
) -> bool {
    if names(start, &tags.splitting) {
        return false;
    }
    if names(start, &tags.non_splitting) || !tags.outline_detection {
        return true;
    }
    let (role, content) = parent.unwrap_or((TagRole::Boundary, document));
    let is_among_words = content.elements == 1 || content.has_blanks && !content.has_breaks;
    content.has_text || role == TagRole::Inline && is_among_words
}

/// Whether `tags` has the name, with or without its prefix.
fn names(start: &XmlStartTag, tags: &HashSet<String>) -> bool {
    tags.contains(&start.name) || tags.contains(start.local())
}
