//! Corpora and statistics of dropped lines.

use std::fmt;

use super::form::Form;
use super::item::{Entry, Fault, Item, TagInput, has_control};
use super::lines::MAX_LINE_BYTES;
use super::stored::SourceFile;
use crate::count::count;
use crate::error::{Error, Result};

/// The lines of a corpus, all of the same [`Form`], and the files that they come from.
#[derive(Clone, Debug)]
pub struct Corpus {
    form: Form,
    entries: Vec<Entry>,
    stats: ReadStats,
    sources: Vec<SourceFile>,
}

/// Counts of lines read and dropped; each dropped line is counted under one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Lines read.
    pub lines: usize,
    /// Dropped because a side is empty or only white space.
    pub empty: usize,
    /// Dropped because a side exceeds [`MAX_LINE_BYTES`].
    pub too_long: usize,
    /// Dropped because a side contains NUL or another control character other than white space.
    pub control: usize,
}

impl fmt::Display for ReadStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lines,
            empty,
            too_long,
            control,
        } = *self;
        write!(
            f,
            "{} of {} kept",
            lines - empty - too_long - control,
            count(lines, "line")
        )?;
        for (count, reason) in [
            (empty, "with an empty side".to_owned()),
            (too_long, format!("longer than {MAX_LINE_BYTES} bytes")),
            (control, "with control characters".to_owned()),
        ] {
            if count > 0 {
                write!(f, ", {count} dropped {reason}")?;
            }
        }
        Ok(())
    }
}

impl Corpus {
    /// An empty corpus of `form`.
    pub(super) fn new(form: Form, sources: Vec<SourceFile>) -> Self {
        Self {
            form,
            entries: Vec::new(),
            stats: ReadStats::default(),
            sources,
        }
    }

    /// A corpus of `form` with these lines, except those that [`ReadStats`] counts as dropped.
    ///
    /// # Errors
    /// [`Error::Data`] if the number of tags differs from the number of tokens or vectors.
    pub fn from_items(form: Form, items: impl IntoIterator<Item = Item>) -> Result<Self> {
        let mut corpus = Self::new(form, Vec::new());
        for item in items {
            let line = corpus.stats.lines + 1;
            let taken = corpus.add(item);
            taken.map_err(|problem| corpus.error(line, problem))?;
        }
        Ok(corpus)
    }

    /// The form of its lines.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Its lines in order; a [`Form::Stream`] has a single one.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Statistics of lines read and dropped.
    pub fn stats(&self) -> ReadStats {
        self.stats
    }

    /// The files that it was read from; empty for a built-in corpus.
    pub fn sources(&self) -> &[SourceFile] {
        &self.sources
    }

    /// The whole text of a [`Form::Stream`].
    pub fn stream(&self) -> Option<&str> {
        match (self.form, self.entries.as_slice()) {
            (
                Form::Stream,
                [
                    Entry {
                        item: Item::Text(text),
                        ..
                    },
                ],
            ) => Some(text),
            _ => None,
        }
    }

