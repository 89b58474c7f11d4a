//! Reads corpora line by line from files and generators.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::form::Form;
use super::intake::{Filters, Intake, ReadStats};
use super::item::{Entry, Fault, Item, TagInput};
use super::lines::{Line, Lines, MAX_LINE_BYTES, MAX_RECORD_BYTES};
use super::stored::{Hashed, SourceFile};
use super::{builtin, json, patterns};
use crate::config::CorpusSource;
use crate::error::{Error, Result};

/// Maximum length of a TSV line: two sentences and a tab.
const MAX_TSV_BYTES: usize = 2 * MAX_LINE_BYTES + 1;

/// Reads the usable lines of a corpus one by one, for any [`Form`] except a [`Form::Stream`] in a file. Unusable lines are
/// dropped and counted in [`ReadStats`]. At most one line is buffered. Several corpora are read one after another, and their
/// lines are numbered continuously.
#[derive(Debug)]
pub struct Reader {
    intake: Intake,
    records: Records,
    /// The seed of built-in corpora.
    seed: u64,
    /// The corpora to read after `records`, in reverse order, each with the number of its part.
    rest: Vec<(usize, CorpusSource)>,
    /// The part that is being read.
    part: usize,
    /// The number of the last line of each part that has been read.
    ends: Vec<usize>,
    /// The files that have been read.
    files: Vec<SourceFile>,
    /// The files with their last lines, for messages.
    places: Places,
}

/// The files that the lines of a corpus come from.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Each file and the number of its last line in the corpus, in order.
    files: Vec<(PathBuf, usize)>,
}

impl Places {
    /// An error about line `number` of the corpus.
    pub(super) fn error(&self, number: usize, problem: String) -> Error {
        let file = self.files.partition_point(|(_, last)| *last < number);
        match (self.files.get(file), file.checked_sub(1)) {
            (None, _) => Error::Data {
                problem: format!("line {number} of the corpus: {problem}"),
                hint: None,
            },
            (Some((path, _)), None) => Error::line(path, number, problem),
            (Some((path, _)), Some(before)) => {
                Error::line(path, number - self.files[before].1, problem)
            }
        }
    }
}

/// A source of lines.
#[derive(Debug)]
enum Records {
    Aligned {
        src: Box<Lines<Hashed<File>>>,
        tgt: Box<Lines<Hashed<File>>>,
    },
    Each {
        lines: Box<Lines<Hashed<File>>>,
        parse: fn(&str, Form) -> Result<Item, String>,
    },
    Generated(builtin::Examples),
}

/// The next thing read from a corpus.
enum Next {
    Item(Item),
    /// A line that is dropped.
    Fault(Fault),
    End,
}

impl Reader {
    /// Opens the corpus of `form` given by `source`. Relative paths are resolved against `dir`; `seed` is used for built-in
    /// corpora.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read, [`Error::Config`] if `source` cannot provide `form`, and [`Error::Data`] if a
    /// pattern matches no file.
    pub fn open(source: &CorpusSource, form: Form, dir: Option<&Path>, seed: u64) -> Result<Self> {
        let mut rest = Vec::new();
        for (part, (source, _)) in source.parts().into_iter().enumerate() {
            let expanded = patterns::expand(source, dir)?.into_iter();
            rest.extend(expanded.map(|source| (part, source)));
        }
        rest.reverse();
        let Some((part, first)) = rest.pop() else {
            return Err(unfit(form, "none"));
        };
        let records = Records::open(&first, form, seed)?;
        // A missing file is reported at once. Opening the files here would disturb pipes.
        for file in rest.iter().flat_map(|(_, source)| source.files()) {
            fs::metadata(file).map_err(Error::io("read", file))?;
        }
        Ok(Self {
            intake: Intake::new(form),
            records,
            seed,
            rest,
            part,
            ends: Vec::new(),
            files: Vec::new(),
            places: Places::default(),
        })
    }

    /// Also drops the lines that match `filters`.
    pub fn filtered(self, filters: Filters) -> Self {
        Self {
            intake: self.intake.filtered(filters),
            ..self
        }
    }

