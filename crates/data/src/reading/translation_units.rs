//! Translated units: translation memories (TMX 1.4) and XLIFF (1.2 and 2).

use std::collections::BTreeSet;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_config::LanguagePair;
use quick_xml::Error as XmlError;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use crate::corpus::item::Item;
use crate::reading::bounded_reader::BoundedReader;
use crate::reading::convertible_format::{ConvertibleFormat, unreadable};
use crate::reading::csv_table::on_one_line;
use crate::reading::source_file::SourceFile;

/// The elements whose content is code of the original file, in TMX and XLIFF.
const CODES: [&str; 6] = ["bpt", "ept", "it", "ph", "ut", "cp"];

/// The states of XLIFF's targets that are no translations yet.
const UNTRANSLATED: [&str; 5] = ["new", "needs-translation", "needs-l10n", "needs-adaptation", "initial"];

/// The elements of a format.
#[derive(Debug)]
enum Kind {
    /// Units with a segment for each of several languages.
    Memory(LanguagePair),
    /// Units of a source and a target.
    Translated,
}

/// A file of translated units, of which one at a time is in RAM.
#[derive(Debug)]
pub(crate) struct TranslationUnits {
    reader: Reader<BufReader<BoundedReader>>,
    kind: Kind,
    path: PathBuf,
    buffer: Vec<u8>,
    /// The number of units that have been read.
    count: usize,
    /// The number of elements that are open.
    open: usize,
    /// Whether the root has been seen.
    has_root: bool,
    /// Whether any unit had both sides.
    has_pair: bool,
    /// Some of the languages of the units.
    languages: BTreeSet<String>,
}

/// A unit that is being read.
#[derive(Default)]
struct Unit {
    /// The texts of source and target.
    texts: [Option<String>; 2],
    /// The side of the segments that are being read.
    side: Option<usize>,
    /// The text that is being read.
    text: Option<String>,
    /// The elements of code, and of other parts that are left out, that are open.
    skipped: usize,
    /// Whether a mark that stands for something has just been left out.
    has_gap: bool,
    /// Whether the target is no translation yet.
    is_untranslated: bool,
}

impl TranslationUnits {
    /// Opens a translation memory, of which the segments in `languages` are read.
    pub(crate) fn memory(path: &Path, languages: LanguagePair) -> io::Result<Self> {
        Self::open(path, Kind::Memory(languages))
    }

    /// Opens an XLIFF file.
    pub(crate) fn translated(path: &Path) -> io::Result<Self> {
        Self::open(path, Kind::Translated)
    }

