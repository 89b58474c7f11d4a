//! Reads corpora line by line.

use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_config::CorpusSource;

use crate::corpus::data_kind::DataKind;
use crate::corpus::item::{Item, NumberedItem};
use crate::corpus::line_filter::{Filters, LineFilter, ReadStats};
use crate::reading::headers::Headers;
use crate::reading::line_weights::LineWeights;
use crate::reading::patterns;
use crate::reading::quotes::Quotes;
use crate::reading::records::{Next, Records, unfit};
use crate::reading::source_file::SourceFile;

/// Reads the usable lines of a corpus one by one, for any [`DataKind`] except a [`DataKind::Stream`] in a
/// file. Unusable lines are dropped and counted in [`ReadStats`]. At most one line is buffered. Several
/// corpora are read one after another, and their lines are numbered continuously.
#[derive(Debug)]
pub struct CorpusReader {
    filter: LineFilter,
    records: Records,
    /// The symbol before every source.
    tag: Option<String>,
    weights: Option<LineWeights>,
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
    origins: LineOrigins,
    headers: Headers,
    quotes: Quotes,
}

/// The files that the lines of a corpus come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineOrigins {
    /// Each file and the number of its last line in the corpus, in order.
    files: Vec<(PathBuf, usize)>,
}

impl LineOrigins {
    /// An error about line `number` of the corpus.
    pub(crate) fn error(&self, number: usize, problem: String) -> Error {
        let file = self.files.partition_point(|(_, last)| *last < number);
        match (self.files.get(file), file.checked_sub(1)) {
            (None, _) => {
                Error::Data { problem: format!("line {number} of the corpus: {problem}"), hint: None }
            }
            (Some((path, _)), None) => Error::line(path, number, problem),
            (Some((path, _)), Some(before)) => Error::line(path, number - self.files[before].1, problem),
        }
    }
}

impl CorpusReader {
    /// Opens the corpus of `kind` given by `source`. Relative paths are resolved against `dir`; `seed` is
    /// used for built-in corpora.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read, [`Error::Config`] if `source` cannot provide `kind`, and
    /// [`Error::Data`] if a pattern matches no file.
    pub fn open(source: &CorpusSource, kind: DataKind, dir: Option<&Path>, seed: u64) -> Result<Self> {
        let mut rest = Vec::new();
        for (part, (source, _)) in source.parts().into_iter().enumerate() {
            let expanded = patterns::expand(source, dir)?.into_iter();
            rest.extend(expanded.map(|source| (part, source)));
        }
        rest.reverse();
        let Some((part, first)) = rest.pop() else {
            return Err(unfit(kind, "none"));
        };
        let records = Records::open(&first, kind, seed)?;
        // A missing file is reported at once. Opening the files here would disturb pipes.
        for file in rest.iter().flat_map(|(_, source)| source.files()) {
            fs::metadata(file).map_err(Error::io("read", file))?;
        }
        let tag = first.tag().map(str::to_owned);
        let weights = first.line_weights().map(LineWeights::open).transpose()?;
        Ok(Self { seed, rest, part, tag, weights, ..Self::of(records, kind) })
    }

    /// Reads the lines `items` of `kind`, which a program gives.
    pub fn in_memory(kind: DataKind, items: Vec<Item>) -> Self {
        Self::of(Records::in_memory(items), kind)
    }

    /// Reads only `records`.
    fn of(records: Records, kind: DataKind) -> Self {
        Self {
            filter: LineFilter::new(kind),
            records,
            tag: None,
            weights: None,
            seed: 0,
            rest: Vec::new(),
            part: 0,
            ends: Vec::new(),
            files: Vec::new(),
            origins: LineOrigins::default(),
            headers: Headers::default(),
            quotes: Quotes::default(),
        }
    }

    /// Also drops the lines that match `filters`.
    pub fn filtered(self, filters: Filters) -> Self {
        Self { filter: self.filter.filtered(filters), ..self }
    }

