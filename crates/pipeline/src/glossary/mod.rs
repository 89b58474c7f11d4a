//! Glossaries: terms and the translations that they must have.

mod entries;
mod evidence;
mod finder;
mod partial_placement;
mod place;
mod spans;
mod trial;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_data::is_control;
use attentive_text::composed;

use finder::Finder;
use partial_placement::with_case;

pub use entries::{Codes, Entries, Format, GlossaryEntry};
pub use place::Unplaced;

/// Terms and their translations.
#[derive(Debug, Default)]
pub struct Glossary {
    entries: Vec<GlossaryEntry>,
    finder: Finder,
}

/// A text and the terms in it.
#[derive(Clone, Debug, Default)]
pub struct GlossedText {
    /// The text as its terms are found: composed, without control characters.
    pub text: String,
    /// In the order of the text.
    pub terms: Vec<Term>,
}

/// A term in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The bytes of [`GlossedText::text`].
    pub range: Range<usize>,
    /// The translation that it must have.
    pub target: Arc<str>,
}

impl GlossedText {
    /// The translation of a text that is nothing but a term, perhaps with punctuation around it.
    fn alone(&self) -> Option<String> {
        let [Term { range, target }] = &self.terms[..] else { return None };
        let (before, after) = (&self.text[..range.start], &self.text[range.end..]);
        let is_alone = !before.chars().chain(after.chars()).any(char::is_alphanumeric);
        let source = &self.text[range.clone()];
        let target = with_case(source, target, source.starts_with(char::is_uppercase));
        is_alone.then(|| format!("{before}{target}{after}"))
    }
}

impl Glossary {
    /// Reads a file: comma-separated if its name ends in `.csv`, and otherwise tab-separated. A line with a
    /// term alone says that it is not translated.
    ///
    /// # Errors
    /// The errors of [`regular_file::read_text`]; [`Error::Data`] with the first line that is not an entry.
    pub fn read(path: &Path) -> Result<Self> {
        /// The maximum number of bytes of a file.
        const MAX_FILE_BYTES: u64 = 64 << 20;
        let text = regular_file::read_text(path, MAX_FILE_BYTES)?;
        let is_csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        let format = if is_csv { Format::Csv } else { Format::Tsv };
        let wrong = |problem: String| {
            Error::data(
                format!("`{}`: {problem}", path.display()),
                "each line has a term, a tab and its translation; or, in a CSV file, a comma",
            )
        };
        Self::parse(&text, format).map_err(wrong)
    }

    /// Reads the lines of `text`.
    ///
    /// # Errors
    /// The first line that is not an entry, or that no entry is there.
    pub fn parse(text: &str, format: Format) -> Result<Self, String> {
        let mut glossary = Self::default();
        let mut languages = None;
        for line in Entries::of(text, format).with_kept() {
            let (number, entry, of) = line?;
            if *languages.get_or_insert_with(|| of.clone()) != of {
                return Err(format!("line {number} is of other languages than the lines before it"));
            }
            glossary.insert(entry).map_err(|problem| format!("line {number} {problem}"))?;
        }
        if glossary.entries.is_empty() { Err("there are no entries".into()) } else { Ok(glossary) }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// The problem, if its term has another translation already.
    pub fn insert(&mut self, entry: GlossaryEntry) -> Result<(), String> {
        match self.finder.insert(&entry.source, self.entries.len()) {
            None => self.entries.push(entry),
            Some(known) if self.entries[known].target == entry.target => (),
            Some(known) => {
                return Err(format!("has a second translation of `{}`", self.entries[known].source));
            }
        }
        Ok(())
    }

    /// The entries in the order in which they were added.
    pub fn entries(&self) -> &[GlossaryEntry] {
        &self.entries
    }

    /// Finds the terms in `text`, in whichever case and Unicode form it is written. Of overlapping terms, the
    /// first one is taken, and of those with the same start the longest.
    pub fn find(&self, text: &str) -> GlossedText {
        let clean: String = text.chars().map(|c| if is_control(c) { ' ' } else { c }).collect();
        let text = composed(clean.trim()).into_owned();
        let term = |(range, entry): (Range<usize>, usize)| Term {
            range,
            target: Arc::clone(&self.entries[entry].target),
        };
        let terms = self.finder.find(&text).into_iter().map(term).collect();
        GlossedText { text, terms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_found_with_their_translations() {
        let glossary = Glossary::parse("dog\tHund\nNew York\tNY\n", Format::Tsv).unwrap();
        let GlossedText { text, terms } = glossary.find(" A Dog\u{7}in New  York. ");
        let found = terms.iter().map(|term| (&text[term.range.clone()], &*term.target));
        assert_eq!(found.collect::<Vec<_>>(), [("Dog", "Hund"), ("New  York", "NY")]);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("", "no entries"),
            ("a\tb\na\tc", "line 2 has a second translation of `a`"),
            ("a\tb\tc", "line 1 has 2 tabs"),
        ] {
            let problem = Glossary::parse(text, Format::Tsv).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
        let problem = Glossary::parse("a,b,en,de\nc,d,en,fr", Format::Csv).unwrap_err();
        assert!(problem.contains("line 2 is of other languages"), "{problem}");
        let same = Glossary::parse("a\tb\na\tb\nc", Format::Tsv).unwrap();
        assert_eq!(same.entries().len(), 2);
        assert_eq!(&*same.entries()[1].target, "c");
    }
}
