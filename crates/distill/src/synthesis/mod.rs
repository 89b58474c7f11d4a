//! Translations of monolingual text, or of one side of a corpus, as a corpus to train on.
//!
//! A text is translated in parts of [`LINES`] lines. Each part is a file that is complete or absent, so that
//! a process that was killed loses no more than the part that it worked on. Which process translates a part
//! makes no difference: a translation depends on the model, the options and the line alone.

mod manifest;
mod part;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_base::regular_file;
use attentive_checkpoint::{Lock, atomic, to_json};
use attentive_data::{Line, Lines, MAX_LINE_BYTES, SourceFile};
use attentive_metrics::Utility;
use attentive_pipeline::{Pipeline, TranslateOptions};
use attentive_processes::Processes;
use serde::{Deserialize, Serialize};

use self::manifest::PartsManifest;
use self::part::Part;

/// The number of lines of a part.
const LINES: usize = 1024;
/// The file beside the parts that says what became of the lines, once all are made.
const COUNTS: &str = "counts.json";

/// The files of a synthesis.
#[derive(Clone, Copy, Debug)]
pub struct SynthesisFiles<'a> {
    /// The text, a sentence a line.
    pub text: &'a Path,
    /// Translations by people, a line for each line of the text, for [`SynthesisChoice::ClosestTo`].
    pub references: Option<&'a Path>,
    /// The corpus to write: tab-separated source, target and score.
    pub output: &'a Path,
    /// Where to write what became of the lines, as JSON, if anywhere.
    pub counts: Option<&'a Path>,
}

/// Which of the translations of a sentence become pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SynthesisChoice {
    /// All that the options ask for: one, the n best, samples, or those of minimum Bayes risk.
    All,
    /// The one that is closest to the reference by this metric (Kim and Rush 2016, section 3.3).
    ClosestTo(Utility),
}

/// How pairs are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SynthesisOptions {
    /// How the text is translated.
    pub translate: TranslateOptions,
    /// Which translations become pairs.
    pub choice: SynthesisChoice,
    /// Whether the translations are the sources of the pairs (back-translation: Sennrich et al. 2016).
    pub backward: bool,
}

impl SynthesisOptions {
    /// Returns all on which the pairs depend, as a text. How many lines are translated together is not among
    /// it.
    pub(crate) fn identity(&self) -> String {
        let translate = TranslateOptions { batch_size: None, ..self.translate };
        format!("{:?}", Self { translate, ..*self })
    }
}

/// What became of the lines of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SynthesisCounts {
    /// The lines.
    pub lines: usize,
    /// The pairs that were written.
    pub pairs: usize,
    /// The lines that are blank.
    pub blank: usize,
    /// The lines that are too long for the model, of which it would translate the beginning alone.
    pub too_long: usize,
    /// The translations that are empty.
    pub empty: usize,
    /// The translations that were cut off at the length limit.
    pub cut_off: usize,
}

/// The translation of a text, which is resumed where an earlier one ended.
#[derive(Debug)]
pub struct Synthesis<'a> {
    files: SynthesisFiles<'a>,
    options: SynthesisOptions,
    /// The folder of the parts.
    parts: PathBuf,
    n_lines: usize,
    /// What became of the lines, if the corpus is complete already.
    complete: Option<SynthesisCounts>,
    /// Held by the first process, so that no two commands make the same corpus.
    _lock: Option<Lock>,
}

impl<'a> Synthesis<'a> {
    /// Opens the folder of the parts beside the output, `OUTPUT.parts`. `model` identifies the model.
    ///
    /// # Errors
    /// [`Error::Usage`] if the output exists, if the text is no regular file, or if the parts were made from
    /// something else; [`Error::Unaligned`] for another number of references than
    /// lines; [`Error::Io`] if a file cannot be read or written.
    pub fn open(
        files: SynthesisFiles<'a>,
        options: SynthesisOptions,
        model: &str,
        processes: &Processes,
    ) -> Result<Self> {
        let doing = "the text was opened";
        let parts = Self::parts_of(files.output);
        let opened = processes.is_first().then(|| {
            let lock = Lock::beside(&parts)?;
            Ok((lock, prepare(files, options, model, &parts)?))
        });
        let (lock, opened) = processes.agree(doing, opened.transpose())?.unzip();
        let (n_lines, complete) = processes.value_of_first(doing, || Ok(opened.unwrap_or_default()))?;
        Ok(Self { files, options, parts, n_lines, complete, _lock: lock })
    }

