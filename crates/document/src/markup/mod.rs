//! Text with markup inside, which HTML and XML share: what is between two boundaries, with tags placed around
//! the words of a translation.

mod blanks;
mod builder;
mod collector;
mod form;
mod placer;
mod run;
mod target;
mod tree;
mod words;
mod writer;

pub(super) use blanks::is_space;
pub(super) use builder::Builder;
pub(super) use collector::Collector;
pub(super) use form::{ESCAPES, SourceFormat};
pub(super) use run::TextRun;

/// The maximum depth of nested elements within a text, and of all elements of XML, as in libxml2. Browsers
/// stop at 512.
pub(super) const MAX_DEPTH: usize = 256;

/// The marks around a CDATA section, whose text has no references.
pub(super) const CDATA_START: &str = "<![CDATA[";
pub(super) const CDATA_END: &str = "]]>";
