//! Corpora in RAM.

pub(crate) mod data_kind;
pub(crate) mod item;
pub(crate) mod line_filter;
pub(crate) mod read;
pub(crate) mod reservoir_sample;

use std::borrow::Cow;

use attentive_base::error::{Error, Result};

use crate::corpus::data_kind::DataKind;
use crate::corpus::item::{DropReason, Item, NumberedItem, TagInput, has_control};
use crate::corpus::line_filter::{LineFilter, ReadStats};
use crate::corpus::reservoir_sample::ReservoirSample;
use crate::reading::corpus_reader::{CorpusReader, LineOrigins};
use crate::reading::source_file::SourceFile;

/// The lines of a corpus, all of the same [`DataKind`], and the files that they come from.
#[derive(Clone, Debug)]
pub struct Corpus {
    filter: LineFilter,
    entries: Vec<NumberedItem>,
    sources: Vec<SourceFile>,
    /// The number of the last line of each part of the corpus.
    ends: Vec<usize>,
    origins: LineOrigins,
    /// Warnings about the files.
    warnings: Vec<String>,
}

impl Corpus {
    /// An empty corpus of `kind`.
    pub(crate) fn new(kind: DataKind, sources: Vec<SourceFile>) -> Self {
        Self {
            filter: LineFilter::new(kind),
            entries: Vec::new(),
            sources,
            ends: Vec::new(),
            origins: LineOrigins::default(),
            warnings: Vec::new(),
        }
    }

    /// Returns a corpus of `kind` with these lines, except those that [`ReadStats`] counts as dropped.
    ///
    /// # Errors
    /// [`Error::Data`] if the number of tags differs from the number of tokens or vectors.
    pub fn from_items(kind: DataKind, items: impl IntoIterator<Item = Item>) -> Result<Self> {
        let mut corpus = Self::new(kind, Vec::new());
        for item in items {
            let line = corpus.filter.stats.lines + 1;
            let taken = corpus.add(item);
            taken.map_err(|problem| corpus.error(line, problem))?;
        }
        Ok(corpus)
    }

    /// Returns a corpus of the lines in `sample`, drawn from the lines of `reader`, which is at its end.
    ///
    /// # Errors
    /// [`Error::Data`] if there are no lines.
    pub fn sampled(sample: ReservoirSample, reader: CorpusReader) -> Result<Self> {
        let mut corpus = Self::new(reader.kind(), Vec::new());
        corpus.entries = sample.into_entries();
        corpus.finish(reader);
        corpus.check_not_empty()?;
        Ok(corpus)
    }

