//! JSON, such as the messages of a program.

use std::collections::HashSet;
use std::ops::Range;

use attentive_base::error::Result;
use serde::de::IgnoredAny;

use super::broken;
use crate::markup::SourceFormat;
use crate::plain::append;
use crate::{Document, Part, Segmentation};

/// Divides the strings of a document that are values.
///
/// In Flutter's ARB files, what belongs to a key with `@` is kept; in the messages of browser extensions, the
/// `description` and the `placeholders` beside a `message`.
pub(super) fn read(source: &str, how: Segmentation, fits: &dyn Fn(&str) -> bool) -> Result<Document> {
    let text = source.trim_start_matches('\u{feff}');
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| broken("JSON", None, &error.to_string()))?;
    let mut scanner = Scanner { source, ..Scanner::default() };
    scanner.scan();
    let (mut segments, mut parts, mut kept) = (Vec::new(), Vec::new(), 0);
    for Text { range, object, is_description } in &scanner.texts {
        if *is_description && scanner.with_message.contains(object) {
            continue;
        }
        let Ok(text) = serde_json::from_str::<String>(&source[range.start - 1..range.end + 1]) else {
            continue;
        };
        let (before, mut own) = (segments.len(), Vec::new());
        append(&text, how, SourceFormat::Json, fits, &mut segments, &mut own);
        // A string without text keeps its escapes.
        if segments.len() > before {
            Part::keep(&mut parts, &source[kept..range.start]);
            parts.extend(own);
            kept = range.end;
        }
    }
    Part::keep(&mut parts, &source[kept..]);
    Ok(Document { segments, parts })
}

/// A string that is a value.
struct Text {
    /// The place within its quotation marks.
    range: Range<usize>,
    /// The number of the object around it; zero in no object.
    object: usize,
    /// True if its key there is `description`.
    is_description: bool,
}

/// A list or an object that is open.
struct Open {
    /// The number of an object; `None` for a list.
    object: Option<usize>,
    key: String,
    /// True if a key is expected.
    at_key: bool,
    /// True if all inside is kept.
    kept: bool,
}

/// Finds the strings of a valid document.
#[derive(Default)]
struct Scanner<'a> {
    source: &'a str,
    texts: Vec<Text>,
    open: Vec<Open>,
    objects: usize,
    /// The objects that have a key `message`.
    with_message: HashSet<usize>,
}

impl Scanner<'_> {
    fn scan(&mut self) {
        let bytes = self.source.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'{' => {
                    self.objects += 1;
                    let kept = self.is_kept();
                    self.open.push(Open {
                        object: Some(self.objects),
                        key: String::new(),
                        at_key: true,
                        kept,
                    });
                }
                b'[' => {
                    let kept = self.is_kept();
                    self.open.push(Open { object: None, key: String::new(), at_key: false, kept });
                }
                b'}' | b']' => drop(self.open.pop()),
                b',' => {
                    if let Some(last) = self.open.last_mut() {
                        last.at_key = last.object.is_some();
                    }
                }
                b'"' => {
                    let end = end_of_string(bytes, at + 1);
                    self.string(at + 1..end);
                    at = end;
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn is_kept(&self) -> bool {
        self.open.last().is_some_and(|last| {
            let with_message = last.object.is_some_and(|object| self.with_message.contains(&object));
            last.kept || last.key.starts_with('@') || with_message && last.key == "placeholders"
        })
    }

    fn string(&mut self, range: Range<usize>) {
        let text = &self.source[range.clone()];
        if let Some(last) = self.open.last_mut()
            && last.at_key
        {
            last.key = text.to_owned();
            last.at_key = false;
            if text == "message" {
                self.with_message.extend(last.object);
            }
            return;
        }
        if !self.is_kept() {
            let last = self.open.last();
            let object = last.and_then(|last| last.object).unwrap_or_default();
            let is_description = last.is_some_and(|last| last.key == "description");
            self.texts.push(Text { range, object, is_description });
        }
    }
}

/// The place of the quotation mark that ends the string from `at` on.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}
