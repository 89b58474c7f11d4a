//! Tagging: a label for every position of a sequence.

mod pieces;

use std::ops::Range;

use attentive_base::batch::{Batch, Src, TokenId};
use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_config::Task;
use attentive_data::{Example, is_control};
use attentive_decode::NextToken;
use attentive_kernels::Lengths;
use attentive_kernels::threads::Threads;
use serde::Serialize;

use super::batches::batches;
use super::tokenized_line::TokenizedLine;
use super::{Pipeline, Warning};

/// A tagged sequence.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tagged {
    /// The tokens as read; `None` for a sequence of vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Vec<String>>,
    /// One tag per token or vector.
    pub tags: Vec<String>,
    /// The number of tokens that are not in the vocabulary.
    pub unknown: usize,
    /// Problems with the line.
    pub warnings: Vec<Warning>,
}

impl Pipeline {
    /// Returns the tags of the tokens of each line; the first line has the number `first_line`. Tokens are
    /// separated by white space; a blank line has none.
    ///
    /// A line of more than `model.max_len` tokens is read in pieces of that length, and control characters
    /// are read as blanks; both cause warnings. With `model.word_pieces`, the tag of a word is the tag of its
    /// first token.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that does not tag tokens; [`Error::Data`] if its outputs are NaN or
    /// infinite.
    pub fn tag<L: AsRef<str> + Sync>(&self, first_line: usize, lines: &[L]) -> Result<Vec<Tagged>> {
        self.require(Task::Tag)?;
        if let Some(width) = self.config.model.family.d_input() {
            return Err(Error::usage(
                "this model labels vectors, not tokens",
                format!("use vectors of {}", count(width, "number")),
            ));
        }
        if self.tokenizers.src().in_pieces() {
            return self.tag_pieces(first_line, lines);
        }
        let read = |(line, text): (usize, &L)| self.read_tokens(line, text.as_ref());
        let results = Threads::current().map((first_line..).zip(lines), read).into_iter();
        let (mut tagged, sequences): (Vec<Tagged>, Vec<Vec<TokenId>>) =
            results.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let example = |tokens: &[TokenId], line| Example::tokens(tokens.to_vec(), line);
        let tags = self.label(&sequences, self.config.model.max_len, example)?;
        for (line, (tagged, tags)) in (first_line..).zip(tagged.iter_mut().zip(tags)) {
            tagged.warnings.extend(self.pieces(line, tags.len()));
            tagged.tags = tags;
        }
        Ok(tagged)
    }

    /// Returns the parts of `text` that [`Pipeline::tag`] reads one after another. Tagging each part
    /// separately and [joining](Pipeline::join_tagged) the results is equivalent to tagging the text.
    pub fn pieces_to_tag(&self, text: &str) -> Vec<Range<usize>> {
        let is_blank = |c: char| c.is_whitespace() || is_control(c);
        let mut starts = Vec::new();
        let (mut words, mut inside) = (0, false);
        for (at, c) in text.char_indices() {
            if !is_blank(c) && !inside {
                if words % self.config.model.max_len == 0 {
                    starts.push(at);
                }
                words += 1;
            }
            inside = !is_blank(c);
        }
        // Text before the first word belongs to that word.
        match starts.first_mut() {
            Some(first) => *first = 0,
            None => starts.push(0),
        }
        let ends = starts.iter().skip(1).copied().chain([text.len()]);
        starts.iter().zip(ends).map(|(&start, end)| start..end).collect()
    }

    /// Joins the results for the pieces of `text` into the result of [`Pipeline::tag`] for all of it.
    pub fn join_tagged(&self, text: &str, pieces: Vec<Tagged>) -> Tagged {
        let mut whole = Tagged::default();
        let parted = self.in_parts();
        let is_parted = |piece: &Tagged| {
            let mut problems = piece.warnings.iter().map(|warning| &warning.problem);
            problems.any(|problem| *problem == parted.problem)
        };
        let in_parts = pieces.len() > 1 || pieces.iter().any(is_parted);
        for piece in pieces {
            whole.tokens.get_or_insert_default().extend(piece.tokens.unwrap_or_default());
            whole.tags.extend(piece.tags);
            whole.unknown += piece.unknown;
        }
        let controls = text.chars().filter(|&c| is_control(c)).count();
        let warnings = TokenizedLine::controls(controls).into_iter();
        let too_long = if self.tokenizers.src().in_pieces() {
            in_parts.then_some(parted)
        } else {
            self.pieces(1, whole.tags.len())
        };
        let warnings = warnings.chain(too_long);
        whole.warnings = warnings.map(|warning| warning.on_line(1)).collect();
        whole
    }

