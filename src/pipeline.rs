//! A model in use: text in, text out.
//!
//! What comes out for a line depends on that line alone, not on its neighbours or on how lines fall into batches. Every
//! line gets an answer; where it could not be read as it stands, the answer carries a [`Warning`].

mod source;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::path::Path;

use rayon::prelude::*;

use crate::batch::{Padded, TokenId};
use crate::checkpoint;
use crate::config::{Config, DecodeConfig};
use crate::decode::{Hypothesis, SearchOptions, search};
use crate::device;
use crate::error::{Error, Result};
use crate::model::{Model, Stepper};
use crate::text::Tokenizers;
use source::Source;

/// At most this many source positions in a batch, counted once for each hypothesis and with padding: what a model
/// remembers of them is most of the memory that a search takes. 64 sentences of 50 tokens fit with a beam of 5.
const MAX_BATCH_POSITIONS: usize = 1 << 14;

/// A model with all that it needs to translate text.
#[derive(Debug)]
pub struct Pipeline {
    config: Config,
    tokenizers: Tokenizers,
    model: Model,
}

/// How to translate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TranslateOptions {
    /// How to search.
    pub search: SearchOptions,
    /// Sentences that are translated together at most.
    pub batch_size: usize,
}

impl From<&DecodeConfig> for TranslateOptions {
    /// The configured search for the one best translation.
    fn from(config: &DecodeConfig) -> Self {
        Self {
            search: config.into(),
            batch_size: config.batch_size,
        }
    }
}

/// The answer to one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// The best first; at least one, for a blank line an empty one.
    pub hypotheses: Vec<Candidate>,
    /// What had to be done to the line.
    pub warning: Option<Warning>,
}

impl Translation {
    /// The text of the best hypothesis.
    pub fn into_best(self) -> String {
        let best = self.hypotheses.into_iter().next();
        best.map(|candidate| candidate.text).unwrap_or_default()
    }
}

/// One possible translation of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Its text.
    pub text: String,
    /// Its log-probability after the length penalty: what candidates are compared by.
    pub score: f64,
    /// Its natural log-probability, that of `</s>` included.
    pub log_prob: f64,
    /// Its tokens, without `<s>` and `</s>`.
    pub tokens: Vec<TokenId>,
    /// Whether the model ended it. Otherwise it was cut off at the length limit.
    pub finished: bool,
}

/// A line could not be translated as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, counted from 1.
    pub line: usize,
    /// What was wrong with it and what was done.
    pub problem: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl Pipeline {
    /// Loads a model directory, for the CPU.
    ///
    /// # Errors
    /// Those of [`checkpoint::load`].
    pub fn load(dir: impl AsRef<Path>) -> Result<Self> {
        let loaded = checkpoint::load(dir.as_ref(), &device::cpu())?;
        Ok(Self::from_parts(
            loaded.config,
            loaded.tokenizers,
            loaded.model,
        ))
    }

    /// A pipeline of parts that fit each other, with a model outside autodiff.
    pub fn from_parts(config: Config, tokenizers: Tokenizers, model: Model) -> Self {
        Self {
            config,
            tokenizers,
            model,
        }
    }

    /// How the model is built, and how it searches unless told otherwise.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Text to ids and back.
    pub fn tokenizers(&self) -> &Tokenizers {
        &self.tokenizers
    }

    /// The network.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The best translation of each line, with the configured search; see [`Pipeline::translate_with`].
    ///
    /// # Errors
    /// A configured search that cannot be met.
    pub fn translate<L: AsRef<str> + Sync>(&self, lines: &[L]) -> Result<Vec<String>> {
        let translations = self.translate_with(lines, &(&self.config.decode).into())?;
        Ok(translations
            .into_iter()
            .map(Translation::into_best)
            .collect())
    }

    /// The `n_best` best translations of each line.
    ///
    /// Blank lines stay empty. Control characters are read as blanks, and of a line that is too long for the model only
    /// the beginning is translated; both come with a warning.
    ///
    /// # Errors
    /// [`Error::Usage`] for options that cannot be met.
    pub fn translate_with<L: AsRef<str> + Sync>(
        &self,
        lines: &[L],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        self.translate_from(1, lines, options)
    }

    /// The same for lines out of a longer text, of which the first is number `first_line`: so a text of any length can
    /// be translated piece by piece, and warnings name the right lines.
    ///
    /// # Errors
    /// [`Error::Usage`] for options that cannot be met.
    pub fn translate_from<L: AsRef<str> + Sync>(
        &self,
        first_line: usize,
        lines: &[L],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        options.search.check()?;
        if options.batch_size == 0 {
            return Err(Error::usage(
                "batches of 0 sentences translate nothing",
                "the least batch size is 1",
            ));
        }
        let sources: Vec<Source> = lines
            .par_iter()
            .enumerate()
            .map(|(index, line)| Source::read(line.as_ref(), first_line + index, self))
            .collect::<Result<_>>()?;

        let mut found: Vec<Vec<Candidate>> = vec![vec![Candidate::default()]; lines.len()];
        for batch in batches(&sources, options) {
            let ids: Vec<&[TokenId]> = batch.iter().map(|&line| &*sources[line].ids).collect();
            for (line, hypotheses) in batch.iter().zip(self.search(&ids, &options.search)) {
                found[*line] = hypotheses;
            }
        }
        let answers = found.into_iter().zip(sources);
        Ok(answers
            .map(|(hypotheses, source)| Translation {
                hypotheses,
                warning: source.warning,
            })
            .collect())
    }

    fn search(&self, sources: &[&[TokenId]], options: &SearchOptions) -> Vec<Vec<Candidate>> {
        let (src, tgt) = (self.tokenizers.src(), self.tokenizers.tgt());
        let src = Padded::new(sources, src.special().pad);
        let candidate = |found: Hypothesis| Candidate {
            text: tgt.decode(&found.tokens),
            score: found.score,
            log_prob: found.log_prob,
            tokens: found.tokens,
            finished: found.finished,
        };
        search(&self.model, &src, tgt.special(), options)
            .into_iter()
            .map(|hypotheses| hypotheses.into_iter().map(candidate).collect())
            .collect()
    }

    /// The most tokens of a source, `</s>` included.
    fn max_src_len(&self) -> usize {
        self.model.max_len()
    }
}

/// The lines that are not blank, in batches of similar length; the longest come first, so that what takes most memory
/// takes it at once.
fn batches(sources: &[Source], options: &TranslateOptions) -> Vec<Vec<usize>> {
    let len = |&line: &usize| sources[line].ids.len();
    let mut order: Vec<usize> = (0..sources.len()).filter(|line| len(line) > 0).collect();
    order.sort_by_key(|line| std::cmp::Reverse(len(line)));
    let mut rest = order.as_slice();
    let mut batches = Vec::new();
    while let Some(longest) = rest.first().map(len) {
        let fitting = MAX_BATCH_POSITIONS / (longest * options.search.beam_width);
        let size = fitting.clamp(1, options.batch_size).min(rest.len());
        let (batch, others) = rest.split_at(size);
        batches.push(batch.to_vec());
        rest = others;
    }
    batches
}
