//! Text with markup inside, which all formats share: what is between two boundaries, with tags placed around
//! the words of a translation.
//!
//! An example, `<p>the <b>red</b> house</p>`, step by step:
//!
//! 1. The reader of HTML passes the content of `p` to a [`Collector`], whose [`Builder`] collects the text
//!    `the red house` and two events: the start tag `<b>` before `red`, and the end tag after it.
//! 2. At `</p>`, the builder makes a [`TextRun`]. Its text is one segment; its words are `MarkupWords` of the
//!    units 0 `the`, 1 `red` and 2 `house` (a tag inside a word would cut it into two units). Its events
//!    become a tree, `Markup`: one element, `<b>`…`</b>` around the units `1..2`.
//! 3. The segment is translated elsewhere: `la maison rouge`, with the alignment 0-0, 1-2, 2-1.
//! 4. [`TextRun::render`] links the units of the translation to those of the source in a `TargetText`: 0 `la`
//!    to 0, 1 `maison` to 2, 2 `rouge` to 1.
//! 5. The `Placer` looks for the units of the translation that belong to the units `1..2` of the element, and
//!    finds 2. So it has the `MarkupWriter` write `la maison `, the start tag, `rouge` and the end tag:
//!    `la maison <b>rouge</b>`.

mod blanks;
mod builder;
mod collector;
mod ends;
mod links;
mod placer;
mod source_format;
mod target_text;
mod text_run;
mod tree;
mod words;
mod writer;

pub(super) use blanks::is_space;
pub(super) use builder::Builder;
pub(super) use collector::Collector;
pub(super) use source_format::{ESCAPES, SourceFormat};
pub(super) use text_run::TextRun;

/// The maximum depth of nested elements within a text, and of all elements of XML, as in libxml2. Browsers
/// stop at 512.
pub(super) const MAX_DEPTH: usize = 256;

/// The marks around a CDATA section, whose text has no references.
pub(super) const CDATA_START: &str = "<![CDATA[";
pub(super) const CDATA_END: &str = "]]>";
