//! Sentence pairs from files or generators, without those that nothing can be learned from.

use std::fmt;
use std::path::{Path, PathBuf};

use super::lines::{SourceFile, for_each_line};
use super::{builtin, json};
use crate::config::{BuiltinTask, Config, CorpusConfig, Task, Units};
use crate::count::count;
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

/// What a corpus consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Sentences and their translations.
    Translations,
    /// Tokens between blanks, and a tag for each.
    TaggedTokens,
    /// Vectors of this width, and a tag for each.
    TaggedVectors(usize),
    /// Texts, one a line.
    Lines,
    /// One text.
    Stream,
}

impl Form {
    /// What the configured family learns from.
    pub fn of(config: &Config) -> Self {
        match (config.model.family.task(), config.model.recurrent.d_input) {
            (Task::Translate, _) => Self::Translations,
            (Task::Tag, 0) => Self::TaggedTokens,
            (Task::Tag, width) => Self::TaggedVectors(width),
            (Task::Generate | Task::Fill, _) => match config.data.units {
                Units::Lines => Self::Lines,
                Units::Stream => Self::Stream,
            },
        }
    }

    /// Whether there is text on the source side.
    pub fn has_source(self) -> bool {
        matches!(self, Self::Translations | Self::TaggedTokens)
    }
}

/// A sentence and its translation, or what stands for them in another [`Form`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// The source, or tokens; empty if there is none.
    pub src: String,
    /// Vectors in place of the source, one behind the other.
    pub vectors: Vec<f32>,
    /// The target, tags, or a text.
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

/// Reads or generates what `config` names, which consists of `form`. Relative paths start at `dir`; `seed` is for built-in corpora.
///
/// Gzipped files are recognised by their content; line ends may be CRLF, and a byte order mark is dropped. Pairs that
/// [`ReadStats`] counts are dropped.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read, [`Error::Line`] for a line that is not UTF-8 or lacks the form of its
/// file or the right number of tags, [`Error::Unaligned`] for aligned files of different lengths, [`Error::Data`] if no pair is left, and
/// [`Error::Config`] if `config` does not name exactly one corpus.
pub fn read(config: &CorpusConfig, form: Form, dir: Option<&Path>, seed: u64) -> Result<Corpus> {
    let at = |path: &PathBuf| dir.map_or_else(|| path.clone(), |dir| dir.join(path));
    let CorpusConfig {
        src,
        tgt,
        tsv,
        jsonl,
        text,
        builtin,
        pairs,
    } = config;
    let corpus = match (src, tgt, tsv, jsonl, text, builtin, pairs) {
        (Some(src), Some(tgt), None, None, None, None, None) => read_aligned(&at(src), &at(tgt)),
        (None, None, Some(tsv), None, None, None, None) => read_each(&at(tsv), form, split_tsv),
        (None, None, None, Some(jsonl), None, None, None) => {
            let parse = |line: &str| json::parse(line, form);
            read_each(&at(jsonl), form, parse)
        }
        (None, None, None, None, Some(text), None, None) => read_text(&at(text), form),
        (None, None, None, None, None, Some(task), Some(pairs)) => {
            Ok(generate(*task, form, seed, *pairs))
        }
        _ => Err(Error::Config {
            key: "data".into(),
            expected:
                "one of `src` + `tgt`, `tsv`, `jsonl`, `text` and `builtin` + `pairs` for each corpus"
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
                "nothing to learn from in {}: {}",
                names.join(" and "),
                corpus.stats
            ),
            hint: Some("check that these are the right files".into()),
        });
    }
    corpus.check_tags(form)?;
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
        corpus.add(Pair::new(src, tgt), Form::Translations);
    }
    Ok(corpus)
}

/// Reads a file whose lines `parse` turns into a pair, or into a problem. Blank lines count as empty pairs.
fn read_each(
    path: &Path,
    form: Form,
    parse: impl Fn(&str) -> Result<Pair, String>,
) -> Result<Corpus> {
    let mut corpus = Corpus::new(vec![]);
    let file = for_each_line(path, |number, line| {
        let pair = match line.trim().is_empty() {
            true => Pair::default(),
            false => parse(line).map_err(|problem| Error::line(path, number, problem))?,
        };
        corpus.add(pair, form);
        Ok(())
    })?;
    corpus.sources.push(file);
    Ok(corpus)
}

/// Reads a text: a line each, or the whole as one.
fn read_text(path: &Path, form: Form) -> Result<Corpus> {
    let mut corpus = Corpus::new(vec![]);
    let file = for_each_line(path, |_, line| {
        corpus.add(Pair::new(String::new(), line.to_owned()), form);
        Ok(())
    })?;
    corpus.sources.push(file);
    Ok(corpus)
}

fn split_tsv(line: &str) -> Result<Pair, String> {
    let columns: Vec<&str> = line.split('\t').collect();
    match columns[..] {
        [src, tgt] => Ok(Pair::new(src.to_owned(), tgt.to_owned())),
        _ => Err(format!(
            "expected 2 columns with a tab between them, found {}",
            columns.len()
        )),
    }
}

