//! Alignments that attention is to follow in training.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use attentive_base::batch::{AlignedPositions, TokenId};
use attentive_base::count::{count, number};
use attentive_base::error::{Error, Result};
use attentive_text::{Tokenizer, Tokenizers, WordMarks};

use crate::encoding::example::Example;
use crate::reading::lines::{Line, Lines, MAX_LINE_BYTES};
use crate::reading::source_file::SourceFile;
use crate::word_alignment::GoldLinks;

/// The number of examples that are compared with their alignments at first.
const COMPARED: usize = 10_000;
/// The largest share of them whose alignments do not fit.
const MOST_MISFITS: f64 = 0.05;

/// The word alignments of the lines of a corpus.
#[derive(Clone, Debug)]
pub struct CorpusAlignments {
    path: PathBuf,
    /// For each line, the end of its links.
    ends: Vec<usize>,
    /// Numbers of a source and a target word, counted from 0.
    links: Vec<[u16; 2]>,
}

impl CorpusAlignments {
    /// Reads the file at `path`, whose lines have links `i-j`. Returns its identity, too.
    ///
    /// # Errors
    /// Those of [`Lines`]; [`Error::Line`] for something that is no link.
    pub fn read(path: &Path) -> Result<(Self, SourceFile)> {
        let mut lines = Lines::open(path, MAX_LINE_BYTES)?;
        let (mut ends, mut links) = (Vec::new(), Vec::new());
        loop {
            let found = match lines.next_line()? {
                None => break,
                Some(Line::TooLong) => Err("a line of links, found a very long one".to_owned()),
                Some(Line::Text(text)) => GoldLinks::from_str(text).map_err(|error| error.to_string()),
            };
            let found = found.map_err(|problem| Error::line(path, lines.count(), problem))?;
            // Words beyond these are in no sentence that fits into a model.
            let word = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
            links.extend(found.possible.0.into_iter().map(|(src, tgt)| [word(src), word(tgt)]));
            ends.push(links.len());
        }
        let unread =
            || Error::Data { problem: format!("`{}` was not read to its end", path.display()), hint: None };
        Ok((Self { path: path.to_path_buf(), ends, links }, lines.finish().ok_or_else(unread)?))
    }

    /// Refuses another number of lines than `n_lines`, those of the corpus.
    ///
    /// # Errors
    /// [`Error::Data`]
    pub fn check_lines(&self, n_lines: usize) -> Result<()> {
        if self.ends.len() == n_lines {
            return Ok(());
        }
        let (path, own) = (self.path.display(), count(self.ends.len(), "line"));
        Err(Error::data(
            format!("`{path}` has {own}, but the training corpus has {}", number(n_lines as u64)),
            "align all corpora of `data.train`, in their order, with blank lines for none",
        ))
    }

    /// The links of a line, counted from 1.
    pub(crate) fn of_line(&self, line: usize) -> &[[u16; 2]] {
        let Some(&end) = line.checked_sub(1).and_then(|index| self.ends.get(index)) else {
            return &[];
        };
        let start = line.checked_sub(2).map_or(0, |before| self.ends[before]);
        &self.links[start..end]
    }
}

/// The alignments of examples, as positions of their tokens.
#[derive(Clone, Debug)]
pub struct Guide {
    alignments: Arc<CorpusAlignments>,
    src: WordMarks,
    tgt: WordMarks,
    /// The number of tokens to which longer sides were cropped, if they were.
    cropped_to: Option<usize>,
}

/// The word of each token of a pair.
struct TokenWords {
    src: Vec<Option<usize>>,
    tgt: Vec<Option<usize>>,
}

impl TokenWords {
    /// The numbers of words of both sides.
    fn n_words(&self) -> [usize; 2] {
        [&self.src, &self.tgt].map(|words| words.iter().flatten().max().map_or(0, |last| last + 1))
    }
}

impl Guide {
    /// Returns the guide of a corpus with these `alignments` in tokens of these `tokenizers`.
    ///
    /// # Errors
    /// [`Error::Data`] for a tokenizer file that is damaged.
    pub fn new(alignments: Arc<CorpusAlignments>, tokenizers: &Tokenizers) -> Result<Self> {
        let marks = |tokenizer: &Tokenizer| {
            WordMarks::of(tokenizer).map_err(|problem| Error::Data {
                problem: format!("the words of a text are not known by its tokens: {problem}"),
                hint: None,
            })
        };
        let [src, tgt] = [marks(tokenizers.src())?, marks(tokenizers.tgt())?];
        Ok(Self { alignments, src, tgt, cropped_to: None })
    }

    /// The same, for examples whose sides were cropped to `most` tokens.
    pub fn of_cropped(self, most: usize) -> Self {
        Self { cropped_to: Some(most), ..self }
    }

    fn words(&self, example: &Example) -> TokenWords {
        TokenWords { src: self.src.numbers(example.src()), tgt: self.tgt.numbers(&example.tgt_out) }
    }

    /// Refuses alignments of which many link words that the `examples` do not have.
    ///
    /// # Errors
    /// [`Error::Data`]
    pub(crate) fn check<'a>(&self, examples: impl Iterator<Item = impl AsRef<Example> + 'a>) -> Result<()> {
        let (mut compared, mut misfits) = (0, 0);
        for example in examples.take(COMPARED) {
            let example = example.as_ref();
            // Words that were cut off may have links.
            let is_cut = |side: &[TokenId]| self.cropped_to.is_some_and(|most| side.len() >= most);
            if is_cut(example.src()) || is_cut(&example.tgt_out) {
                continue;
            }
            let [n_src, n_tgt] = self.words(example).n_words();
            let mut links = self.alignments.of_line(example.line).iter();
            compared += 1;
            let fits = links.all(|&[src, tgt]| usize::from(src) < n_src && usize::from(tgt) < n_tgt);
            misfits += usize::from(!fits);
        }
        if misfits as f64 <= MOST_MISFITS * compared as f64 {
            return Ok(());
        }
        Err(Error::data(
            format!(
                "`{}` does not fit the training corpus: {misfits} of {} link words that they do not have",
                self.alignments.path.display(),
                count(compared, "line")
            ),
            "make it from the same files, in the same order",
        ))
    }

    /// The aligned positions of `example`, row `row` of its batch, which was made of `original`. There are
    /// none if their words differ.
    pub(crate) fn aligned(&self, row: usize, example: &Example, original: &Example) -> Vec<AlignedPositions> {
        let links = self.alignments.of_line(example.line);
        if links.is_empty() {
            return Vec::new();
        }
        let words = self.words(example);
        if words.n_words() != self.words(original).n_words() {
            return Vec::new();
        }
        let mut aligned = Vec::new();
        for (tgt, word) in words.tgt.iter().enumerate() {
            let Some(word) = word else { continue };
            let is_linked =
                |src: &Option<usize>| src.is_some_and(|src| links.contains(&[src as u16, *word as u16]));
            let linked = (0..words.src.len()).filter(|&place| is_linked(&words.src[place]));
            let linked: Vec<usize> = linked.collect();
            // The loss of a line has its weight.
            let share = example.weight / linked.len() as f32;
            let position =
                |src: usize| AlignedPositions { row: row as u32, tgt: tgt as u32, src: src as u32, share };
            aligned.extend(linked.into_iter().map(position));
        }
        aligned
    }
}
