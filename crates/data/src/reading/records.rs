//! The lines of one corpus, from files and generators.

use std::io;
use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_config::{Column, CorpusFile, CorpusFormat, CorpusSource};

use crate::builtin;
use crate::corpus::data_kind::DataKind;
use crate::corpus::item::{DropReason, Item, TagInput};
use crate::reading::csv_table::CsvTable;
use crate::reading::in_memory_lines::InMemoryLines;
use crate::reading::interruptible_file::InterruptibleFile;
use crate::reading::json_lines;
use crate::reading::lines::{Line, Lines, MAX_LINE_BYTES, MAX_RECORD_BYTES};
use crate::reading::source_file::{Hashed, SourceFile};
use crate::reading::table_columns::TableColumns;
use crate::reading::translation_units::TranslationUnits;

/// Maximum length of a TSV line: two sentences and a tab, and as much for other columns.
const MAX_TSV_BYTES: usize = 4 * MAX_LINE_BYTES;

/// A source of lines.
#[derive(Debug)]
pub(crate) enum Records {
    Aligned { src: Box<Lines<Hashed<InterruptibleFile>>>, tgt: Box<Lines<Hashed<InterruptibleFile>>> },
    Each { lines: Box<Lines<Hashed<InterruptibleFile>>>, parse: Parse },
    Table(Box<CsvTable>),
    Units(Box<TranslationUnits>),
    Generated(builtin::BuiltinExamples),
    InMemory(Box<InMemoryLines>),
}

/// How a line is read.
#[derive(Debug)]
pub(crate) enum Parse {
    Text,
    Tsv(TableColumns),
    /// The fields of the two sides, if they are not the usual ones.
    Json(Option<[Column; 2]>),
}

impl Parse {
    /// Reads a line; `None` for a header.
    fn read(&mut self, line: &str, kind: DataKind) -> Result<Option<Item>, String> {
        match self {
            Self::Text => Ok(Some(Item::Text(line.to_owned()))),
            Self::Tsv(columns) => {
                let fields: Vec<&str> = line.split('\t').collect();
                let found = columns.read(&fields, kind);
                found.map_err(|problem| {
                    let problem = problem.replace("columns, found", "tab-separated columns, found");
                    match &fields[..] {
                        [line] if line.contains(',') => {
                            format!("{problem}; if it is comma-separated, name the file with `csv`")
                        }
                        _ => problem,
                    }
                })
            }
            Self::Json(None) => json_lines::parse(line, kind).map(Some),
            Self::Json(Some(columns)) => json_lines::parse_fields(line, columns, kind).map(Some),
        }
    }
}

/// The next thing read from a corpus.
pub(crate) enum Next {
    Item(Item),
    /// A line that is dropped.
    Dropped(DropReason),
    End,
}

impl Records {
    /// Opens one corpus, whose paths are resolved.
    pub(crate) fn open(source: &CorpusSource, kind: DataKind, seed: u64) -> Result<Self> {
        let has_columns = matches!(kind, DataKind::Translations | DataKind::TaggedTokens | DataKind::Labeled);
        match source {
            CorpusSource::Aligned { src, tgt, .. } if has_columns => Ok(Self::Aligned {
                src: Box::new(Lines::open(src, MAX_LINE_BYTES)?),
                tgt: Box::new(Lines::open(tgt, MAX_LINE_BYTES)?),
            }),
            CorpusSource::File(file) => Self::open_file(file, kind, has_columns),
            CorpusSource::Builtin { task, pairs } => {
                let examples = builtin::generate(*task, seed, *pairs);
                Ok(Self::Generated(examples))
            }
            CorpusSource::InMemory { .. } => Err(unfit(kind, "lines in another program's RAM")),
            _ => Err(unfit(kind, "another corpus")),
        }
    }

    fn open_file(file: &CorpusFile, kind: DataKind, has_columns: bool) -> Result<Self> {
        let CorpusFile { path, format, columns, languages, .. } = file;
        let columns = || TableColumns::new(columns.clone());
        let each = |limit, parse| -> Result<Self> {
            let lines = Box::new(Lines::open(path, limit)?);
            Ok(Self::Each { lines, parse })
        };
        let units = |units: io::Result<TranslationUnits>| -> Result<Self> {
            Ok(Self::Units(Box::new(units.map_err(Error::io("read", path))?)))
        };
        match (format, languages) {
            (CorpusFormat::Tsv, _) if has_columns => each(MAX_TSV_BYTES, Parse::Tsv(columns())),
            (CorpusFormat::Csv, _) if has_columns => {
                let table = CsvTable::open(path, columns()).map_err(Error::io("read", path))?;
                Ok(Self::Table(Box::new(table)))
            }
            (CorpusFormat::Jsonl, _) if has_columns || matches!(kind, DataKind::TaggedVectors(_)) => {
                each(MAX_RECORD_BYTES, Parse::Json(file.columns.clone()))
            }
            (CorpusFormat::Tmx, Some(pair)) if kind == DataKind::Translations => {
                units(TranslationUnits::memory(path, pair.clone()))
            }
            (CorpusFormat::Xliff, _) if kind == DataKind::Translations => {
                units(TranslationUnits::translated(path))
            }
            (CorpusFormat::Text, _) if kind == DataKind::Lines => each(MAX_LINE_BYTES, Parse::Text),
            _ => Err(unfit(kind, "another corpus")),
        }
    }

    /// The lines `items` in RAM.
    pub(crate) fn in_memory(items: Vec<Item>) -> Self {
        Self::InMemory(Box::new(InMemoryLines::new(items)))
    }

