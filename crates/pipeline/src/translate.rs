//! Translation.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_config::{DecodeConfig, MAX_BEAM_WIDTH, Task};
use attentive_decode::{
    Capacity, Hypothesis, SearchContext, SearchOptions, SourceSentence, Strategy, search,
};
use attentive_kernels::threads::Threads;
use attentive_model::engine::Precision;
use attentive_model::profile::{self, ProfileSection};

use super::batches::{SEARCH_POSITIONS, SEARCH_POSITIONS_EACH, SEARCH_POSITIONS_GPU};
use super::mbr::Mbr;
use super::request::{PreparedRequest, Request, prepare_all};
use super::requirements::{ConstraintReader, Requirements, shortened};
use super::share::share;
use super::tokenized_line::TokenizedLine;
use super::translation::{Candidate, Translation};
use super::{Pipeline, Warning};

/// Options for translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TranslateOptions {
    /// The search options.
    pub search: SearchOptions,
    /// Maximum number of sentences translated together, by all threads; `None` for the number that is usually
    /// fastest, see [`Pipeline::batch_size`].
    pub batch_size: Option<NonZeroUsize>,
    /// The choice among the translations of the search; `None` to return them as they are.
    pub mbr: Option<Mbr>,
}

impl TranslateOptions {
    /// Returns the options of the search for requests with constraints; see [`SearchOptions::guided`].
    pub fn guided(self) -> Self {
        Self { search: SearchOptions { guided: true, ..self.search }, ..self }
    }

    /// Returns the options of a search that computes scores only where it needs them. Others are 0.
    pub fn unscored(self) -> Self {
        Self { search: self.search.unscored(), ..self }
    }
}

impl From<&DecodeConfig> for TranslateOptions {
    /// The configured search, for one translation per line.
    fn from(config: &DecodeConfig) -> Self {
        Self { search: config.into(), batch_size: NonZeroUsize::new(config.batch_size), mbr: None }
    }
}

impl Pipeline {
    /// Returns the best translation of each line, using the configured search; see
    /// [`Pipeline::translate_lines`].
    ///
    /// # Errors
    /// The errors of [`Pipeline::translate_lines_from`].
    pub fn translate<L: AsRef<str> + Sync>(&self, lines: &[L]) -> Result<Vec<String>> {
        self.best_translations(lines, &(&self.config.decode).into())
    }

    /// Returns the best translation of each line. Scores are computed only where the search needs them, since
    /// they are not returned.
    ///
    /// # Errors
    /// The errors of [`Pipeline::translate_lines_from`].
    pub fn best_translations<L: AsRef<str> + Sync>(
        &self,
        lines: &[L],
        options: &TranslateOptions,
    ) -> Result<Vec<String>> {
        let translations = self.translate_lines(lines, &options.unscored())?.into_iter();
        Ok(translations.map(Translation::into_best).collect())
    }

    /// Returns the `n_best` best translations of each line.
    ///
    /// Blank lines stay empty. Control characters are read as blanks, and only the beginning of a line that
    /// is too long for the model is translated; both cause warnings.
    ///
    /// # Errors
    /// The errors of [`Pipeline::translate_lines_from`].
    pub fn translate_lines<L: AsRef<str> + Sync>(
        &self,
        lines: &[L],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        self.translate_lines_from(1, lines, options)
    }

    /// Like [`Pipeline::translate_lines`], for part of a longer text that starts at line `first_line`, so
    /// that warnings name the right lines and each line has its own random numbers.
    ///
    /// # Errors
    /// [`Error::Usage`] for invalid options, for a model that does not translate, and for a coverage penalty
    /// with a model without attention to the source; [`Error::Data`] if its outputs are NaN or infinite.
    pub fn translate_lines_from<L: AsRef<str> + Sync>(
        &self,
        first_line: usize,
        lines: &[L],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        self.check(&options.search)?;
        let sources = profile::time(ProfileSection::Tokenization, || {
            TokenizedLine::read_all(first_line, lines, |line| TokenizedLine::read(line, self))
        })?;
        let numbered = (first_line..).zip(sources);
        let prepared = numbered.map(|(line, source)| PreparedRequest::of_line(line, source));
        self.translate_prepared(prepared.collect(), options)
    }