    /// Sentences with their translations; empty for other forms.
    pub fn translations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().filter_map(|entry| match &entry.item {
            Item::Translation { src, tgt } => Some((src.as_str(), tgt.as_str())),
            Item::Tagged { .. } | Item::Labelled { .. } | Item::Text(_) => None,
        })
    }

    /// All source text from which a vocabulary is learned: sentences, tokens or texts. Empty for language models and
    /// vectors.
    pub fn src_texts(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        for Entry { item, .. } in &self.entries {
            match item {
                Item::Translation { src, .. } => texts.push(src.as_str()),
                Item::Labelled { text, .. } => texts.push(text),
                Item::Tagged {
                    input: TagInput::Tokens(tokens),
                    ..
                } => texts.extend(tokens.iter().map(String::as_str)),
                Item::Tagged {
                    input: TagInput::Vectors(_),
                    ..
                }
                | Item::Text(_) => {}
            }
        }
        texts
    }

    /// All target text: sentences, tags, labels or texts.
    pub fn tgt_texts(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        for Entry { item, .. } in &self.entries {
            match item {
                Item::Translation { tgt, .. } => texts.push(tgt.as_str()),
                Item::Labelled { label, .. } => texts.push(label),
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

    /// An error about a line.
    pub(super) fn error(&self, line: usize, problem: String) -> Error {
        match self.sources.last() {
            Some(file) => Error::line(&file.path, line, problem),
            None => Error::Data {
                problem: format!("line {line} of the corpus: {problem}"),
                hint: None,
            },
        }
    }

    /// Rejects an empty corpus.
    pub(super) fn check_not_empty(&self) -> Result<()> {
        if !self.entries.is_empty() {
            return Ok(());
        }
        let names = self.sources.iter();
        let names: Vec<String> = names
            .map(|file| format!("`{}`", file.path.display()))
            .collect();
        Err(Error::Data {
            problem: format!("no usable data in {}: {}", names.join(" and "), self.stats),
            hint: Some("check that these are the right files".into()),
        })
    }

    /// Records a file that has been read completely.
    pub(super) fn add_source(&mut self, file: Option<SourceFile>) {
        self.sources.extend(file);
    }

    /// Adds the next line, or counts it as dropped; otherwise describes the problem.
    pub(super) fn add(&mut self, item: Item) -> Result<(), String> {
        if let Some(fault) = item.fault() {
            self.skip(fault);
            return Ok(());
        }
        if let Some(problem) = item.misfit(self.form) {
            return Err(problem);
        }
        self.stats.lines += 1;
        let line = self.stats.lines;
        self.entries.push(Entry { item, line });
        Ok(())
    }

    /// Counts a dropped line.
    pub(super) fn skip(&mut self, fault: Fault) {
        self.stats.lines += 1;
        match fault {
            Fault::Empty => self.stats.empty += 1,
            Fault::TooLong => self.stats.too_long += 1,
            Fault::Control => self.stats.control += 1,
        }
    }

    /// Appends the next line to the text of a [`Form::Stream`], unless it contains control characters.
    pub(super) fn append(&mut self, line: &str) {
        if has_control(line) {
            self.skip(Fault::Control);
            return;
        }
        self.stats.lines += 1;
        if self.entries.is_empty() {
            self.entries.push(Entry {
                item: Item::Text(String::new()),
                line: self.stats.lines,
            });
        }
        if let [
            Entry {
                item: Item::Text(text),
                ..
            },
        ] = self.entries.as_mut_slice()
        {
            text.push_str(line);
            text.push('\n');
        }
    }

    /// Removes the fraction `share` from the end and returns it as a separate corpus.
    ///
    /// # Errors
    /// [`Error::Config`] if one of the two parts would be empty.
    pub fn hold_out(&mut self, share: f64) -> Result<Self> {
        let mut held = Self::new(self.form, self.sources.clone());
        let kept = |all: usize| all - (all as f64 * share).round() as usize;
        match (self.form, self.entries.as_mut_slice()) {
            (
                Form::Stream,
                [
                    Entry {
                        item: Item::Text(text),
                        line,
                    },
                ],
            ) => {
                let cut = text.char_indices().nth(kept(text.chars().count()));
                let cut = cut.map_or(text.len(), |(byte, _)| byte);
                held.entries.push(Entry {
                    item: Item::Text(text.split_off(cut)),
                    line: *line,
                });
            }
            _ => held.entries = self.entries.split_off(kept(self.entries.len())),
        }
        held.stats.lines = held.entries.len();
        let is_blank = |entry: &Entry| matches!(&entry.item, Item::Text(text) if text.is_empty());
        let is_empty = |corpus: &Self| corpus.entries.iter().all(is_blank);
        if is_empty(self) || is_empty(&held) {
            return Err(Error::Config {
                key: "data.hold_out".into(),
                expected: "a fraction that leaves data for both training and validation".into(),
                found: share.to_string(),
                hint: None,
            });
        }
        Ok(held)
    }
}
