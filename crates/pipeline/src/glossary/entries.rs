//! The entries of a glossary.

use std::sync::Arc;

use attentive_base::count::count;

use super::finder;

/// The maximum number of bytes of a term.
const MAX_BYTES: usize = 1024;

/// The format of entries, each of which is on its own line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A term, a tab, and its translation.
    Tsv,
    /// A term and its translation, separated by a comma, optionally followed by the codes of both languages.
    Csv,
}

/// A term and its translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlossaryEntry {
    pub source: String,
    pub target: Arc<str>,
}

/// The codes of the languages of an entry, if it has any.
pub type Codes = Option<[String; 2]>;

/// The entries of a text.
pub struct Entries<'a> {
    text: &'a str,
    format: Format,
    keeps: bool,
}

impl<'a> Entries<'a> {
    /// The entries of `text`, each on a line that is not blank.
    pub fn of(text: &'a str, format: Format) -> Self {
        Self { text: text.strip_prefix('\u{FEFF}').unwrap_or(text), format, keeps: false }
    }

    /// Also reads lines with a term alone: it is its own translation.
    #[must_use]
    pub fn with_kept(self) -> Self {
        Self { keeps: true, ..self }
    }

    /// The number of entries.
    pub fn count(&self) -> usize {
        self.lines().count()
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        (1..).zip(self.text.lines()).filter(|(_, line)| !line.trim().is_empty())
    }
}

impl<'a> IntoIterator for Entries<'a> {
    /// The number of the line, counted from 1, and its entry; or what is wrong with the line.
    type Item = Result<(usize, GlossaryEntry, Codes), String>;
    type IntoIter = Box<dyn Iterator<Item = Self::Item> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        let Self { format, keeps, .. } = self;
        Box::new(self.lines().map(move |(number, line)| {
            let (entry, codes) =
                entry(line, format, keeps).map_err(|problem| format!("line {number} {problem}"))?;
            Ok((number, entry, codes))
        }))
    }
}

impl GlossaryEntry {
    /// An entry of a term and its translation, without the blanks around them.
    ///
    /// # Errors
    /// What is wrong with either.
    pub fn new(source: &str, target: &str) -> Result<Self, String> {
        Ok(Self { source: term("source", source)?, target: term("target", target)?.into() })
    }

    /// The maximum number of bytes of memory of an entry, including its part of what finds it.
    pub fn memory(&self) -> usize {
        /// The overhead of the strings in bytes.
        const STRINGS: usize = 128;
        let letters = 3 * self.source.len() + self.target.len();
        STRINGS + letters + 2 * finder::MEMORY * finder::words(&self.source).count()
    }
}

/// The entry on a line.
fn entry(line: &str, format: Format, keeps: bool) -> Result<(GlossaryEntry, Codes), String> {
    let fields: Vec<String> = match format {
        Format::Tsv => line.split('\t').map(str::to_owned).collect(),
        Format::Csv => csv(line)?,
    };
    let (source, target, codes) = match (format, &fields[..]) {
        (_, [kept]) if keeps => (kept, kept, None),
        (_, [source, target]) => (source, target, None),
        (Format::Csv, [source, target, from, to]) => {
            (source, target, Some([from, to].map(|code| code.trim().to_owned())))
        }
        (Format::Tsv, found) => {
            let tabs = count(found.len() - 1, "tab");
            return Err(format!("has {tabs} instead of 1"));
        }
        (Format::Csv, found) => {
            let fields = count(found.len(), "field");
            return Err(format!("has {fields} instead of 2 or 4"));
        }
    };
    Ok((GlossaryEntry::new(source, target)?, codes))
}

/// A term without the blanks around it.
fn term(side: &str, text: &str) -> Result<String, String> {
    /// The maximum number of words of a term, so that searching for it is fast.
    const MAX_WORDS: usize = 64;
    let text = text.trim();
    let is_bad = |c: char| c.is_control() || ['\u{2028}', '\u{2029}'].contains(&c);
    let problem = match text {
        "" => "nothing".to_owned(),
        _ if text.len() > MAX_BYTES => format!("more than {MAX_BYTES} bytes"),
        _ if text.contains(is_bad) => "a control character".to_owned(),
        _ if finder::words(text).nth(2 * MAX_WORDS).is_some() => {
            format!("more than {MAX_WORDS} words")
        }
        _ => return Ok(text.to_owned()),
    };
    Err(format!("has {problem} as its {side} term"))
}

/// The fields of a line, which are separated by commas. A field in quotation marks may contain commas, and
/// doubled quotation marks.
fn csv(line: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(' ');
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let (field, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                (field.to_owned(), after)
            }
        };
        fields.push(field);
        let after = after.trim_start_matches(' ');
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(fields),
            None => return Err("goes on after a closing quotation mark".into()),
        }
    }
}

/// The text up to the closing quotation mark, and what follows.
fn unquoted(mut rest: &str) -> Result<(String, &str), String> {
    let mut field = String::new();
    while let Some((before, after)) = rest.split_once('"') {
        field.push_str(before);
        match after.strip_prefix('"') {
            Some(next) => {
                field.push('"');
                rest = next;
            }
            None => return Ok((field, after)),
        }
    }
    Err("has no closing quotation mark".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(format: Format, entries: &str) -> Result<Vec<[String; 2]>, String> {
        let pair = |line: Result<(usize, GlossaryEntry, Codes), String>| {
            line.map(|(_, entry, _)| [entry.source, entry.target.to_string()])
        };
        Entries::of(entries, format).into_iter().map(pair).collect()
    }

    #[test]
    fn both_formats_are_read() {
        let found = pairs(Format::Tsv, "\u{FEFF}a b\t c\r\n\n \"d\"\te,f \n").unwrap();
        assert_eq!(found, [["a b", "c"], ["\"d\"", "e,f"]]);
        let text = "a,b\n\"c, d\" , \"say \"\"e\"\"\",EN,de\r\n\nf,g\"h\n";
        let found = pairs(Format::Csv, text).unwrap();
        assert_eq!(found, [["a", "b"], ["c, d", "say \"e\""], ["f", "g\"h"]]);
        let (_, _, codes) = Entries::of("a,b,EN, de", Format::Csv).into_iter().next().unwrap().unwrap();
        assert_eq!(codes, Some(["EN".into(), "de".into()]));
    }

    #[test]
    fn mistakes_are_named() {
        let long = "x".repeat(MAX_BYTES + 1);
        let words = "x ".repeat(65);
        for (format, text, expected) in [
            (Format::Tsv, "a\tb\n\nc d", "line 3 has 0 tabs"),
            (Format::Tsv, "a\tb\tc", "line 1 has 2 tabs"),
            (Format::Tsv, "a\t ", "line 1 has nothing as its target"),
            (Format::Tsv, "\u{7}\ta", "control character as its source"),
            (Format::Tsv, &format!("a\t{long}"), "more than 1024 bytes"),
            (Format::Tsv, &format!("{words}\ta"), "more than 64 words"),
            (Format::Csv, "a,b,c", "line 1 has 3 fields"),
            (Format::Csv, "a", "line 1 has 1 field instead"),
            (Format::Csv, "\"a,b", "no closing quotation mark"),
            (Format::Csv, "\"a\"b,c", "goes on after a closing"),
        ] {
            let problem = pairs(format, text).unwrap_err();
            assert!(problem.contains(expected), "{text:?}: {problem}");
        }
    }
}