    fn open(path: &Path, kind: Kind) -> io::Result<Self> {
        let reader = Reader::from_reader(BufReader::new(BoundedReader::open(path)?));
        Ok(Self {
            reader,
            kind,
            path: path.to_path_buf(),
            buffer: Vec::new(),
            count: 0,
            open: 0,
            has_root: false,
            has_pair: false,
            languages: BTreeSet::new(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the last unit.
    pub(crate) fn number(&self) -> usize {
        self.count
    }

    pub(crate) fn finish(self) -> Option<SourceFile> {
        self.reader.into_inner().into_inner().finish(self.path)
    }

    /// The next unit; `None` at the end. A side that is missing is empty.
    pub(crate) fn next(&mut self) -> Result<Option<Item>> {
        let mut unit = Unit::default();
        self.reader.get_mut().get_mut().begin();
        loop {
            self.buffer.clear();
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event,
                Err(error) => {
                    let at = self.reader.error_position();
                    return Err(broken(&self.path, at, self.count, error));
                }
            };
            match event {
                Event::Eof => return self.whole(),
                Event::Decl(declaration) => check_encoding(&self.path, &declaration)?,
                Event::Start(tag) => {
                    if !self.has_root {
                        check_root(&self.path, &tag, &self.kind)?;
                        self.has_root = true;
                    }
                    self.open += 1;
                    if self.open > MAX_OPEN_ELEMENTS {
                        return Err(Error::Data {
                            problem: format!(
                                "`{}` has more than {MAX_OPEN_ELEMENTS} elements within each other, after {}",
                                self.path.display(),
                                count(self.count, "unit")
                            ),
                            hint: None,
                        });
                    }
                    if let Some(language) = unit.start(&tag, &self.kind)
                        && self.languages.len() < MAX_LANGUAGES_NAMED
                    {
                        self.languages.insert(language);
                    }
                }
                Event::End(tag) => {
                    self.open -= 1;
                    if unit.end(tag.local_name().as_ref(), &self.kind) {
                        self.count += 1;
                        self.has_pair |= unit.texts.iter().all(Option::is_some);
                        return Ok(Some(unit.into_item()));
                    }
                }
                Event::Empty(tag) => unit.leave_out(tag.local_name().as_ref()),
                Event::Text(text) => unit.push(&text),
                Event::CData(text) => unit.push(&text),
                Event::GeneralRef(reference) => unit.push(&resolved(&reference)),
                Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    /// Nothing, at the end of a file that is whole and has units in the languages.
    fn whole(&self) -> Result<Option<Item>> {
        let path = self.path.display();
        let units = count(self.count, "unit");
        if self.open > 0 || !self.has_root {
            return Err(Error::data(
                format!("`{path}` ends within an element, after {units}"),
                "it is cut off, or no XML: get it again",
            ));
        }
        if let (false, Kind::Memory(pair)) = (self.has_pair || self.count == 0, &self.kind) {
            let found: Vec<&str> = self.languages.iter().map(String::as_str).collect();
            return Err(Error::data(
                format!("no unit of `{path}` has both `{}` and `{}`", pair.source, pair.target),
                format!("its languages are {}", found.join(", ")),
            ));
        }
        Ok(None)
    }
}

/// The largest number of elements within each other.
const MAX_OPEN_ELEMENTS: usize = 256;

/// The number of languages that a message names.
const MAX_LANGUAGES_NAMED: usize = 20;

/// Refuses XML that is not in UTF-8.
fn check_encoding(path: &Path, declaration: &BytesDecl<'_>) -> Result<()> {
    let encoding = declaration.encoding().and_then(|found| found.ok());
    // What is declared as UTF-16, and yet can be read, has been converted.
    let is_readable = |name: &str| {
        let name = name.to_lowercase().replace(['-', '_'], "");
        name == "utf8" || name == "usascii" || name == "ascii" || name.starts_with("utf16")
    };
    match encoding.filter(|name| !is_readable(name)) {
        None => Ok(()),
        Some(encoding) => Err(Error::data(
            format!("`{}` is XML in {encoding}", path.display()),
            format!(
                "convert it first: `iconv -f {encoding} -t UTF-8 '{}' | sed '1s/{encoding}/UTF-8/' > OUT`",
                path.display()
            ),
        )),
    }
}

/// Refuses a file of another format, which begins with the element `tag`.
fn check_root(path: &Path, tag: &BytesStart<'_>, kind: &Kind) -> Result<()> {
    let expected = match kind {
        Kind::Memory(_) => "tmx",
        Kind::Translated => "xliff",
    };
    let name = tag.local_name();
    let name: &str = name.as_ref();
    if name == expected {
        return Ok(());
    }
    Err(Error::data(
        format!("`{}` begins with `<{name}>`, not with `<{expected}>`", path.display()),
        format!("name a file of this format with `{expected}`"),
    ))
}

impl Unit {
    /// Begins an element; returns the language of a segment.
    fn start(&mut self, tag: &BytesStart<'_>, kind: &Kind) -> Option<String> {
        let name = tag.local_name();
        let name: &str = name.as_ref();
        // Other translations of a unit, and its segmentation, have sources and targets, too.
        let is_aside = ["alt-trans", "seg-source", "ignorable", "note"].contains(&name);
        if self.skipped > 0 || is_aside || self.text.is_some() && CODES.contains(&name) {
            self.leave_out(name);
            self.skipped += 1;
            return None;
        }
        // Segments of a unit stand beside each other.
        self.has_gap |= name == "mrk" && attribute(tag, "mtype").as_deref() == Some("seg");
        match (name, kind) {
            ("tu", Kind::Memory(_)) | ("trans-unit" | "segment", Kind::Translated) => {
                *self = Self { is_untranslated: is_untranslated(tag), ..Self::default() };
            }
            ("tuv", Kind::Memory(pair)) => {
                let language = attribute(tag, "lang").unwrap_or_default();
                let sides = [&pair.source, &pair.target];
                self.side = sides.iter().position(|code| fits(code, &language));
                return Some(language);
            }
            ("seg", Kind::Memory(_)) => self.text = self.side.map(|_| String::new()),
            ("source", Kind::Translated) => (self.side, self.text) = (Some(0), Some(String::new())),
            ("target", Kind::Translated) => {
                self.is_untranslated |= is_untranslated(tag);
                (self.side, self.text) = (Some(1), Some(String::new()));
            }
            _ => {}
        }
        None
    }

    /// Leaves out the element `name`. One that stands for something parts the words beside it.
    fn leave_out(&mut self, name: &str) {
        self.has_gap |= ["x", "ph"].contains(&name) && self.skipped == 0;
    }

    /// Ends an element; true if it is the unit.
    fn end(&mut self, name: &str, kind: &Kind) -> bool {
        if self.skipped > 0 {
            self.skipped -= 1;
            return false;
        }
        match (name, kind) {
            ("seg", Kind::Memory(_)) | ("source" | "target", Kind::Translated) => {
                if let (Some(side), Some(text)) = (self.side, self.text.take()) {
                    // The first segment in a language counts.
                    self.texts[side].get_or_insert(text);
                }
                false
            }
            ("tu", Kind::Memory(_)) | ("trans-unit" | "segment", Kind::Translated) => true,
            _ => false,
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(own) = self.text.as_mut().filter(|_| self.skipped == 0) {
            let ends = |c: char| c.is_alphanumeric() || ".,;:!?)".contains(c);
            let parts_words = own.ends_with(ends) && text.starts_with(char::is_alphanumeric);
            if std::mem::take(&mut self.has_gap) && parts_words {
                own.push(' ');
            }
            own.push_str(text);
        }
    }

    fn into_item(self) -> Item {
        let is_untranslated = self.is_untranslated;
        let [src, tgt] = self.texts.map(|text| on_one_line(&text.unwrap_or_default()).trim().to_owned());
        Item::Translation { src, tgt: if is_untranslated { String::new() } else { tgt } }
    }
}

/// Whether XLIFF's `state` says that there is no translation yet.
fn is_untranslated(tag: &BytesStart<'_>) -> bool {
    attribute(tag, "state").is_some_and(|state| UNTRANSLATED.contains(&&*state))
}

/// The value of an attribute, whatever its prefix.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut all = tag.attributes().flatten();
    let found = all.find(|one| AsRef::<str>::as_ref(&one.key.local_name()) == name)?;
    Some(found.value.to_string())
}

/// Whether `language` is the one with this code, or a variety of it: `en-US` of `en`.
fn fits(code: &str, language: &str) -> bool {
    let plain = |code: &str| code.replace('_', "-").to_lowercase();
    let (code, language) = (plain(code), plain(language));
    language == code || language.strip_prefix(&code).is_some_and(|rest| rest.starts_with('-'))
}

/// The character for a reference; a reference to an entity that is not known stays.
fn resolved(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return character.to_string();
    }
    let name: &str = reference;
    resolve_xml_entity(name).map_or_else(|| format!("&{name};"), str::to_owned)
}

/// An error of the reader at this byte, after so many units.
fn broken(path: &Path, at: u64, units: usize, error: XmlError) -> Error {
    match error {
        XmlError::Io(error) => {
            let foreign =
                error.get_ref().and_then(|inner| inner.downcast_ref::<ConvertibleFormat>()).copied();
            let error = foreign.map_or_else(|| io::Error::new(error.kind(), error.to_string()), Into::into);
            Interrupt::check().err().unwrap_or_else(|| unreadable(path)(error))
        }
        other => Error::Data {
            problem: format!(
                "`{}` is not well-formed XML at byte {at}, after {}: {other}",
                path.display(),
                count(units, "unit")
            ),
            hint: None,
        },
    }
}