    /// Returns the next usable line; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read, [`Error::Line`] if a line is not UTF-8, malformed, or has the
    /// wrong number of tags, and [`Error::Unaligned`] if aligned files differ in length.
    pub fn next_entry(&mut self) -> Result<Option<NumberedItem>> {
        loop {
            let next = self.records.next(self.filter.kind)?;
            let weight = self.next_weight(&next)?;
            let Self { filter, records, headers, quotes, tag, .. } = self;
            let admitted = match next {
                Next::End => {
                    if self.begin_next()? {
                        continue;
                    } else {
                        return Ok(None);
                    }
                }
                Next::Dropped(reason) => {
                    filter.skip(reason);
                    Ok(None)
                }
                Next::Item(item) => {
                    headers.observe(&item, records.line());
                    quotes.observe(&item, records.line());
                    filter.admit(item, tag.as_deref(), weight)
                }
            };
            let entry = admitted.map_err(|problem| records.error(problem))?;
            if entry.is_some() {
                return Ok(entry);
            }
        }
    }

    /// The weight of the line `next`.
    fn next_weight(&mut self, next: &Next) -> Result<f32> {
        let Some(weights) = &mut self.weights else { return Ok(1.0) };
        let corpus = self.records.paths().last().unwrap_or(Path::new(""));
        match next {
            Next::End => weights.end(corpus).map(|()| 1.0),
            Next::Item(_) | Next::Dropped(_) => weights.next(corpus),
        }
    }

    /// Begins the next corpus; false if there is none.
    fn begin_next(&mut self) -> Result<bool> {
        let lines = self.filter.stats.lines;
        if let Some(path) = self.records.paths().last() {
            self.headers.end_file(path);
            self.quotes.end_file(path);
            self.origins.files.push((path.to_path_buf(), lines));
        }
        let Some((part, source)) = self.rest.pop() else {
            self.ends.resize(self.part + 1, lines);
            return Ok(false);
        };
        self.ends.resize(part, lines);
        self.part = part;
        self.tag = source.tag().map(str::to_owned);
        let next = Records::open(&source, self.filter.kind, self.seed)?;
        let weights = source.line_weights().map(LineWeights::open).transpose()?;
        let read = std::mem::replace(&mut self.records, next);
        self.files.extend(read.finish());
        let read = std::mem::replace(&mut self.weights, weights);
        self.files.extend(read.and_then(LineWeights::finish));
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
        let paths = read.chain(self.records.paths());
        Err(self.stats().nothing_usable(paths))
    }

    /// Returns the kind of data in the lines.
    pub(crate) fn kind(&self) -> DataKind {
        self.filter.kind
    }

    /// Returns the next usable lines, at most `most`; none at the end.
    ///
    /// # Errors
    /// Any error of [`CorpusReader::next_entry`].
    pub fn next_entries(&mut self, most: usize) -> Result<Vec<NumberedItem>> {
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
        self.filter.stats
    }

    /// Returns warnings about the files, complete after the last line: those that seem to have a header, or
    /// columns in quotation marks.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.headers.warnings();
        warnings.extend(self.quotes.warnings());
        warnings
    }

    /// Returns an error about a line that has been read.
    pub fn error(&self, line: usize, problem: String) -> Error {
        let mut origins = self.origins.clone();
        if let Some(path) = self.records.paths().last() {
            origins.files.push((path.to_path_buf(), usize::MAX));
        }
        origins.error(line, problem)
    }

    /// Returns the files that the lines come from; complete after the last line.
    pub(crate) fn origins(&self) -> &LineOrigins {
        &self.origins
    }

    /// Returns the files that were read, after the last line; none for a built-in corpus.
    pub fn finish(self) -> Vec<SourceFile> {
        let mut files = self.files;
        files.extend(self.records.finish());
        files.extend(self.weights.and_then(LineWeights::finish));
        files
    }
}
