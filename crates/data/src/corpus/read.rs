//! Reads whole corpora into RAM.

use std::path::Path;

use attentive_base::error::Result;
use attentive_base::interrupt::Interrupt;
use attentive_config::{CorpusFile, CorpusFormat, CorpusSource};

use crate::corpus::Corpus;
use crate::corpus::data_kind::DataKind;
use crate::corpus::item::{DropReason, Item};
use crate::corpus::line_filter::Filters;
use crate::progress::{Progress, ProgressCallback};
use crate::reading::corpus_reader::CorpusReader;
use crate::reading::lines::{Line, open_text};

/// Number of lines between two calls of a [`ProgressCallback`].
const LINES_PER_CALL: usize = 1 << 13;

/// Reads or generates the corpus of `kind` given by `source`. Relative paths are resolved against `dir`;
/// `seed` is used for built-in corpora.
///
/// Unusable lines are dropped and counted in [`crate::ReadStats`].
///
/// # Errors
/// Any error of [`CorpusReader`]; [`attentive_base::Error::Data`] if no line is usable.
pub fn read(
    source: &CorpusSource,
    kind: DataKind,
    dir: Option<&Path>,
    seed: u64,
    progress: ProgressCallback<'_>,
) -> Result<Corpus> {
    read_filtered(source, kind, dir, seed, Filters::default(), progress)
}

/// Like [`read`], but also drops lines as `filters` say. A text that is read as a whole is not filtered.
///
/// # Errors
/// Any error of [`read`].
pub fn read_filtered(
    source: &CorpusSource,
    kind: DataKind,
    dir: Option<&Path>,
    seed: u64,
    filters: Filters,
    progress: ProgressCallback<'_>,
) -> Result<Corpus> {
    let mut corpus = Corpus::new(kind, Vec::new());
    match (source, kind) {
        (CorpusSource::File(CorpusFile { path, format: CorpusFormat::Text, .. }), DataKind::Stream) => {
            let path = dir.map_or_else(|| path.clone(), |dir| dir.join(path));
            read_stream(&path, &mut corpus, progress)?;
        }
        _ => {
            let reader = CorpusReader::open(source, kind, dir, seed)?.filtered(filters);
            read_all(reader, &mut corpus, progress)?;
        }
    }
    corpus.check_not_empty()?;
    Ok(corpus)
}

/// Like [`read_filtered`], for the lines `items` of `kind`, which a program gives.
///
/// # Errors
/// [`attentive_base::Error::Data`] for a line with another number of tags than tokens or vectors, and if no
/// line is usable.
pub fn read_in_memory(
    kind: DataKind,
    items: Vec<Item>,
    filters: Filters,
    progress: ProgressCallback<'_>,
) -> Result<Corpus> {
    let mut corpus = Corpus::new(kind, Vec::new());
    let reader = CorpusReader::in_memory(kind, items).filtered(filters);
    read_all(reader, &mut corpus, progress)?;
    corpus.check_not_empty()?;
    Ok(corpus)
}

/// Adds all lines of `reader` to `corpus`.
fn read_all(mut reader: CorpusReader, corpus: &mut Corpus, progress: ProgressCallback<'_>) -> Result<()> {
    while let Some(entry) = reader.next_entry()? {
        tell(reader.stats().lines, progress)?;
        corpus.push(entry);
    }
    corpus.finish(reader);
    Ok(())
}

/// Periodically reports to `progress` the number of lines read so far, and looks for a request to stop.
fn tell(lines: usize, progress: ProgressCallback<'_>) -> Result<()> {
    if lines.is_multiple_of(LINES_PER_CALL) {
        progress(Progress::Read { lines });
        Interrupt::check()?;
    }
    Ok(())
}

/// Reads a file as one continuous text.
fn read_stream(path: &Path, corpus: &mut Corpus, progress: ProgressCallback<'_>) -> Result<()> {
    let mut lines = open_text(path)?;
    while let Some(line) = lines.next_line()? {
        match line {
            Line::TooLong => corpus.skip(DropReason::TooLong),
            Line::Text(text) => corpus.append(text),
        }
        tell(corpus.stats().lines, progress)?;
    }
    corpus.add_source(lines.finish());
    Ok(())
}