    /// Returns the next usable line; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read, [`Error::Line`] if a line is not UTF-8, malformed, or has the wrong number of
    /// tags, and [`Error::Unaligned`] if aligned files differ in length.
    pub fn next_entry(&mut self) -> Result<Option<Entry>> {
        loop {
            let Self {
                intake, records, ..
            } = self;
            let admitted = match records.next(intake.form)? {
                Next::End => match self.begin_next()? {
                    true => continue,
                    false => return Ok(None),
                },
                Next::Fault(fault) => {
                    intake.skip(fault);
                    Ok(None)
                }
                Next::Item(item) => intake.admit(item),
            };
            let entry = admitted.map_err(|problem| records.error(problem))?;
            if entry.is_some() {
                return Ok(entry);
            }
        }
    }

    /// Begins the next corpus; false if there is none.
    fn begin_next(&mut self) -> Result<bool> {
        let lines = self.intake.stats.lines;
        if let Some(path) = self.records.paths().last() {
            self.places.files.push((path.to_path_buf(), lines));
        }
        let Some((part, source)) = self.rest.pop() else {
            self.ends.resize(self.part + 1, lines);
            return Ok(false);
        };
        self.ends.resize(part, lines);
        self.part = part;
        let next = Records::open(&source, self.intake.form, self.seed)?;
        let read = std::mem::replace(&mut self.records, next);
        self.files.extend(read.finish());
        Ok(true)
    }

    /// Returns the number of the last line of each part that has been read.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Rejects a corpus without usable lines.
    ///
    /// # Errors
    /// [`Error::Data`] with the counts of dropped lines.
    pub fn check_not_empty(&self) -> Result<()> {
        if self.stats().kept() > 0 {
            return Ok(());
        }
        let read = self.files.iter().map(|file| file.path.as_path());
        let names = read.chain(self.records.paths());
        let names: Vec<String> = names.map(|path| format!("`{}`", path.display())).collect();
        Err(Error::Data {
            problem: format!(
                "no usable data in {}: {}",
                names.join(" and "),
                self.stats()
            ),
            hint: Some("check that these are the right files".into()),
        })
    }

    /// Returns the kind of data in the lines.
    pub(super) fn form(&self) -> Form {
        self.intake.form
    }

    /// Returns the next usable lines, at most `most`; none at the end.
    ///
    /// # Errors
    /// Any error of [`Reader::next_entry`].
    pub fn next_entries(&mut self, most: usize) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        while entries.len() < most
            && let Some(entry) = self.next_entry()?
        {
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Returns statistics of the lines read and dropped so far.
    pub fn stats(&self) -> ReadStats {
        self.intake.stats
    }

    /// Returns an error about a line that has been read.
    pub fn error(&self, line: usize, problem: String) -> Error {
        let mut places = self.places.clone();
        if let Some(path) = self.records.paths().last() {
            places.files.push((path.to_path_buf(), usize::MAX));
        }
        places.error(line, problem)
    }

    /// Returns the files that the lines come from; complete after the last line.
    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    /// Returns the files that were read, after the last line; none for a built-in corpus.
    pub fn finish(self) -> Vec<SourceFile> {
        let mut files = self.files;
        files.extend(self.records.finish());
        files
    }
}

impl Records {
    /// Opens one corpus, whose paths are resolved.
    fn open(source: &CorpusSource, form: Form, seed: u64) -> Result<Self> {
        let each = |path: &PathBuf, limit, parse| -> Result<Self> {
            let lines = Box::new(Lines::open(path, limit)?);
            Ok(Self::Each { lines, parse })
        };
        let has_columns = matches!(
            form,
            Form::Translations | Form::TaggedTokens | Form::Labeled
        );
        match source {
            CorpusSource::Aligned { src, tgt } if has_columns => Ok(Self::Aligned {
                src: Box::new(Lines::open(src, MAX_LINE_BYTES)?),
                tgt: Box::new(Lines::open(tgt, MAX_LINE_BYTES)?),
            }),
            CorpusSource::Tsv(tsv) if has_columns => each(tsv, MAX_TSV_BYTES, split_tsv),
            CorpusSource::Jsonl(jsonl) if has_columns || matches!(form, Form::TaggedVectors(_)) => {
                each(jsonl, MAX_RECORD_BYTES, json::parse)
            }
            CorpusSource::Text(text) if form == Form::Lines => {
                each(text, MAX_LINE_BYTES, |line, _| {
                    Ok(Item::Text(line.to_owned()))
                })
            }
            CorpusSource::Builtin { task, pairs } => {
                let examples = builtin::generate(*task, seed, *pairs);
                Ok(Self::Generated(examples))
            }
            _ => Err(unfit(form, "another corpus")),
        }
    }