    /// Like [`Pipeline::translate_lines_from`], for lines, or sentences of lines, with constraints, for which
    /// the search is [guided](TranslateOptions::guided). If no translation
    /// within the length limit contains all required phrases, the best unfinished one that lacks the fewest
    /// is returned, with a warning.
    ///
    /// # Errors
    /// The errors of [`Pipeline::translate_lines_from`]; [`Error::Data`] for a prefix or phrases that no
    /// translation can contain, before anything is translated; [`Error::Usage`] for phrases when translations
    /// are sampled.
    pub fn translate_requests(
        &self,
        first_line: usize,
        requests: &[Request],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        let is_guided = requests.iter().any(|one| !one.constraints.is_blank());
        let options = &if is_guided { options.guided() } else { *options };
        let prepared = self.prepare(first_line, requests, &options.search)?;
        self.translate_prepared(prepared, options)
    }

    /// Returns the maximum number of sentences that are translated together: the one of `options`, or as many
    /// as are usually fastest.
    pub fn batch_size(&self, options: &TranslateOptions) -> usize {
        /// With more sentences, weights are read fewer times, but the numbers of all rows no longer fit in the
        /// L2 cache.
        const OF_A_THREAD: usize = 16;
        const OF_A_GPU: usize = 256;
        let fastest =
            || if self.is_on_device() { OF_A_GPU } else { OF_A_THREAD * Threads::current().count() };
        options.batch_size.map_or_else(fastest, NonZeroUsize::get)
    }

    /// Returns true if the model can read all of `text` at once.
    pub fn fits(&self, text: &str) -> bool {
        /// No text has this many bytes per token, so longer ones are known not to fit without being read.
        const MAX_BYTES_PER_TOKEN: usize = 64;
        let tokenizer = self.tokenizers.src();
        let frame = tokenizer.special().n_frame();
        let room = self.max_src_len().saturating_sub(frame);
        let short = text.len() <= MAX_BYTES_PER_TOKEN.saturating_mul(room);
        short && tokenizer.encode(text).is_ok_and(|ids| ids.len() <= room)
    }

    /// Prepares `requests` for the search, the first of which is on line `first_line`.
    ///
    /// # Errors
    /// The errors of [`Pipeline::translate_requests`].
    pub(super) fn prepare(
        &self,
        first_line: usize,
        requests: &[Request],
        search: &SearchOptions,
    ) -> Result<Vec<PreparedRequest>> {
        self.check(search)?;
        let has_phrases = |one: &Request| !one.constraints.phrases.is_empty();
        if search.strategy.samples() && requests.iter().any(has_phrases) {
            return Err(Error::usage(
                "sampled translations cannot be made to contain phrases",
                "search with a beam instead of sampling",
            ));
        }
        let contract = self.contract()?;
        let reader = ConstraintReader::new(self, &contract, search);
        profile::time(ProfileSection::Tokenization, || prepare_all(&reader, first_line, requests))
    }

    /// Refuses options that this model does not support.
    fn check(&self, search: &SearchOptions) -> Result<()> {
        self.require(Task::Translate)?;
        search.check()?;
        if search.coverage_penalty > 0.0 {
            self.require_cross_attention("a coverage penalty")?;
        }
        Ok(())
    }

    fn translate_prepared(
        &self,
        prepared: Vec<PreparedRequest>,
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        let order = longest_first(prepared.iter().map(|request| request.source.ids.len()));
        let sentence = |line: usize| {
            let PreparedRequest { source, required, position } = &prepared[line];
            SourceSentence {
                src: source.ids.clone(),
                prefix: required.prefix.clone(),
                constraints: required.constraints.clone(),
                stream: position.stream(),
            }
        };
        let results = self.search(order.iter().map(|&line| sentence(line)), options)?;
        let results = self.widened(results, |place| sentence(order[place]), options)?;
        profile::count(|counts| {
            counts.sentences += order.len();
            // Without `</s>`.
            let lens = order.iter().map(|&line| prepared[line].source.ids.len() - 1);
            counts.src_tokens += lens.sum::<usize>();
            let n_best = options.search.strategy.n_best();
            let given = results.iter().flat_map(|found| found.iter().take(n_best));
            let tokens = given.map(|one| one.tokens.len());
            counts.tgt_tokens += tokens.sum::<usize>();
        });
        let mut found: Vec<Option<Vec<Hypothesis>>> = vec![None; prepared.len()];
        for (line, hypotheses) in order.into_iter().zip(results) {
            found[line] = Some(hypotheses);
        }
        let read = |(request, hypotheses): (PreparedRequest, Option<Vec<Hypothesis>>)| match hypotheses {
            Some(found) => {
                let mut translation = self.translation(request, found, &options.search)?;
                if let Some(mbr) = options.mbr {
                    mbr.choose(&mut translation);
                }
                Ok(translation)
            }
            None => Ok(Translation::blank(request.source)),
        };
        profile::time(ProfileSection::Detokenization, || {
            let lines = Threads::current().map(prepared.into_iter().zip(found), read);
            lines.into_iter().collect()
        })
    }

