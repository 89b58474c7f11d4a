//! Sentence pairs from files or generators, without those that nothing can be learned from.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::builtin;
use super::lines::{SourceFile, for_each_line};
use crate::config::{BuiltinTask, CorpusConfig};
use crate::error::{Error, Result};

/// Pairs with a longer side are dropped: such lines are lost line ends or binary data, not sentences.
pub const MAX_LINE_BYTES: usize = 100_000;

/// Sentence pairs and where they come from.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The pairs in the order of the file.
    pub pairs: Vec<Pair>,
    /// What was read and what was dropped.
    pub stats: ReadStats,
    /// The files; none for a built-in corpus.
    pub sources: Vec<SourceFile>,
}

/// A sentence and its translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The source.
    pub src: String,
    /// The target.
    pub tgt: String,
    /// Its line in the file, or its place in a generated corpus, counted from 1.
    pub line: usize,
}

/// Lines that were read, and pairs that were dropped, each for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Lines read.
    pub lines: usize,
    /// Dropped because a side is empty or white space.
    pub empty: usize,
    /// Dropped because a side is longer than [`MAX_LINE_BYTES`].
    pub too_long: usize,
    /// Dropped because a side holds NUL or another control character that is no white space.
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
            "{} of {lines} pairs kept",
            lines - empty - too_long - control
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

/// Reads or generates the pairs that `config` names. Relative paths start at `dir`; `seed` is for built-in corpora.
///
/// Gzipped files are recognised by their content; line ends may be CRLF, and a byte order mark is dropped. Pairs that
/// [`ReadStats`] counts are dropped.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read, [`Error::Line`] for a line that is not UTF-8 or lacks the form of its
/// file, [`Error::Unaligned`] for aligned files of different lengths, [`Error::Data`] if no pair is left, and
/// [`Error::Config`] if `config` does not name exactly one corpus.
pub fn read(config: &CorpusConfig, dir: Option<&Path>, seed: u64) -> Result<Corpus> {
    let at = |path: &PathBuf| dir.map_or_else(|| path.clone(), |dir| dir.join(path));
    let CorpusConfig {
        src,
        tgt,
        tsv,
        jsonl,
        builtin,
        pairs,
    } = config;
    let corpus = match (src, tgt, tsv, jsonl, builtin, pairs) {
        (Some(src), Some(tgt), None, None, None, None) => read_aligned(&at(src), &at(tgt)),
        (None, None, Some(tsv), None, None, None) => read_pairs(&at(tsv), split_tsv),
        (None, None, None, Some(jsonl), None, None) => read_pairs(&at(jsonl), parse_json),
        (None, None, None, None, Some(task), Some(pairs)) => Ok(generate(*task, seed, *pairs)),
        _ => Err(Error::Config {
            key: "data".into(),
            expected:
                "one of `src` + `tgt`, `tsv`, `jsonl` and `builtin` + `pairs` for each corpus"
                    .into(),
            found: "another combination".into(),
            hint: None,
        }),
    }?;
    if corpus.pairs.is_empty() {
        let names: Vec<String> = corpus
            .sources
            .iter()
            .map(|file| format!("`{}`", file.path.display()))
            .collect();
        return Err(Error::Data {
            problem: format!(
                "no sentence pair in {}: {}",
                names.join(" and "),
                corpus.stats
            ),
            hint: Some("check that these are the right files".into()),
        });
    }
    Ok(corpus)
}

fn read_aligned(src: &Path, tgt: &Path) -> Result<Corpus> {
    let read = |path: &Path| {
        let mut lines = Vec::new();
        let file = for_each_line(path, |_, line| {
            lines.push(line.to_owned());
            Ok(())
        })?;
        Ok((lines, file))
    };
    let ((src_lines, src), (tgt_lines, tgt)) = (read(src)?, read(tgt)?);
    if src_lines.len() != tgt_lines.len() {
        return Err(Error::Unaligned {
            first: src.path,
            first_lines: src_lines.len(),
            second: tgt.path,
            second_lines: tgt_lines.len(),
        });
    }
    let mut corpus = Corpus::new(vec![src, tgt]);
    for (src, tgt) in src_lines.into_iter().zip(tgt_lines) {
        corpus.add(src, tgt);
    }
    Ok(corpus)
}

/// Reads a file whose lines `parse` turns into a source and a target, or into a problem. Blank lines count as empty pairs.
fn read_pairs(path: &Path, parse: fn(&str) -> Result<(String, String), String>) -> Result<Corpus> {
    let mut corpus = Corpus::new(vec![]);
    let file = for_each_line(path, |number, line| {
        let (src, tgt) = match line.trim().is_empty() {
            true => Default::default(),
            false => parse(line).map_err(|problem| Error::line(path, number, problem))?,
        };
        corpus.add(src, tgt);
        Ok(())
    })?;
    corpus.sources.push(file);
    Ok(corpus)
}

fn split_tsv(line: &str) -> Result<(String, String), String> {
    let columns: Vec<&str> = line.split('\t').collect();
    match columns[..] {
        [src, tgt] => Ok((src.to_owned(), tgt.to_owned())),
        _ => Err(format!(
            "expected 2 columns with a tab between them, found {}",
            columns.len()
        )),
    }
}

fn parse_json(line: &str) -> Result<(String, String), String> {
    #[derive(Deserialize)]
    struct Object {
        src: String,
        tgt: String,
    }
    let Object { src, tgt } = serde_json::from_str(line).map_err(|error| {
        let message = error.to_string();
        // The parser sees one line at a time and calls each the first.
        let problem = message.split(" at line 1").next().unwrap_or_default();
        format!(
            "expected a JSON object with string fields `src` and `tgt`, but at column {}: {problem}",
            error.column()
        )
    })?;
    Ok((src, tgt))
}

fn generate(task: BuiltinTask, seed: u64, pairs: usize) -> Corpus {
    let mut corpus = Corpus::new(vec![]);
    for example in builtin::generate(task, seed, pairs) {
        corpus.add(example.src, example.tgt);
    }
    corpus
}

impl Corpus {
    fn new(sources: Vec<SourceFile>) -> Self {
        Self {
            pairs: vec![],
            stats: ReadStats::default(),
            sources,
        }
    }

    /// Takes up the next line's pair, or counts why not.
    fn add(&mut self, src: String, tgt: String) {
        self.stats.lines += 1;
        let either = |is: fn(&str) -> bool| is(&src) || is(&tgt);
        if either(|side| side.trim().is_empty()) {
            self.stats.empty += 1;
        } else if either(|side| side.len() > MAX_LINE_BYTES) {
            self.stats.too_long += 1;
        } else if either(|side| side.contains(|c: char| c.is_control() && !c.is_whitespace())) {
            self.stats.control += 1;
        } else {
            self.pairs.push(Pair {
                src,
                tgt,
                line: self.stats.lines,
            });
        }
    }
}