fn generate(task: BuiltinTask, form: Form, seed: u64, pairs: usize) -> Corpus {
    let mut corpus = Corpus::new(vec![]);
    for example in builtin::generate(task, seed, pairs) {
        corpus.add(Pair::from_example(example, form), form);
    }
    corpus
}

impl Pair {
    fn new(src: String, tgt: String) -> Self {
        Self {
            src,
            tgt,
            ..Self::default()
        }
    }

    fn from_example(example: builtin::Example, form: Form) -> Self {
        match form {
            Form::Translations | Form::TaggedVectors(_) => Self::new(example.src, example.tgt),
            Form::TaggedTokens => {
                let tags: Vec<&str> = example.src_tags.iter().map(|tag| tag.as_str()).collect();
                Self::new(example.src_tokens.join(" "), tags.join(" "))
            }
            Form::Lines | Form::Stream => Self::new(String::new(), example.tgt),
        }
    }

    /// Its sides as far as they hold text.
    fn texts(&self, form: Form) -> impl Iterator<Item = &str> {
        let src = form.has_source().then_some(self.src.as_str());
        src.into_iter().chain([self.tgt.as_str()])
    }
}

impl Corpus {
    fn new(sources: Vec<SourceFile>) -> Self {
        Self {
            pairs: vec![],
            stats: ReadStats::default(),
            sources,
        }
    }

    /// Refuses tags that are not as many as what they label.
    fn check_tags(&self, form: Form) -> Result<()> {
        for pair in &self.pairs {
            let (what, count) = match form {
                Form::TaggedTokens => ("tokens", pair.src.split_whitespace().count()),
                Form::TaggedVectors(width) => ("vectors", pair.vectors.len() / width),
                Form::Translations | Form::Lines | Form::Stream => return Ok(()),
            };
            let tags = pair.tgt.split_whitespace().count();
            if tags != count {
                let problem = format!("{tags} tags for {count} {what}; each has one");
                return Err(self.error(pair.line, problem));
            }
        }
        Ok(())
    }

    /// What is wrong with a line.
    pub(super) fn error(&self, line: usize, problem: String) -> Error {
        match self.sources.last() {
            Some(file) => Error::line(&file.path, line, problem),
            None => Error::Data {
                problem: format!("pair {line} of the generated corpus: {problem}"),
                hint: None,
            },
        }
    }

    /// Takes up the next line's pair, or counts why not.
    fn add(&mut self, pair: Pair, form: Form) {
        self.stats.lines += 1;
        let any = |is: fn(&str) -> bool| pair.texts(form).any(is);
        let is_line = form != Form::Stream;
        if is_line && any(|side| side.trim().is_empty()) {
            self.stats.empty += 1;
        } else if is_line && any(|side| side.len() > MAX_LINE_BYTES) {
            self.stats.too_long += 1;
        } else if any(|side| side.contains(|c: char| c.is_control() && !c.is_whitespace())) {
            self.stats.control += 1;
        } else if !is_line {
            self.append(&pair.tgt);
        } else {
            self.pairs.push(Pair {
                line: self.stats.lines,
                ..pair
            });
        }
    }

    /// Takes up the next line of the one text that a [`Form::Stream`] is.
    fn append(&mut self, line: &str) {
        if self.pairs.is_empty() {
            let line = self.stats.lines;
            self.pairs.push(Pair {
                line,
                ..Pair::default()
            });
        }
        if let [whole] = self.pairs.as_mut_slice() {
            whole.tgt.push_str(line);
            whole.tgt.push('\n');
        }
    }

    /// Takes the share `share` at the end away, and gives it as a corpus of its own.
    ///
    /// # Errors
    /// [`Error::Data`] if that leaves nothing on one side.
    pub fn hold_out(&mut self, share: f64, form: Form) -> Result<Self> {
        let mut held = Self::new(self.sources.clone());
        let kept = |all: usize| all - (all as f64 * share).round() as usize;
        match (form, self.pairs.as_mut_slice()) {
            (Form::Stream, [whole]) => {
                let characters = whole.tgt.chars().count();
                let cut = whole.tgt.char_indices().nth(kept(characters));
                let cut = cut.map_or(whole.tgt.len(), |(byte, _)| byte);
                let tgt = whole.tgt.split_off(cut);
                held.pairs = vec![Pair {
                    tgt,
                    ..whole.clone()
                }];
            }
            _ => held.pairs = self.pairs.split_off(kept(self.pairs.len())),
        }
        held.stats.lines = held.pairs.len();
        let empty = |corpus: &Self| corpus.pairs.iter().all(|pair| pair.tgt.is_empty());
        if empty(self) || empty(&held) {
            return Err(Error::Config {
                key: "data.hold_out".into(),
                expected: "a share that leaves something to train on and something to validate on"
                    .into(),
                found: share.to_string(),
                hint: None,
            });
        }
        Ok(held)
    }
}