    /// The folder in which the corpus `output` grows.
    pub fn parts_of(output: &Path) -> PathBuf {
        let mut name = output.file_name().unwrap_or_default().to_owned();
        name.push(".parts");
        output.with_file_name(name)
    }

    /// The number of lines that this process of `processes` has not translated yet.
    pub fn n_left(&self, processes: &Processes) -> usize {
        let is_missing = |&number: &usize| self.is_own(number, processes) && !self.part(number).exists();
        let parts = (0..self.n_parts()).filter(is_missing);
        parts.map(|number| self.lines_of_part(number)).sum()
    }

    fn n_parts(&self) -> usize {
        if self.complete.is_some() { 0 } else { self.n_lines.div_ceil(LINES) }
    }

    fn lines_of_part(&self, number: usize) -> usize {
        LINES.min(self.n_lines - number * LINES)
    }

    fn is_own(&self, number: usize, processes: &Processes) -> bool {
        number % processes.count() == processes.number()
    }

    /// Translates what is not translated yet, and writes the corpus.
    ///
    /// # Errors
    /// The errors of translating; [`Error::Io`] if a file cannot be read or written; [`Error::Data`] if a
    /// part is damaged.
    pub fn run(&self, pipeline: &Pipeline, processes: &Processes) -> Result<SynthesisCounts> {
        let made = self.make_parts(pipeline, processes);
        processes.agree("the text was translated", made)?;
        let counts = processes.is_first().then(|| self.join()).transpose();
        let counts = processes.agree("the corpus was written", counts)?;
        processes.value_of_first("the corpus was written", || Ok(counts.unwrap_or_default()))
    }

    /// Makes the parts of this process that are missing.
    fn make_parts(&self, pipeline: &Pipeline, processes: &Processes) -> Result<()> {
        let mut text = Lines::open(self.files.text, MAX_LINE_BYTES)?;
        let references = self.files.references.map(|path| Lines::open(path, MAX_LINE_BYTES));
        let mut references = references.transpose()?;
        for number in 0..self.n_parts() {
            let sources = next(&mut text)?;
            let references = references.as_mut().map(next).transpose()?;
            let expected = self.lines_of_part(number);
            let of_references = references.as_ref().map_or(expected, Vec::len);
            if sources.len() != expected || of_references != expected {
                return Err(Error::data(
                    format!("`{}` was changed while it was translated", self.files.text.display()),
                    "restore it, and repeat the command",
                ));
            }
            let path = self.part(number);
            if self.is_own(number, processes) && !path.try_exists().map_err(Error::io("read", &path))? {
                let first = number * LINES + 1;
                let part = Part::make(pipeline, first, &sources, references.as_deref(), self.options);
                let part = part.map_err(|error| self.with_parts(error))?;
                let json = serde_json::to_vec(&part).expect("text and numbers");
                atomic::write_file(&path, &json)?;
            }
            Interrupt::check().map_err(|error| self.with_parts(error))?;
        }
        Ok(())
    }

    /// `error` with the place of what is translated, if it is about a stop.
    fn with_parts(&self, error: Error) -> Error {
        match error {
            Error::Interrupted { signal, .. } => {
                let saved = format!("what is translated is in `{}`", self.parts.display());
                Error::Interrupted { signal, saved: saved + "; to continue, repeat the same command" }
            }
            error => error,
        }
    }