    /// The translation that a search with [`SearchOptions::all_candidates`] found.
    ///
    /// # Errors
    /// [`Error::Data`] if it found none.
    pub(super) fn translation(
        &self,
        request: PreparedRequest,
        found: Vec<Hypothesis>,
        options: &SearchOptions,
    ) -> Result<Translation> {
        let PreparedRequest { source, required, position } = request;
        let unmet = found.first().map_or(&[][..], |best| &best.unmet);
        let lacking = unmet.iter().map(|&number| lacks(&required.phrases[number]));
        let unk = self.tokenizers.tgt().special().unk;
        let best = found.first().map_or(&[][..], |best| &best.tokens);
        let unwritten = best.iter().filter(|&&id| id == unk).count();
        let of_best = lacking.chain(Warning::of_unwritten(unwritten));
        let mut warnings = source.warnings;
        warnings.extend(of_best.map(|warning| warning.on_line(position.line)));
        let hypotheses = self.candidates(found, &required, options)?;
        if hypotheses.is_empty() {
            let effect = "the model gives no probability to any next token";
            return Err(Error::damaged_model(effect));
        }
        Ok(Translation { hypotheses, warnings })
    }

    /// `results` with those of wider searches where they have fewer different texts than are asked for, until
    /// they have as many or the beam is as wide as it may be. `sentence` returns that of a result.
    fn widened(
        &self,
        mut results: Vec<Vec<Hypothesis>>,
        sentence: impl Fn(usize) -> SourceSentence + Sync + Send,
        options: &TranslateOptions,
    ) -> Result<Vec<Vec<Hypothesis>>> {
        /// A beam so many times as wide has hardly any other text.
        const MAX_WIDENING: usize = 16;
        let Strategy::Beam { width, n_best, early_stopping } = options.search.strategy else {
            return Ok(results);
        };
        let most = MAX_BEAM_WIDTH.min(width * MAX_WIDENING);
        let (mut width, mut short) = (width, (0..results.len()).collect::<Vec<usize>>());
        loop {
            short = self.with_fewer_texts(short, &results, n_best)?;
            if short.is_empty() || width >= most {
                return Ok(results);
            }
            width = most.min(2 * width);
            let strategy = Strategy::Beam { width, n_best, early_stopping };
            let wider = TranslateOptions { search: SearchOptions { strategy, ..options.search }, ..*options };
            let found = self.search(short.iter().map(|&place| sentence(place)), &wider)?;
            // They were counted as translated before.
            self.translated.fetch_sub(found.len(), Ordering::Relaxed);
            for (&place, found) in short.iter().zip(found) {
                results[place] = found;
            }
        }
    }

    /// Those of the `places` whose results have fewer than `n_best` different texts.
    fn with_fewer_texts(
        &self,
        places: Vec<usize>,
        results: &[Vec<Hypothesis>],
        n_best: usize,
    ) -> Result<Vec<usize>> {
        if n_best == 1 {
            return Ok(Vec::new());
        }
        let count = |place: usize| -> Result<(usize, usize)> {
            let texts = results[place].iter().map(|found| self.tokenizers.tgt().decode(&found.tokens));
            Ok((place, texts.collect::<Result<HashSet<String>>>()?.len()))
        };
        let counts: Result<Vec<_>> = Threads::current().map(places, count).into_iter().collect();
        let fewer = counts?.into_iter().filter(|(_, count)| *count < n_best);
        Ok(fewer.map(|(place, _)| place).collect())
    }