    /// Line number `line` before tagging, and its token ids.
    fn read_tokens(&self, line: usize, text: &str) -> Result<(Tagged, Vec<TokenId>)> {
        let tokenizer = self.tokenizers.src();
        let mut tokens = Vec::new();
        let source = TokenizedLine::whole(text, |text| {
            tokens = text.split_whitespace().map(str::to_owned).collect();
            tokenizer.encode_words(text)
        })?;
        let source = source.on_line(line);
        Ok((self.untagged(tokens, &source), source.ids))
    }

    /// A line of these `tokens` before tagging.
    fn untagged(&self, tokens: Vec<String>, read: &TokenizedLine) -> Tagged {
        let unk = self.tokenizers.src().special().unk;
        Tagged {
            tokens: Some(tokens),
            unknown: read.ids.iter().filter(|&&id| id == unk).count(),
            warnings: read.warnings.clone(),
            ..Tagged::default()
        }
    }

    /// Returns the tags of the vectors of each sequence, given as the concatenation of its vectors of
    /// `model.recurrent.d_input` values. The first sequence is on line number `first_line`.
    ///
    /// A sequence of more than `model.max_len` vectors is read in pieces of that length, which causes a
    /// warning.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that does not tag vectors; [`Error::Data`] for a sequence whose length is
    /// not a multiple of `model.recurrent.d_input`, and if the model's outputs are NaN or infinite.
    pub fn tag_vectors(&self, first_line: usize, sequences: &[Vec<f32>]) -> Result<Vec<Tagged>> {
        self.require(Task::Tag)?;
        let Some(width) = self.config.model.family.d_input() else {
            return Err(Error::usage(
                "this model labels tokens, not vectors",
                "use tokens separated by blanks",
            ));
        };
        for (number, sequence) in (first_line..).zip(sequences) {
            if !sequence.len().is_multiple_of(width) || !sequence.iter().all(|x| x.is_finite()) {
                let problem =
                    format!("sequence {number} does not consist of vectors of {width} finite numbers");
                return Err(Error::Data { problem, hint: None });
            }
        }
        let example = |vectors: &[f32], line| Example::vectors(vectors.to_vec(), width, line);
        let tags = self.label(sequences, self.config.model.max_len * width, example)?;
        let tagged = (first_line..).zip(tags).map(|(line, tags)| Tagged {
            warnings: self.pieces(line, tags.len()).into_iter().collect(),
            tags,
            ..Tagged::default()
        });
        Ok(tagged.collect())
    }

    /// A warning if line number `line`, of `len` positions, was read in pieces.
    fn pieces(&self, line: usize, len: usize) -> Option<Warning> {
        let most = self.config.model.max_len;
        (len > most).then(|| {
            let problem = format!("{len} positions were read in pieces of {most}, the model's maximum");
            Warning::new(problem).on_line(line)
        })
    }

    /// The tags of sequences that are split into examples of at most `piece_len` items.
    fn label<T>(
        &self,
        sequences: &[Vec<T>],
        piece_len: usize,
        example: impl Fn(&[T], usize) -> Example,
    ) -> Result<Vec<Vec<String>>> {
        let (mut pieces, mut owners) = (Vec::new(), Vec::new());
        for (owner, sequence) in sequences.iter().enumerate() {
            for piece in sequence.chunks(piece_len) {
                pieces.push(example(piece, pieces.len()));
                owners.push(owner);
            }
        }
        let mut tags = vec![Vec::new(); sequences.len()];
        for (owner, piece) in owners.into_iter().zip(self.tags_of(pieces)?) {
            tags[owner].extend(piece);
        }
        Ok(tags)
    }

    /// The most likely tag at every position of each example. The line numbers of the examples are their
    /// indices, counted from 0.
    fn tags_of(&self, examples: Vec<Example>) -> Result<Vec<Vec<String>>> {
        let mut found = vec![Vec::new(); examples.len()];
        for batch in batches(examples, self.tokenizers.src().special(), None)? {
            Interrupt::check()?;
            for (&number, tags) in batch.lines.iter().zip(self.best_tags(&batch)?) {
                found[number] = tags;
            }
        }
        Ok(found)
    }

    /// The most likely tag at every position of each row.
    fn best_tags(&self, batch: &Batch) -> Result<Vec<Vec<String>>> {
        let tokenizer = self.tokenizers.tgt();
        let best = self.ranked_labels(batch, 1)?;
        let name = |ranked: &Vec<NextToken>| tokenizer.token(ranked[0].token).unwrap_or_default();
        let mut tags = best.iter().map(name);
        let none = Lengths::default();
        let lengths = batch.src().map_or(&none, Src::lengths);
        let rows = lengths.lens().iter();
        Ok(rows.map(|&len| tags.by_ref().take(len).collect()).collect())
    }
}