    /// Joins the parts to the corpus, and removes them.
    fn join(&self) -> Result<SynthesisCounts> {
        if let Some(counts) = self.complete {
            return self.remove_parts(counts);
        }
        let paths: Vec<PathBuf> = (0..self.n_parts()).map(|number| self.part(number)).collect();
        let mut counts = SynthesisCounts::default();
        for path in &paths {
            counts += Part::read(path)?.counts;
        }
        // From now on, the corpus is either absent or complete, and this says what is in it.
        atomic::write_file(&self.parts.join(COUNTS), &to_json(&counts)?)?;
        atomic::write_with(self.files.output, &|path| {
            let mut out = BufWriter::new(fs::File::create(path)?);
            for path in &paths {
                let part = Part::read(path).map_err(io::Error::other)?;
                part.rows.iter().try_for_each(|row| writeln!(out, "{row}"))?;
            }
            out.flush()
        })?;
        self.remove_parts(counts)
    }

    /// Removes the parts of a corpus that is complete.
    fn remove_parts(&self, counts: SynthesisCounts) -> Result<SynthesisCounts> {
        if let Some(path) = self.files.counts {
            atomic::write_file(path, &to_json(&counts)?)?;
        }
        atomic::remove_folder(&self.parts)?;
        Ok(counts)
    }

    fn part(&self, number: usize) -> PathBuf {
        self.parts.join(format!("{number:06}.json"))
    }
}

impl AddAssign for SynthesisCounts {
    fn add_assign(&mut self, other: Self) {
        let Self { lines, pairs, blank, too_long, empty, cut_off } = other;
        self.lines += lines;
        self.pairs += pairs;
        self.blank += blank;
        self.too_long += too_long;
        self.empty += empty;
        self.cut_off += cut_off;
    }
}

/// The next lines, at most [`LINES`]; `None` for those that are too long.
fn next(lines: &mut Lines<impl io::Read>) -> Result<Vec<Option<String>>> {
    let mut read = Vec::with_capacity(LINES);
    while read.len() < LINES
        && let Some(line) = lines.next_line()?
    {
        read.push(match line {
            Line::Text(text) => Some(text.to_owned()),
            Line::TooLong => None,
        });
    }
    Ok(read)
}

/// Creates or checks the folder of the parts. Returns the number of lines and, if the corpus is complete, what
/// became of them.
fn prepare(
    files: SynthesisFiles<'_>,
    options: SynthesisOptions,
    model: &str,
    parts: &Path,
) -> Result<(usize, Option<SynthesisCounts>)> {
    let counts = parts.join(COUNTS);
    let is_complete = files.output.exists() && counts.exists();
    if files.output.exists() && !is_complete {
        return Err(Error::usage(
            format!("`{}` already exists", files.output.display()),
            "delete it, or write to another file",
        ));
    }
    for file in [Some(files.text), files.references].into_iter().flatten() {
        // Each process reads it, and it is read again to go on.
        if fs::metadata(file).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Error::usage(
                format!("`{}` is no file that can be read several times", file.display()),
                "name a file of text, not a folder or a pipe",
            ));
        }
    }
    let (text, n_lines) = SourceFile::of_lines(files.text)?;
    let references = files.references.map(SourceFile::of_lines).transpose()?;
    if let (Some((_, found)), Some(path)) = (&references, files.references)
        && *found != n_lines
    {
        return Err(Error::Unaligned {
            first: files.text.to_path_buf(),
            first_lines: n_lines,
            second: path.to_path_buf(),
            second_lines: *found,
        });
    }
    let references = references.map(|(file, _)| file);
    PartsManifest::new(model, &options, text, references).check_or_write(parts)?;
    atomic::remove_unfinished(parts)?;
    let complete = is_complete.then(|| {
        let json = regular_file::read(&counts, regular_file::BY_HAND)?;
        serde_json::from_slice(&json).map_err(|error| {
            Error::data(
                format!("`{}` is damaged: {error}", counts.display()),
                "delete this folder: the corpus beside it is complete",
            )
        })
    });
    Ok((n_lines, complete.transpose()?))
}

#[cfg(test)]
mod tests;
