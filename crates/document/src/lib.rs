//! Documents to translate: plain text, HTML, XML and the other [file formats](FileFormat), divided into
//! segments that a model can read, and put together again.
//!
//! A [`Document`] keeps everything that is not translated: line breaks, blanks, tags, comments, scripts. Its
//! [segments](Document::segments) are translated in any way, and [`Document::render`] puts the translations
//! in their place. Tags inside a sentence are placed around the words they belong to, by word alignment.
//!
//! ```
//! use attentive_document::{Document, Split, TranslatedSegment};
//!
//! let document = Document::html("<p>the <b>red</b> house</p>", Split::Sentences, |_| true)?;
//! assert_eq!(document.segments()[0].text, "the red house");
//! let translated = TranslatedSegment {
//!     text: "la maison rouge".into(),
//!     alignment: vec![(0, 0), (1, 2), (2, 1)],
//! };
//! assert_eq!(document.render(&[translated]), "<p>la maison <b>rouge</b></p>");
//! # Ok::<(), attentive_base::Error>(())
//! ```

mod divided_text;
mod files;
mod html;
mod markup;
mod placeables;
mod plain;
mod segmentation;
mod sentences;
mod tags;
mod xml;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use divided_text::{DividedText, Sentence};
pub use files::FileFormat;
pub use placeables::{placeables, placeholders};
pub use segmentation::{Segmentation, Split};
pub use xml::XmlTags;

use attentive_base::error::Result;

use markup::TextRun;
use sentences::needs_blank;

/// The advice for a document that is not of its format.
const MEND: &str = "mend it there, or translate it as another format, such as plain text";

/// A document divided into segments, with all the text and markup around them.
#[derive(Clone, Debug)]
pub struct Document {
    segments: Vec<Segment>,
    parts: Vec<Part>,
}

/// A piece of text to translate: a line, a sentence, or the part of a sentence that a model can read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The text, without blanks around it, without markup and with characters in place of entities.
    pub text: String,
    /// True if markup inside the text requires [`TranslatedSegment::alignment`] for [`Document::render`].
    pub needs_alignment: bool,
    /// True if it begins a sentence right after the previous segment, with no blank between them, as in
    /// Chinese. If the target language has blanks, [`Document::render`] inserts one.
    pub touches: bool,
}

/// The translation of a [`Segment`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslatedSegment {
    /// The text, without markup.
    pub text: String,
    /// Pairs (word of the segment, word of the translation), counted from 0 and separated by whitespace, as
    /// in the Pharaoh format. If it is empty, markup is placed in proportion to the numbers of words.
    pub alignment: Vec<(usize, usize)>,
}

/// A part of a document. The parts are in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Text that is kept as it is.
    Verbatim(String),
    /// A segment of plain text, by its number.
    Plain(usize),
    /// Text with markup inside.
    Run(Box<TextRun>),
}

impl Document {
    /// Divides plain text as `how` says. Text that the model cannot read at once, according to `fits`, is
    /// divided further.
    ///
    /// Line breaks and blanks between segments are kept. Segments have none of the characters that mean
    /// nothing where they stand, such as soft hyphens ([`without_ignorable`](attentive_base::ignorable)).
    pub fn text(source: &str, how: impl Into<Segmentation>, fits: impl Fn(&str) -> bool) -> Self {
        plain::read(source, how.into(), &fits)
    }

    /// Divides an HTML document or fragment at its block elements, and the text between them as
    /// [`Document::text`] does. Line breaks count as in plain text with [`Split::Lines`] and
    /// [`Split::Sentences`]; otherwise they are blanks.
    ///
    /// Inline elements stay inside a segment as markup. Comments, attributes, scripts, styles, `pre`, `code`
    /// and similar elements, links that show an address, and elements with `translate="no"` or the class
    /// `notranslate` are kept as they are, with their whole content. A blank line made of `<br>` separates
    /// segments as blocks do. Tags are never rewritten, added or repaired, so a fragment stays a fragment.
    ///
    /// # Errors
    /// [`attentive_base::Error::Usage`] if more than 256 inline elements are nested in each other.
    pub fn html(source: &str, how: impl Into<Segmentation>, fits: impl Fn(&str) -> bool) -> Result<Self> {
        html::read(source, how.into(), &fits)
    }

    /// Divides an XML document, or text with elements, at elements whose text is a text of its own, and this
    /// text as [`Document::text`] does. Declarations, comments, processing instructions, CDATA sections,
    /// attributes and references to entities stay as they are.
    ///
    /// An element that stands among text is markup within it. Other elements are texts of their own, unless
    /// `tags` says otherwise. Elements with `translate="no"` are kept as they are, with their whole content.
    ///
    /// # Errors
    /// [`attentive_base::Error::Usage`] if `source` is not well-formed, with line and column, or if more than
    /// 256 inline elements are nested in each other.
    pub fn xml(
        source: &str,
        how: impl Into<Segmentation>,
        tags: &XmlTags,
        fits: impl Fn(&str) -> bool,
    ) -> Result<Self> {
        xml::read(source, how.into(), tags, &fits)
    }

    /// Returns the segments, in the order of the document.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the document with each segment replaced by its translation.
    ///
    /// Every tag of the source occurs exactly once. An element is placed around the words that are aligned to
    /// its words, or around most of them if they are scattered among words of other elements. Elements
    /// without aligned words become empty and keep their relative place. An element that begins or ends
    /// within a word is placed around the whole word, except for punctuation, digits and copied words. Empty
    /// elements are placed before the word that is aligned to the word after them. Pairs with numbers beyond
    /// the last word are ignored.
    ///
    /// # Panics
    /// Panics if the number of translations differs from the number of segments.
    pub fn render(&self, translations: &[TranslatedSegment]) -> String {
        assert_eq!(translations.len(), self.segments.len(), "one translation for each segment");
        let translations = spaced(&self.segments, translations);
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Verbatim(text) => out.push_str(text),
                Part::Plain(number) => out.push_str(&translations[*number].text),
                Part::Run(run) => {
                    let own = run.segments.clone();
                    run.render(&self.segments[own.clone()], &translations[own], &mut out);
                }
            }
        }
        out
    }
}

/// The translations, with a blank before each one that would otherwise touch the previous one.
fn spaced<'a>(segments: &[Segment], translations: &'a [TranslatedSegment]) -> Cow<'a, [TranslatedSegment]> {
    let mut spaced = Cow::Borrowed(translations);
    let touching = segments.iter().enumerate().skip(1);
    for (number, _) in touching.filter(|(_, segment)| segment.touches) {
        if needs_blank(&translations[number - 1].text, &translations[number].text) {
            spaced.to_mut()[number].text.insert(0, ' ');
        }
    }
    spaced
}

impl Part {
    /// Appends text that is kept as it is.
    fn keep(parts: &mut Vec<Part>, text: &str) {
        match parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Verbatim(last)) => last.push_str(text),
            _ => parts.push(Part::Verbatim(text.to_owned())),
        }
    }
}
