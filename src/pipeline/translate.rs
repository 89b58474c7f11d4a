//! Translation.

use super::batches::SEARCH_POSITIONS;
use super::source::Source;
use super::{Pipeline, Warning};
use crate::batch::TokenId;
use crate::config::{DecodeConfig, Task};
use crate::decode::{Capacity, Hypothesis, SearchOptions, search};
use crate::error::{Error, Result};
use crate::nn::Pass;

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
    pub warnings: Vec<Warning>,
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
    /// the beginning is translated; both come with warnings.
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
        let sources = Source::read_all(first_line, lines, |line| Source::read(line, self))?;

        let order = longest_first(&sources);
        let sentences = order.iter().map(|&line| sources[line].ids.clone());
        let mut found: Vec<Vec<Candidate>> = vec![vec![Candidate::default()]; lines.len()];
        for (&line, hypotheses) in order.iter().zip(self.search(sentences, options)?) {
            if hypotheses.is_empty() {
                let effect = "the model gives no next token a probability";
                return Err(Error::damaged_model(effect));
            }
            found[line] = hypotheses;
        }
        let answers = found.into_iter().zip(sources);
        Ok(answers
            .map(|(hypotheses, source)| Translation {
                hypotheses,
                warnings: source.warnings,
            })
            .collect())
    }

    /// What the search finds for each of `sentences`, in their order.
    fn search(
        &self,
        sentences: impl Iterator<Item = Vec<TokenId>>,
        options: &TranslateOptions,
    ) -> Result<Vec<Vec<Candidate>>> {
        let wanted = options.search.n_best;
        // Different tokens may spell the same text: the list is filled up from the rest of the beam.
        let search_options = SearchOptions {
            n_best: if wanted > 1 {
                options.search.beam_width
            } else {
                1
            },
            ..options.search
        };
        let capacity = Capacity {
            sentences: options.batch_size,
            positions: SEARCH_POSITIONS,
        };
        let (steps, contract) = (self.model.steps(Pass::inference()), self.contract()?);
        Ok(
            search(&steps, sentences, &contract, &search_options, capacity)
                .map(|hypotheses| self.candidates(hypotheses, wanted))
                .collect(),
        )
    }

    /// The best `wanted` hypotheses with different texts.
    fn candidates(&self, hypotheses: Vec<Hypothesis>, wanted: usize) -> Vec<Candidate> {
        let tgt = self.tokenizers.tgt();
        let mut candidates: Vec<Candidate> = Vec::with_capacity(wanted);
        for found in hypotheses {
            let text = tgt.decode(&found.tokens);
            if candidates.len() < wanted && candidates.iter().all(|other| other.text != text) {
                candidates.push(Candidate {
                    text,
                    score: found.score,
                    log_prob: found.log_prob,
                    tokens: found.tokens,
                    finished: found.finished,
                });
            }
        }
        candidates
    }

    /// The most tokens of a source, `</s>` included.
    pub(super) fn max_src_len(&self) -> usize {
        self.model.max_len()
    }
}

/// The lines that are not blank, the longest first: sentences of similar length are encoded together, and what takes most
/// memory takes it at once.
pub(super) fn longest_first(sources: &[Source]) -> Vec<usize> {
    let len = |&line: &usize| sources[line].ids.len();
    let mut order: Vec<usize> = (0..sources.len()).filter(|line| len(line) > 0).collect();
    order.sort_by_key(|line| std::cmp::Reverse(len(line)));
    order
}