    /// The files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let paths = match self {
            Self::Aligned { src, tgt } => [Some(src.path()), Some(tgt.path())],
            Self::Each { lines, .. } => [Some(lines.path()), None],
            Self::Table(table) => [Some(table.path()), None],
            Self::Units(units) => [Some(units.path()), None],
            Self::Generated(_) | Self::InMemory(_) => [None, None],
        };
        paths.into_iter().flatten()
    }

    /// The files that were read to the end.
    pub(crate) fn finish(self) -> impl Iterator<Item = SourceFile> {
        let files = match self {
            Self::Aligned { src, tgt } => [src.finish(), tgt.finish()],
            Self::Each { lines, .. } => [lines.finish(), None],
            Self::Table(table) => [table.finish(), None],
            Self::Units(units) => [units.finish(), None],
            Self::InMemory(lines) => [Some(lines.finish()), None],
            Self::Generated(_) => [None, None],
        };
        files.into_iter().flatten()
    }

    pub(crate) fn next(&mut self, kind: DataKind) -> Result<Next> {
        match self {
            Self::Aligned { src, tgt } => next_aligned(src, tgt, kind),
            Self::Each { lines, parse } => loop {
                return Ok(match lines.next_line()? {
                    None => Next::End,
                    Some(Line::TooLong) => Next::Dropped(DropReason::TooLong),
                    Some(Line::Text(text)) if text.trim().is_empty() => Next::Dropped(DropReason::Empty),
                    Some(Line::Text(text)) => match parse.read(text, kind) {
                        Ok(Some(item)) => Next::Item(item),
                        Ok(None) => continue,
                        Err(problem) => return Err(self.error(problem)),
                    },
                });
            },
            Self::Table(table) => Ok(table.next(kind)?.map_or(Next::End, Next::Item)),
            Self::Units(units) => Ok(units.next()?.map_or(Next::End, Next::Item)),
            Self::Generated(examples) => match examples.next() {
                None => Ok(Next::End),
                Some(example) => from_example(example, kind).map(Next::Item),
            },
            Self::InMemory(lines) => Ok(lines.next().map_or(Next::End, Next::Item)),
        }
    }

    /// The number of the current line in its file; 0 without a file.
    pub(crate) fn line(&self) -> usize {
        match self {
            Self::Aligned { tgt: lines, .. } | Self::Each { lines, .. } => lines.count(),
            Self::Table(table) => table.line(),
            Self::Units(units) => units.number(),
            Self::Generated(_) | Self::InMemory(_) => 0,
        }
    }

    /// An error about the current line.
    pub(crate) fn error(&self, problem: String) -> Error {
        match self {
            Self::Aligned { tgt: lines, .. } | Self::Each { lines, .. } => {
                Error::line(lines.path(), lines.count(), problem)
            }
            Self::Table(table) => Error::line(table.path(), table.line(), problem),
            Self::Units(units) => Error::Data {
                problem: format!("`{}`, unit {}: {problem}", units.path().display(), units.number()),
                hint: None,
            },
            Self::Generated(_) => Error::Data { problem, hint: None },
            Self::InMemory(lines) => Error::Data {
                problem: format!("line {} of the given corpus: {problem}", lines.line()),
                hint: None,
            },
        }
    }
}

fn next_aligned(
    src: &mut Lines<Hashed<InterruptibleFile>>,
    tgt: &mut Lines<Hashed<InterruptibleFile>>,
    kind: DataKind,
) -> Result<Next> {
    // Both are read before either is an error, so that they stay aligned for who goes on after one.
    let lines = (src.next_line(), tgt.next_line());
    Ok(match (lines.0?, lines.1?) {
        (None, None) => Next::End,
        (Some(_), None) | (None, Some(_)) => {
            return Err(Error::Unaligned {
                first_lines: src.count_all()?,
                first: src.path().to_path_buf(),
                second_lines: tgt.count_all()?,
                second: tgt.path().to_path_buf(),
            });
        }
        (Some(Line::Text(src)), Some(Line::Text(line))) => match Item::from_columns(src, line, kind) {
            Ok(item) => Next::Item(item),
            Err(problem) => return Err(Error::line(tgt.path(), tgt.count(), problem)),
        },
        (Some(Line::Text(side)), Some(Line::TooLong)) | (Some(Line::TooLong), Some(Line::Text(side)))
            if side.trim().is_empty() =>
        {
            Next::Dropped(DropReason::Empty)
        }
        _ => Next::Dropped(DropReason::TooLong),
    })
}

/// The error for a source that cannot provide `kind`.
pub(crate) fn unfit(kind: DataKind, found: &str) -> Error {
    Error::config("data", format!("a corpus with {}", kind.name()), found)
}

fn from_example(example: builtin::BuiltinExample, kind: DataKind) -> Result<Item> {
    let builtin::BuiltinExample { src, tgt, label, .. } = example;
    Ok(match kind {
        DataKind::Translations => Item::Translation { src: src.text, tgt: tgt.text },
        DataKind::TaggedTokens => Item::Tagged {
            input: TagInput::Tokens(src.tokens),
            tags: src.tags.iter().map(|tag| tag.as_str().into()).collect(),
        },
        DataKind::Labeled => Item::Labeled {
            text: src.text,
            label: label.ok_or_else(|| unfit(kind, "generated pairs without labels"))?.as_str().into(),
        },
        DataKind::Lines | DataKind::Stream => Item::Text(tgt.text),
        DataKind::TaggedVectors(_) => return Err(unfit(kind, "generated sentences")),
    })
}
