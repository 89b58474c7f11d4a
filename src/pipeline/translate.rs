//! Translation.

use rayon::prelude::*;

use super::source::Source;
use super::{Pipeline, Warning};
use crate::batch::{Padded, TokenId};
use crate::config::{DecodeConfig, Task};
use crate::decode::{Hypothesis, SearchOptions, search};
use crate::error::{Error, Result};
use crate::model::Stepper;

/// At most this many source positions in a batch, counted once for each hypothesis and with padding: what a model
/// remembers of them is most of the memory that a search takes. 64 sentences of 50 tokens fit with a beam of 5.
pub(super) const MAX_BATCH_POSITIONS: usize = 1 << 14;

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

impl Pipeline {
    /// The best translation of each line, with the configured search; see [`Pipeline::translate_with`].
    ///
    /// # Errors
    /// Those of [`Pipeline::translate_from`].
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
    /// Those of [`Pipeline::translate_from`].
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
    /// [`Error::Usage`] for options that cannot be met, and for a model that does not translate; [`Error::Data`] for one
    /// whose numbers are not finite.
    pub fn translate_from<L: AsRef<str> + Sync>(
        &self,
        first_line: usize,
        lines: &[L],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        self.require(Task::Translate)?;
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
                if hypotheses.is_empty() {
                    let effect = "the model gives no next token a probability";
                    return Err(Error::damaged_model(effect));
                }
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
    pub(super) fn max_src_len(&self) -> usize {
        self.model.max_len()
    }
}

/// The lines that are not blank, in batches of similar length; the longest come first, so that what takes most memory
/// takes it at once.
pub(super) fn batches(sources: &[Source], options: &TranslateOptions) -> Vec<Vec<usize>> {
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
