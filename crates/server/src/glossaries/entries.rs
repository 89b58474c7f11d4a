//! The entries of a glossary.

use attentive_base::count::count;

use super::finder::{self, Finder};
use super::{Draft, LONGEST, MOST_BYTES, MOST_ENTRIES, full};
use crate::desk::Stop;
use crate::language::Language;
use crate::problem::{Kind, Problem};
use crate::shares::Share;

/// The format of entries, each of which is on its own line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A term, a tab, and its translation.
    Tsv,
    /// A term and its translation, separated by a comma, optionally followed by the codes of both languages.
    Csv,
}

/// A term and its translation.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) source: String,
    pub(crate) target: String,
}

/// Refuses entries that are too long, or too many.
pub(super) fn check_size(entries: &str) -> Result<(), Problem> {
    let too_large =
        |problem| Problem { field: Some("entries".into()), ..Problem::new(Kind::TooLarge, problem) };
    if entries.len() > MOST_BYTES {
        let problem = format!("the entries have more than {MOST_BYTES} bytes");
        return Err(too_large(problem));
    }
    let found = lines(entries).count();
    if found > MOST_ENTRIES {
        let problem = format!("there are {found} entries; a glossary may have at most {MOST_ENTRIES}");
        return Err(too_large(problem));
    }
    Ok(())
}

/// Reads the entries of `draft`, and builds their finder. Their memory is counted before it is allocated.
///
/// # Errors
/// A [`Problem`] with the first line that is not an entry, or if there is not enough memory.
pub(super) fn read(draft: &Draft, memory: &Share, stop: &Stop) -> Result<(Vec<Entry>, Finder), Problem> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut finder = Finder::default();
    for (number, line) in lines(&draft.entries) {
        stop.check()?;
        let wrong = |problem: String| {
            let problem = format!("Invalid glossary entries provided: line {number} {problem}");
            Problem::field("entries", problem)
        };
        let entry = entry(line, draft).map_err(wrong)?;
        memory
            .grow(entry.memory())
            .map_err(|_| full("this glossary and the others need more RAM than the server has for them"))?;
        let place = entries.len();
        if let Some(first) = finder.insert(&entry.source, place) {
            let source = &entries[first].source;
            return Err(wrong(format!("has a second translation of `{source}`")));
        }
        entries.push(entry);
    }
    if entries.is_empty() {
        let problem = "Missing or invalid argument: entries";
        Err(Problem::field("entries", problem))
    } else {
        Ok((entries, finder))
    }
}

impl Entry {
    /// The maximum number of bytes of memory of an entry, including its part of the finder.
    fn memory(&self) -> usize {
        /// The overhead of the strings in bytes.
        const STRINGS: usize = 128;
        let letters = 2 * self.source.len() + self.target.len();
        STRINGS + letters + finder::MEMORY * finder::words(&self.source).count()
    }
}

/// The lines that are not blank, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let lines = (1..).zip(text.lines());
    lines.filter(|(_, line)| !line.trim().is_empty())
}

/// The entry on a line.
fn entry(line: &str, draft: &Draft) -> Result<Entry, String> {
    let fields = match draft.format {
        Format::Tsv => line.split('\t').map(str::to_owned).collect(),
        Format::Csv => csv(line)?,
    };
    let (source, target) = match (draft.format, &fields[..]) {
        (_, [source, target]) => (source, target),
        (Format::Csv, [source, target, from, to]) => {
            let direction = &draft.direction;
            for (code, language) in [(from, &direction.source), (to, &direction.target)] {
                let known = code.trim().parse::<Language>();
                if !known.is_ok_and(|known| known.base() == language.base()) {
                    return Err(format!("is of another language than the glossary: `{code}`"));
                }
            }
            (source, target)
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
    Ok(Entry { source: term("source", source)?, target: term("target", target)? })
}

/// A term without the blanks around it.
fn term(side: &str, text: &str) -> Result<String, String> {
    /// The maximum number of words of a term, so that searching for it is fast.
    const MOST_WORDS: usize = 64;
    let text = text.trim();
    let is_bad = |c: char| c.is_control() || ['\u{2028}', '\u{2029}'].contains(&c);
    let problem = match text {
        "" => "nothing".to_owned(),
        _ if text.len() > LONGEST => format!("more than {LONGEST} bytes"),
        _ if text.contains(is_bad) => "a control character".to_owned(),
        _ if finder::words(text).nth(2 * MOST_WORDS).is_some() => {
            format!("more than {MOST_WORDS} words")
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
    use attentive_pipeline::service::Client;

    use super::*;
    use crate::language::Direction;
    use crate::shares::Shares;

    fn pairs(format: Format, entries: &str) -> Result<Vec<[String; 2]>, String> {
        let draft = Draft {
            name: "terms".into(),
            direction: Direction::of_name("en-de").unwrap(),
            format,
            entries: entries.into(),
        };
        let memory = Shares::new(1 << 20, 1 << 20).of(Client(0));
        let read = read(&draft, &memory, &Stop::default());
        let (entries, _) = read.map_err(|problem| problem.message)?;
        let pairs = entries.into_iter().map(|one| [one.source, one.target]);
        Ok(pairs.collect())
    }

    #[test]
    fn both_formats_are_read() {
        let found = pairs(Format::Tsv, "\u{FEFF}a b\t c\r\n\n \"d\"\te,f \n").unwrap();
        assert_eq!(found, [["a b", "c"], ["\"d\"", "e,f"]]);
        let text = "a,b\n\"c, d\" , \"say \"\"e\"\"\",EN,de\r\n\nf,g\"h\n";
        let found = pairs(Format::Csv, text).unwrap();
        assert_eq!(found, [["a", "b"], ["c, d", "say \"e\""], ["f", "g\"h"]]);
    }

    #[test]
    fn mistakes_are_named() {
        let long = "x".repeat(LONGEST + 1);
        let words = "x ".repeat(65);
        for (format, text, expected) in [
            (Format::Tsv, "", "argument: entries"),
            (Format::Tsv, "\n \n", "argument: entries"),
            (Format::Tsv, "a\tb\n\nc d", "line 3 has 0 tabs"),
            (Format::Tsv, "a\tb\tc", "line 1 has 2 tabs"),
            (Format::Tsv, "a\t ", "line 1 has nothing as its target"),
            (Format::Tsv, "\u{7}\ta", "control character as its source"),
            (Format::Tsv, &format!("a\t{long}"), "more than 1024 bytes"),
            (Format::Tsv, &format!("{words}\ta"), "more than 64 words"),
            (Format::Tsv, "a  b\tc\nd\te\na b\tf", "line 3 has a second translation of `a  b`"),
            (Format::Csv, "a,b,c", "line 1 has 3 fields"),
            (Format::Csv, "a", "line 1 has 1 field instead"),
            (Format::Csv, "\"a,b", "no closing quotation mark"),
            (Format::Csv, "\"a\"b,c", "goes on after a closing"),
            (Format::Csv, "a,b,en,fr", "another language than the glossary: `fr`"),
        ] {
            let problem = pairs(format, text).unwrap_err();
            assert!(problem.contains(expected), "{text:?}: {problem}");
        }
    }
}
