//! Reading corpora from files and generators.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::corpus::Corpus;
use super::form::Form;
use super::item::{Fault, Item, TagInput};
use super::lines::{Line, Lines, MAX_LINE_BYTES, MAX_RECORD_BYTES, open_text};
use super::progress::{Progress, Watch};
use super::stored::Hashed;
use super::{builtin, json};
use crate::config::{BuiltinTask, CorpusSource};
use crate::error::{Error, Result};

/// Lines between two calls of a [`Watch`].
const LINES_PER_CALL: usize = 1 << 13;

/// Maximum length of a TSV line: two sentences and a tab.
const MAX_TSV_BYTES: usize = 2 * MAX_LINE_BYTES + 1;

/// Reads or generates the corpus of `form` given by `source`. Relative paths are resolved against `dir`; `seed` is
/// used for built-in corpora.
///
/// Unusable lines are dropped and counted in [`super::ReadStats`]. At most one line, up to its limit, is
/// buffered: two sentences in TSV, [`MAX_RECORD_BYTES`] in JSON, 4 GiB in a stream, and [`MAX_LINE_BYTES`] otherwise.
///
/// # Errors
/// [`Error::Io`] if a file cannot be read, [`Error::Line`] if a line is not UTF-8, malformed, or has the wrong number
/// of tags, [`Error::Unaligned`] if aligned files differ in length, [`Error::Data`] if no line is usable, and
/// [`Error::Config`] if `source` cannot provide `form`.
pub fn read(
    source: &CorpusSource,
    form: Form,
    dir: Option<&Path>,
    seed: u64,
    watch: Watch<'_>,
) -> Result<Corpus> {
    let at = |path: &PathBuf| dir.map_or_else(|| path.clone(), |dir| dir.join(path));
    let mut corpus = Corpus::new(form, Vec::new());
    match (source, form) {
        (
            CorpusSource::Aligned { src, tgt },
            Form::Translations | Form::TaggedTokens | Form::Labelled,
        ) => read_aligned(&at(src), &at(tgt), &mut corpus, watch)?,
        (CorpusSource::Tsv(tsv), Form::Translations | Form::TaggedTokens | Form::Labelled) => {
            let lines = Lines::open(&at(tsv), MAX_TSV_BYTES)?;
            read_each(lines, &mut corpus, watch, |line| split_tsv(line, form))?;
        }
        (
            CorpusSource::Jsonl(jsonl),
            Form::Translations | Form::TaggedTokens | Form::TaggedVectors(_) | Form::Labelled,
        ) => {
            let lines = Lines::open(&at(jsonl), MAX_RECORD_BYTES)?;
            read_each(lines, &mut corpus, watch, |line| json::parse(line, form))?;
        }
        (CorpusSource::Text(text), Form::Lines) => {
            let lines = Lines::open(&at(text), MAX_LINE_BYTES)?;
            let item = |line: &str| Ok(Item::Text(line.to_owned()));
            read_each(lines, &mut corpus, watch, item)?;
        }
        (CorpusSource::Text(text), Form::Stream) => read_stream(&at(text), &mut corpus, watch)?,
        (CorpusSource::Builtin { task, pairs }, _) => {
            generate(*task, seed, *pairs, &mut corpus, watch)?;
        }
        _ => return Err(unfit(form, "another corpus")),
    }
    corpus.check_not_empty()?;
    Ok(corpus)
}

fn unfit(form: Form, found: &str) -> Error {
    Error::Config {
        key: "data".into(),
        expected: format!("a corpus with {}", form.name()),
        found: found.into(),
        hint: None,
    }
}

/// Periodically reports to `watch` the number of lines of `corpus` read so far.
fn tell(corpus: &Corpus, watch: Watch<'_>) {
    let lines = corpus.stats().lines;
    if lines.is_multiple_of(LINES_PER_CALL) {
        watch(Progress::Read { lines });
    }
}

fn read_aligned(src: &Path, tgt: &Path, corpus: &mut Corpus, watch: Watch<'_>) -> Result<()> {
    let mut src = Lines::open(src, MAX_LINE_BYTES)?;
    let mut tgt = Lines::open(tgt, MAX_LINE_BYTES)?;
    let form = corpus.form();
    loop {
        match (src.next_line()?, tgt.next_line()?) {
            (None, None) => break,
            (Some(_), None) | (None, Some(_)) => {
                return Err(Error::Unaligned {
                    first_lines: src.count_all()?,
                    first: src.path().to_path_buf(),
                    second_lines: tgt.count_all()?,
                    second: tgt.path().to_path_buf(),
                });
            }
            (Some(Line::Text(src)), Some(Line::Text(line))) => {
                let taken = Item::from_columns(src, line, form).and_then(|item| corpus.add(item));
                taken.map_err(|problem| Error::line(tgt.path(), tgt.count(), problem))?;
            }
            (Some(Line::Text(side)), Some(Line::TooLong))
            | (Some(Line::TooLong), Some(Line::Text(side)))
                if side.trim().is_empty() =>
            {
                corpus.skip(Fault::Empty);
            }
            _ => corpus.skip(Fault::TooLong),
        }
        tell(corpus, watch);
    }
    for file in [src, tgt] {
        corpus.add_source(file.finish());
    }
    Ok(())
}

/// Reads lines and converts each with `parse`, which returns an item or describes a problem. Blank lines count as
/// empty.
fn read_each(
    mut lines: Lines<Hashed<File>>,
    corpus: &mut Corpus,
    watch: Watch<'_>,
    parse: impl Fn(&str) -> Result<Item, String>,
) -> Result<()> {
    while let Some(line) = lines.next_line()? {
        match line {
            Line::TooLong => corpus.skip(Fault::TooLong),
            Line::Text(text) if text.trim().is_empty() => corpus.skip(Fault::Empty),
            Line::Text(text) => {
                let taken = parse(text).and_then(|item| corpus.add(item));
                taken.map_err(|problem| Error::line(lines.path(), lines.count(), problem))?;
            }
        }
        tell(corpus, watch);
    }
    corpus.add_source(lines.finish());
    Ok(())
}

/// Reads a file as one continuous text.
fn read_stream(path: &Path, corpus: &mut Corpus, watch: Watch<'_>) -> Result<()> {
    let mut lines = open_text(path)?;
    while let Some(line) = lines.next_line()? {
        match line {
            Line::TooLong => corpus.skip(Fault::TooLong),
            Line::Text(text) => corpus.append(text),
        }
        tell(corpus, watch);
    }
    corpus.add_source(lines.finish());
    Ok(())
}

fn split_tsv(line: &str, form: Form) -> Result<Item, String> {
    let columns: Vec<&str> = line.split('\t').collect();
    match (&columns[..], form) {
        ([label, text], Form::Labelled) => Item::from_columns(text, label, form),
        ([src, tgt], _) => Item::from_columns(src, tgt, form),
        _ => Err(format!(
            "expected 2 tab-separated columns, found {}",
            columns.len()
        )),
    }
}

fn generate(
    task: BuiltinTask,
    seed: u64,
    pairs: usize,
    corpus: &mut Corpus,
    watch: Watch<'_>,
) -> Result<()> {
    let form = corpus.form();
    for example in builtin::generate(task, seed, pairs) {
        match (form, from_example(example, form)?) {
            (Form::Stream, Item::Text(line)) => corpus.append(&line),
            (_, item) => corpus.add(item).map_err(|problem| Error::Data {
                problem,
                hint: None,
            })?,
        }
        tell(corpus, watch);
    }
    Ok(())
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
        Form::Labelled => Item::Labelled {
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