    /// The size of all weights, nearly.
    fn weight_bytes(&self) -> usize {
        let bytes = |member: &Self| match member.precision() {
            Some(Precision::Int8) => 1,
            Some(Precision::Bf16) => 2,
            Some(Precision::F32) | None => 4,
        };
        self.members().map(|member| bytes(member) * member.n_weights()).sum()
    }

    /// The search results for each of `sentences`, in order.
    pub(super) fn search(
        &self,
        sentences: impl ExactSizeIterator<Item = SourceSentence> + Send,
        options: &TranslateOptions,
    ) -> Result<Vec<Vec<Hypothesis>>> {
        // A device takes all sentences at once.
        let threads = if self.is_on_device() { 1 } else { Threads::current().count() };
        let at_once = self.batch_size(options).min(sentences.len()).max(1);
        // Counting the weights takes longer than a step of a small model.
        let workers =
            if threads.min(at_once) == 1 { 1 } else { workers(threads, at_once, self.weight_bytes()) };
        let positions = if self.is_on_device() {
            SEARCH_POSITIONS_GPU
        } else {
            SEARCH_POSITIONS.div_ceil(workers).max(SEARCH_POSITIONS_EACH)
        };
        let capacity = Capacity { sentences: at_once.div_ceil(workers), positions };
        let contract = self.contract()?;
        let context =
            SearchContext { contract: &contract, options: options.search.all_candidates(), capacity };
        let count = |_: &Vec<Hypothesis>| {
            self.translated.fetch_add(1, Ordering::Relaxed);
        };
        let interrupt = Interrupt::current();
        let found = self.computing(|| {
            Ok(share(sentences, workers, |sentences| {
                interrupt.during(|| match self.ensemble() {
                    None => search(self.stepper(), sentences, context).inspect(count).collect(),
                    Some(ensemble) => search(&ensemble, sentences, context).inspect(count).collect(),
                })
            }))
        })?;
        Interrupt::check()?;
        Ok(found)
    }

    /// The best `n_best` hypotheses with distinct texts, or all samples; `required` are the constraints of
    /// the search.
    fn candidates(
        &self,
        hypotheses: Vec<Hypothesis>,
        required: &Requirements,
        options: &SearchOptions,
    ) -> Result<Vec<Candidate>> {
        let (tgt, strategy) = (self.tokenizers.tgt(), options.strategy);
        let mut candidates: Vec<Candidate> = Vec::with_capacity(strategy.n_best());
        for found in hypotheses {
            let text = tgt.decode(&found.tokens)?;
            let is_new = || candidates.iter().all(|other| other.text != text);
            if candidates.len() < strategy.n_best() && (strategy.samples() || is_new()) {
                candidates.push(Candidate::of(found, text, &required.phrases));
            }
        }
        Ok(candidates)
    }

    /// Maximum number of source tokens, including `</s>`.
    pub(super) fn max_src_len(&self) -> usize {
        self.max_len()
    }
}

/// A warning that the best translation lacks a required phrase.
fn lacks(phrase: &str) -> Warning {
    let phrase = shortened(phrase);
    Warning::new(format!(
        "the translation lacks `{phrase}`: the search found none within the length limit that has all phrases"
    ))
}

/// The number of searches that run side by side, each on one of `threads`, for `at_once` sentences. Those of a
/// large model have at least four sentences each, since each reads all weights. The threads share the work of a
/// single search.
pub(super) fn workers(threads: usize, at_once: usize, weight_bytes: usize) -> usize {
    /// Weights of this size stay in the caches.
    const SMALL: usize = 16 << 20;
    const FEW: usize = 4;
    let most = if weight_bytes <= SMALL { at_once } else { at_once / FEW };
    most.clamp(1, threads)
}

/// The indices of non-blank lines, given the number of tokens of each, longest first: sentences of similar
/// length are encoded together, and the largest batch comes first.
pub(super) fn longest_first(lens: impl Iterator<Item = usize>) -> Vec<usize> {
    let lens: Vec<usize> = lens.collect();
    let mut order: Vec<usize> = (0..lens.len()).filter(|&line| lens[line] > 0).collect();
    order.sort_by_key(|&line| std::cmp::Reverse(lens[line]));
    order
}