    /// The files.
    fn paths(&self) -> impl Iterator<Item = &Path> {
        let paths = match self {
            Self::Aligned { src, tgt } => [Some(src.path()), Some(tgt.path())],
            Self::Each { lines, .. } => [Some(lines.path()), None],
            Self::Generated(_) => [None, None],
        };
        paths.into_iter().flatten()
    }

    /// The files that were read to the end.
    fn finish(self) -> impl Iterator<Item = SourceFile> {
        let files = match self {
            Self::Aligned { src, tgt } => [src.finish(), tgt.finish()],
            Self::Each { lines, .. } => [lines.finish(), None],
            Self::Generated(_) => [None, None],
        };
        files.into_iter().flatten()
    }

    fn next(&mut self, form: Form) -> Result<Next> {
        match self {
            Self::Aligned { src, tgt } => next_aligned(src, tgt, form),
            Self::Each { lines, parse } => Ok(match lines.next_line()? {
                None => Next::End,
                Some(Line::TooLong) => Next::Fault(Fault::TooLong),
                Some(Line::Text(text)) if text.trim().is_empty() => Next::Fault(Fault::Empty),
                Some(Line::Text(text)) => match parse(text, form) {
                    Ok(item) => Next::Item(item),
                    Err(problem) => return Err(self.error(problem)),
                },
            }),
            Self::Generated(examples) => match examples.next() {
                None => Ok(Next::End),
                Some(example) => from_example(example, form).map(Next::Item),
            },
        }
    }

    /// An error about the current line.
    fn error(&self, problem: String) -> Error {
        match self {
            Self::Aligned { tgt: lines, .. } | Self::Each { lines, .. } => {
                Error::line(lines.path(), lines.count(), problem)
            }
            Self::Generated(_) => Error::Data {
                problem,
                hint: None,
            },
        }
    }
}

fn next_aligned(
    src: &mut Lines<Hashed<File>>,
    tgt: &mut Lines<Hashed<File>>,
    form: Form,
) -> Result<Next> {
    Ok(match (src.next_line()?, tgt.next_line()?) {
        (None, None) => Next::End,
        (Some(_), None) | (None, Some(_)) => {
            return Err(Error::Unaligned {
                first_lines: src.count_all()?,
                first: src.path().to_path_buf(),
                second_lines: tgt.count_all()?,
                second: tgt.path().to_path_buf(),
            });
        }
        (Some(Line::Text(src)), Some(Line::Text(line))) => {
            match Item::from_columns(src, line, form) {
                Ok(item) => Next::Item(item),
                Err(problem) => return Err(Error::line(tgt.path(), tgt.count(), problem)),
            }
        }
        (Some(Line::Text(side)), Some(Line::TooLong))
        | (Some(Line::TooLong), Some(Line::Text(side)))
            if side.trim().is_empty() =>
        {
            Next::Fault(Fault::Empty)
        }
        _ => Next::Fault(Fault::TooLong),
    })
}

/// The error for a source that cannot provide `form`.
pub(super) fn unfit(form: Form, found: &str) -> Error {
    Error::Config {
        key: "data".into(),
        expected: format!("a corpus with {}", form.name()),
        found: found.into(),
        hint: None,
    }
}

fn split_tsv(line: &str, form: Form) -> Result<Item, String> {
    let columns: Vec<&str> = line.split('\t').collect();
    match (&columns[..], form) {
        ([label, text], Form::Labeled) => Item::from_columns(text, label, form),
        ([src, tgt], _) => Item::from_columns(src, tgt, form),
        _ => Err(format!(
            "expected 2 tab-separated columns, found {}",
            columns.len()
        )),
    }
}

fn from_example(example: builtin::Example, form: Form) -> Result<Item> {
    let builtin::Example { src, tgt, label } = example;
    Ok(match form {
        Form::Translations => Item::Translation {
            src: src.text,
            tgt: tgt.text,
        },
        Form::TaggedTokens => Item::Tagged {
            input: TagInput::Tokens(src.tokens),
            tags: src.tags.iter().map(|tag| tag.as_str().into()).collect(),
        },
        Form::Labeled => Item::Labeled {
            text: src.text,
            label: label
                .ok_or_else(|| unfit(form, "generated pairs without labels"))?
                .as_str()
                .into(),
        },
        Form::Lines | Form::Stream => Item::Text(tgt.text),
        Form::TaggedVectors(_) => return Err(unfit(form, "generated sentences")),
    })
}
