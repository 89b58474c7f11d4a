//! Reads whole corpora into RAM.

use std::path::Path;

use attentive_base::error::Result;
use attentive_base::interrupt::Interrupt;
use attentive_config::{CorpusFile, CorpusFormat, CorpusSource};

use super::corpus::Corpus;
use super::form::DataKind;
use super::intake::Filters;
use super::item::{DropReason, Item};
use super::lines::{Line, open_text};
use super::progress::{Progress, ProgressCallback};
use super::reader::CorpusReader;

/// Number of lines between two calls of a [`ProgressCallback`].
const LINES_PER_CALL: usize = 1 << 13;

/// Reads or generates the corpus of `form` given by `source`. Relative paths are resolved against `dir`;
/// `seed` is used for built-in corpora.
///
/// Unusable lines are dropped and counted in [`super::ReadStats`].
///
/// # Errors
/// Any error of [`CorpusReader`]; [`attentive_base::Error::Data`] if no line is usable.
pub fn read(
    source: &CorpusSource,
    form: DataKind,
    dir: Option<&Path>,
    seed: u64,
    watch: ProgressCallback<'_>,
) -> Result<Corpus> {
    read_filtered(source, form, dir, seed, Filters::default(), watch)
}

/// Like [`read`], but also drops lines as `filters` say. A text that is read as a whole is not filtered.
///
/// # Errors
/// Any error of [`read`].
pub fn read_filtered(
    source: &CorpusSource,
    form: DataKind,
    dir: Option<&Path>,
    seed: u64,
    filters: Filters,
    watch: ProgressCallback<'_>,
) -> Result<Corpus> {
    let mut corpus = Corpus::new(form, Vec::new());
    match (source, form) {
        (CorpusSource::File(CorpusFile { path, format: CorpusFormat::Text, .. }), DataKind::Stream) => {
            let path = dir.map_or_else(|| path.clone(), |dir| dir.join(path));
            read_stream(&path, &mut corpus, watch)?;
        }
        _ => {
            let reader = CorpusReader::open(source, form, dir, seed)?.filtered(filters);
            read_all(reader, &mut corpus, watch)?;
        }
    }
    corpus.check_not_empty()?;
    Ok(corpus)
}

/// Like [`read_filtered`], for the lines `items` of `form`, which a program gives.
///
/// # Errors
/// [`attentive_base::Error::Data`] for a line with another number of tags than tokens or vectors, and if no
/// line is usable.
pub fn read_given(
    form: DataKind,
    items: Vec<Item>,
    filters: Filters,
    watch: ProgressCallback<'_>,
) -> Result<Corpus> {
    let mut corpus = Corpus::new(form, Vec::new());
    let reader = CorpusReader::given(form, items).filtered(filters);
    read_all(reader, &mut corpus, watch)?;
    corpus.check_not_empty()?;
    Ok(corpus)
}

/// Adds all lines of `reader` to `corpus`.
fn read_all(mut reader: CorpusReader, corpus: &mut Corpus, watch: ProgressCallback<'_>) -> Result<()> {
    while let Some(entry) = reader.next_entry()? {
        tell(reader.stats().lines, watch)?;
        corpus.push(entry);
    }
    corpus.finish(reader);
    Ok(())
}

/// Periodically reports to `watch` the number of lines read so far, and looks for a request to stop.
fn tell(lines: usize, watch: ProgressCallback<'_>) -> Result<()> {
    if lines.is_multiple_of(LINES_PER_CALL) {
        watch(Progress::Read { lines });
        Interrupt::check()?;
    }
    Ok(())
}

/// Reads a file as one continuous text.
fn read_stream(path: &Path, corpus: &mut Corpus, watch: ProgressCallback<'_>) -> Result<()> {
    let mut lines = open_text(path)?;
    while let Some(line) = lines.next_line()? {
        match line {
            Line::TooLong => corpus.skip(DropReason::TooLong),
            Line::Text(text) => corpus.append(text),
        }
        tell(corpus.stats().lines, watch)?;
    }
    corpus.add_source(lines.finish());
    Ok(())
}