    /// Returns a random sample of at most `most` lines.
    pub fn sample(&self, most: usize) -> Cow<'_, Self> {
        if self.entries.len() <= most {
            return Cow::Borrowed(self);
        }
        let mut sample = ReservoirSample::new(most);
        let entries = self.entries.iter().cloned();
        entries.for_each(|entry| sample.offer(entry));
        Cow::Owned(Self {
            filter: self.filter.clone(),
            entries: sample.into_entries(),
            sources: self.sources.clone(),
            ends: self.ends.clone(),
            origins: self.origins.clone(),
            warnings: self.warnings.clone(),
        })
    }

    /// Returns the kind of data in the lines.
    pub fn kind(&self) -> DataKind {
        self.filter.kind
    }

    /// Returns the lines in order; a [`DataKind::Stream`] has a single one.
    pub fn entries(&self) -> &[NumberedItem] {
        &self.entries
    }

    /// Returns the number of the last line of each part, if the corpus was read from several.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Returns statistics of the lines read and dropped.
    pub fn stats(&self) -> ReadStats {
        self.filter.stats
    }

    /// Returns warnings about the files, each a sentence: those that seem to have a header, or columns in
    /// quotation marks.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the files that the corpus was read from; empty for a built-in corpus.
    pub fn sources(&self) -> &[SourceFile] {
        &self.sources
    }

    /// Returns the whole text of a [`DataKind::Stream`].
    pub fn stream(&self) -> Option<&str> {
        match (self.kind(), self.entries.as_slice()) {
            (DataKind::Stream, [NumberedItem { item: Item::Text(text), .. }]) => Some(text),
            _ => None,
        }
    }

    /// Returns sentences with their translations; empty for other kinds.
    pub fn translations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().filter_map(|entry| match &entry.item {
            Item::Translation { src, tgt } => Some((src.as_str(), tgt.as_str())),
            Item::Tagged { .. } | Item::Labeled { .. } | Item::Text(_) => None,
        })
    }

    /// Returns all source text from which a vocabulary is learned: sentences, tokens or texts. Empty for
    /// language models and vectors.
    pub fn src_texts(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        for NumberedItem { item, .. } in &self.entries {
            match item {
                Item::Translation { src, .. } => texts.push(src.as_str()),
                Item::Labeled { text, .. } => texts.push(text),
                Item::Tagged { input: TagInput::Tokens(tokens), .. } => {
                    texts.extend(tokens.iter().map(String::as_str))
                }
                Item::Tagged { input: TagInput::Vectors(_), .. } | Item::Text(_) => {}
            }
        }
        texts
    }

    /// Returns all target text: sentences, tags, labels or texts.
    pub fn tgt_texts(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        for NumberedItem { item, .. } in &self.entries {
            match item {
                Item::Translation { tgt, .. } => texts.push(tgt.as_str()),
                Item::Labeled { label, .. } => texts.push(label),
                Item::Tagged { tags, .. } => texts.extend(tags.iter().map(String::as_str)),
                Item::Text(text) => texts.push(text),
            }
        }
        texts
    }

    /// Keeps only the lines accepted by `keep`.
    pub fn retain(&mut self, keep: impl Fn(&Item) -> bool) {
        self.entries.retain(|entry| keep(&entry.item));
    }

    /// Returns an error about a line.
    pub(crate) fn error(&self, line: usize, problem: String) -> Error {
        self.origins.error(line, problem)
    }

    /// Rejects an empty corpus.
    pub(crate) fn check_not_empty(&self) -> Result<()> {
        if !self.entries.is_empty() {
            return Ok(());
        }
        let paths = self.sources.iter().map(|file| file.path.as_path());
        Err(self.stats().nothing_usable(paths))
    }

    /// Records a file that has been read completely.
    pub(crate) fn add_source(&mut self, file: Option<SourceFile>) {
        self.sources.extend(file);
    }

    /// Adds the next line, or counts it as dropped; otherwise describes the problem.
    pub(crate) fn add(&mut self, item: Item) -> Result<(), String> {
        self.entries.extend(self.filter.admit(item, None, 1.0)?);
        Ok(())
    }

    /// Counts a dropped line.
    pub(crate) fn skip(&mut self, reason: DropReason) {
        self.filter.skip(reason);
    }

    /// Adds an entry that `reader` has read.
    pub(crate) fn push(&mut self, entry: NumberedItem) {
        match (self.kind(), &entry.item) {
            (DataKind::Stream, Item::Text(line)) => self.extend_text(line, entry.line),
            _ => self.entries.push(entry),
        }
    }

    /// Takes over the statistics and files of `reader`, from which all lines came.
    pub(crate) fn finish(&mut self, reader: CorpusReader) {
        self.filter.stats = reader.stats();
        self.ends = reader.ends().to_vec();
        self.warnings = reader.warnings();
        self.origins = reader.origins().clone();
        self.sources = reader.finish();
    }

    /// Appends the next line to the text of a [`DataKind::Stream`], unless it contains control characters.
    pub(crate) fn append(&mut self, line: &str) {
        if has_control(line) {
            self.skip(DropReason::Control);
            return;
        }
        self.filter.stats.lines += 1;
        self.extend_text(line, self.filter.stats.lines);
    }

    /// Extends the text of a [`DataKind::Stream`] by line `number`.
    fn extend_text(&mut self, line: &str, number: usize) {
        if self.entries.is_empty() {
            let item = Item::Text(String::new());
            self.entries.push(NumberedItem { item, line: number, weight: 1.0 });
        }
        if let [NumberedItem { item: Item::Text(text), .. }] = self.entries.as_mut_slice() {
            text.push_str(line);
            text.push('\n');
        }
    }

    /// Removes the fraction `share` from the end and returns it as a separate corpus.
    ///
    /// # Errors
    /// [`Error::Config`] if one of the two parts would be empty.
    pub fn hold_out(&mut self, share: f64) -> Result<Self> {
        let mut held = Self::new(self.kind(), self.sources.clone());
        held.origins = self.origins.clone();
        let kept = |all: usize| all - (all as f64 * share).round() as usize;
        match (self.kind(), self.entries.as_mut_slice()) {
            (DataKind::Stream, [NumberedItem { item: Item::Text(text), line, weight }]) => {
                let cut = text.char_indices().nth(kept(text.chars().count()));
                let cut = cut.map_or(text.len(), |(byte, _)| byte);
                let item = Item::Text(text.split_off(cut));
                held.entries.push(NumberedItem { item, line: *line, weight: *weight });
            }
            _ => held.entries = self.entries.split_off(kept(self.entries.len())),
        }
        held.filter.stats.lines = held.entries.len();
        let is_blank = |entry: &NumberedItem| matches!(&entry.item, Item::Text(text) if text.is_empty());
        let is_empty = |corpus: &Self| corpus.entries.iter().all(is_blank);
        if is_empty(self) || is_empty(&held) {
            return Err(Error::config(
                "data.hold_out",
                "a fraction that leaves data for both training and validation",
                share.to_string(),
            ));
        }
        Ok(held)
    }
}
