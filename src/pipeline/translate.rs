//! Translation.

use super::batches::SEARCH_POSITIONS;
use super::share::share;
use super::source::Source;
use super::{Pipeline, Warning};
use crate::batch::TokenId;
use crate::config::{DecodeConfig, Task};
use crate::decode::{Capacity, Hypothesis, SearchOptions, search};
use crate::error::{Error, Result};

/// Options of translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TranslateOptions {
    /// The search options.
    pub search: SearchOptions,
    /// Maximum number of sentences translated together.
    pub batch_size: usize,
}

impl From<&DecodeConfig> for TranslateOptions {
    /// The configured search, for one translation per line.
    fn from(config: &DecodeConfig) -> Self {
        Self {
            search: config.into(),
            batch_size: config.batch_size,
        }
    }
}

/// The translations of one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// Best first; at least one, which is empty for a blank line.
    pub hypotheses: Vec<Candidate>,
    /// Problems with the line.
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
    /// Its log-probability after the length penalty, by which candidates are ranked.
    pub score: f64,
    /// Its natural log-probability, including that of `</s>`.
    pub log_prob: f64,
    /// Its tokens, excluding `<s>` and `</s>`.
    pub tokens: Vec<TokenId>,
    /// Whether it ended with `</s>` rather than at the length limit.
    pub finished: bool,
}

impl Pipeline {
    /// The best translation of each line, using the configured search; see [`Pipeline::translate_with`].
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
    /// Blank lines stay empty. Control characters are read as blanks, and only the beginning of a line that is too long
    /// for the model is translated; both cause warnings.
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

    /// Like [`Pipeline::translate_with`], for part of a longer text that starts at line `first_line`, so that warnings
    /// name the right lines.
    ///
    /// # Errors
    /// [`Error::Usage`] for invalid options and for a model that does not translate; [`Error::Data`] if its outputs are
    /// NaN or infinite.
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
                "the batch size is 0",
                "use a batch size of at least 1",
            ));
        }
        let sources = Source::read_all(first_line, lines, |line| Source::read(line, self))?;

        let order = longest_first(&sources);
        let sentences = order.iter().map(|&line| sources[line].ids.clone());
        let mut found: Vec<Vec<Candidate>> = vec![vec![Candidate::default()]; lines.len()];
        for (&line, hypotheses) in order.iter().zip(self.search(sentences, options)?) {
            if hypotheses.is_empty() {
                let effect = "the model gives no probability to any next token";
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

    /// The search results for each of `sentences`, in order.
    fn search(
        &self,
        sentences: impl Iterator<Item = Vec<TokenId>> + Send,
        options: &TranslateOptions,
    ) -> Result<Vec<Vec<Candidate>>> {
        let wanted = options.search.n_best;
        // Different token sequences may spell the same text; further hypotheses of the beam then fill the list.
        let search_options = SearchOptions {
            n_best: if wanted > 1 {
                options.search.beam_width
            } else {
                1
            },
            ..options.search
        };
        let workers = workers(options.batch_size);
        let capacity = Capacity {
            sentences: options.batch_size.div_ceil(workers),
            positions: SEARCH_POSITIONS.div_ceil(workers),
        };
        let contract = self.contract()?;
        let engine = self.engine();
        let found = share(sentences, workers, |sentences| {
            search(engine, sentences, &contract, &search_options, capacity)
                .map(|hypotheses| self.candidates(hypotheses, wanted))
                .collect()
        });
        Ok(found)
    }

    /// The best `wanted` hypotheses with distinct texts.
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

    /// Maximum number of source tokens, including `</s>`.
    pub(super) fn max_src_len(&self) -> usize {
        self.model.max_len()
    }
}

/// The number of searches that run side by side, each on one thread. With few sentences, the threads share the work of one
/// search instead.
fn workers(batch_size: usize) -> usize {
    /// Fewer sentences per search would make its products too small.
    const FEWEST: usize = 8;
    rayon::current_num_threads().min(batch_size / FEWEST).max(1)
}

/// The indices of non-blank lines, longest first: sentences of similar length are encoded together, and the largest
/// batch comes first.
pub(super) fn longest_first(sources: &[Source]) -> Vec<usize> {
    let len = |&line: &usize| sources[line].ids.len();
    let mut order: Vec<usize> = (0..sources.len()).filter(|line| len(line) > 0).collect();
    order.sort_by_key(|line| std::cmp::Reverse(len(line)));
    order
}
