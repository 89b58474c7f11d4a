//! Formats of files.

mod json;
mod markdown;
mod po;
mod subtitles;
mod xliff;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use attentive_base::error::{Error, Result};

use super::{Document, MEND, Segmentation, Split, XmlTags, html, plain, xml};

use self::subtitles::SubtitleFormat;

/// Reads a source whose texts are divided as told, and further where they do not fit into the model.
type ReadFn = fn(&str, Segmentation, &dyn Fn(&str) -> bool) -> Result<Document>;

/// What distinguishes a format of files.
struct FormatFacts {
    extensions: &'static [&'static str],
    media_type: &'static str,
    /// Where its texts are divided: into paragraphs where line breaks mean nothing.
    split: Split,
    read: ReadFn,
}

/// A format of files that can be translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Plain text.
    Text,
    Html,
    Xml,
    /// XLIFF 1.2 and 2: translations are put into empty or missing targets.
    Xliff,
    /// SubRip subtitles.
    Srt,
    /// WebVTT subtitles.
    Vtt,
    /// CommonMark, with GitHub's tables, task lists and footnotes.
    Markdown,
    /// gettext's catalogs: translations are put into empty `msgstr`.
    Po,
    /// JSON, of which the strings are translated, but not the keys.
    Json,
}

impl FileFormat {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::Text,
        Self::Html,
        Self::Xml,
        Self::Xliff,
        Self::Srt,
        Self::Vtt,
        Self::Markdown,
        Self::Po,
        Self::Json,
    ];

    /// The extensions of documents that are not text, and of no format here.
    pub const OTHERS: [&str; 12] =
        ["doc", "docx", "epub", "odp", "ods", "odt", "pdf", "ppt", "pptx", "rtf", "xls", "xlsx"];

    /// Returns the extensions of file names in this format, without the dot, the usual one first.
    pub fn extensions(self) -> &'static [&'static str] {
        self.facts().extensions
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        self.facts().media_type
    }

    /// All that distinguishes the formats.
    fn facts(self) -> FormatFacts {
        let (extensions, media_type, split, read): (&[_], _, _, ReadFn) = match self {
            Self::Text => (&["txt"], "text/plain; charset=utf-8", Split::Sentences, |source, how, fits| {
                Ok(plain::read(source, how, fits))
            }),
            Self::Html => {
                (&["html", "htm", "xhtml"], "text/html; charset=utf-8", Split::Paragraphs, html::read)
            }
            Self::Xml => (&["xml"], "application/xml", Split::Paragraphs, read_xml),
            Self::Xliff => (&["xliff", "xlf"], "application/xliff+xml", Split::Paragraphs, xliff::read),
            Self::Srt => (&["srt"], "application/x-subrip", Split::Paragraphs, |source, how, fits| {
                subtitles::read(source, SubtitleFormat::Srt, how, fits)
            }),
            Self::Vtt => (&["vtt"], "text/vtt; charset=utf-8", Split::Paragraphs, |source, how, fits| {
                subtitles::read(source, SubtitleFormat::WebVtt, how, fits)
            }),
            Self::Markdown => {
                (&["md", "markdown"], "text/markdown; charset=utf-8", Split::Paragraphs, markdown::read)
            }
            Self::Po => {
                (&["po", "pot"], "text/x-gettext-translation; charset=utf-8", Split::Sentences, po::read)
            }
            Self::Json => (&["json", "arb"], "application/json", Split::Sentences, json::read),
        };
        FormatFacts { extensions, media_type, split, read }
    }

    /// Returns the format of the file `path` by its extension, in any case; `None` for files with others.
    /// Extensions of compressed files are passed over.
    ///
    /// # Errors
    /// [`Error::Usage`] for [`FileFormat::OTHERS`].
    pub fn of_path(path: &Path) -> Result<Option<Self>> {
        let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
        let is_compressed = extension(path).is_some_and(|one| one == "gz" || one == "zst");
        let path = if is_compressed { path.with_extension("") } else { path.to_owned() };
        let Some(extension) = extension(&path) else { return Ok(None) };
        if Self::OTHERS.contains(&&*extension) {
            return extension.parse().map(Some);
        }
        Ok(Self::of_extension(&extension))
    }

    fn of_extension(extension: &str) -> Option<Self> {
        let is = |one: &&str| extension.eq_ignore_ascii_case(one);
        Self::ALL.into_iter().find(|format| format.extensions().iter().any(is))
    }

    /// Returns the extensions of all formats, as a message names them.
    pub fn listed() -> String {
        let all = Self::ALL.iter().map(|format| format!("`.{}`", format.extensions()[0]));
        all.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.extensions()[0])
    }
}

impl FromStr for FileFormat {
    type Err = Error;

    /// Reads an extension, with or without the dot.
    fn from_str(name: &str) -> Result<Self> {
        Self::of_extension(name.trim_start_matches('.')).ok_or_else(|| {
            Error::usage(
                format!("`{name}` is not a format of files that can be translated"),
                format!("use one of {}, or save the file in one of them", Self::listed()),
            )
        })
    }
}

impl Document {
    /// Reads a file of `format`. Its texts are divided into sentences.
    ///
    /// What is not text of the format stays as it is, byte for byte: markup, times, keys, comments.
    ///
    /// # Errors
    /// [`Error::Usage`] if `source` is not of the format, with line and column.
    pub fn file(
        source: &str,
        format: FileFormat,
        how: impl Into<Segmentation>,
        fits: impl Fn(&str) -> bool,
    ) -> Result<Self> {
        let FormatFacts { split, read, .. } = format.facts();
        read(source, Segmentation { split, ..how.into() }, &fits)
    }
}

/// Reads an XML document.
fn read_xml(source: &str, how: Segmentation, fits: &dyn Fn(&str) -> bool) -> Result<Document> {
    if !source.contains('<') {
        return Err(broken("XML", None, "it has no element"));
    }
    xml::read(source, how, &XmlTags::default(), fits)
}

/// The error of a file that is not of its format, at this line.
fn broken(format: &str, line: Option<usize>, problem: &str) -> Error {
    let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    Error::usage(format!("this is not {format}: {place}{problem}"), MEND)
}

/// The lines of `source`, each with its line break of any system, and the byte at which it begins.
fn lines(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = source.get(at..).filter(|rest| !rest.is_empty())?;
        let len = match rest.find(['\n', '\r']) {
            Some(end) if rest[end..].starts_with("\r\n") => end + 2,
            Some(end) => end + 1,
            None => rest.len(),
        };
        let line = (at, &rest[..len]);
        at += len;
        Some(line)
    })
}
