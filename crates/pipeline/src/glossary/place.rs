//! Terms in the places of what translates them.
//!
//! A sentence is translated as usual. A word of the translation renders a term if it becomes much less likely
//! once the source lacks the term (leave-one-out attribution, as in Li et al. 2016, "Understanding neural
//! networks through representation erasure"), above all if it attends to the term, or the model also writes
//! it for the term alone. The term takes its place: in the translation as it is, and in translations in which
//! the word before it differs, so that an article may agree with the term. The likeliest of those that have
//! the term as a word, in its place, and without the word that it replaces, is the new translation.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::iter::zip;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_base::interrupt::Interrupt;
use attentive_data::Example;
use attentive_decode::{Hypothesis, SearchOptions, SourceSentence, Strategy};
use attentive_text::composed;

use super::super::requirements::{ConstraintReader, shortened};
use super::super::tokenized_line::TokenizedLine;
use super::super::{Candidate, Pipeline, SentencePosition, TranslateOptions, Translation, Warning};
use super::partial_placement::{PartialPlacement, unplaced};
use super::spans::{WordSpans, overlap, whole};
use super::trial::Trial;
use super::{Glossary, GlossedText, Term};

/// The smallest number of hypotheses of a search for a place.
const WIDTH: usize = 4;

/// The maximum number of terms of a sentence: the time grows with its square.
const MAX_TERMS: usize = 32;

/// A sentence whose terms are to be placed.
#[derive(Clone, Copy, Debug)]
pub struct Unplaced<'a> {
    pub glossed: &'a GlossedText,
    /// The position of the sentence, for warnings.
    pub position: SentencePosition,
}

impl Pipeline {
    /// Finds the terms of `glossary` in `sentences`, and puts them in their places; see
    /// [`Pipeline::place_terms`].
    ///
    /// # Errors
    /// Those of [`Pipeline::place_terms`].
    pub fn apply_glossary<'a>(
        &self,
        glossary: &Glossary,
        sentences: impl Iterator<Item = (&'a str, SentencePosition)>,
        found: &mut [Translation],
        options: &TranslateOptions,
    ) -> Result<()> {
        let glossed = sentences.map(|(text, position)| (glossary.find(text), position));
        let glossed: Vec<(GlossedText, SentencePosition)> = glossed.collect();
        let unplaced: Vec<_> =
            glossed.iter().map(|(glossed, position)| Unplaced { glossed, position: *position }).collect();
        self.place_terms(&unplaced, found, options)
    }

    /// Puts the terms of `sentences` in the places of the words that translate them in `found`, one for each
    /// sentence. A term that cannot be placed is left out, with a warning.
    ///
    /// # Errors
    /// The errors of [`Pipeline::translate_requests`] and [`Pipeline::rescore`].
    pub fn place_terms(
        &self,
        sentences: &[Unplaced<'_>],
        found: &mut [Translation],
        options: &TranslateOptions,
    ) -> Result<()> {
        let contract = self.contract()?;
        let (samples, options) = (options.search.strategy.samples(), self.placing(options));
        let reader = ConstraintReader::new(self, &contract, &options.search);
        let mut all = Vec::new();
        for (number, (sentence, found)) in sentences.iter().zip(&mut *found).enumerate() {
            self.begin(number, sentence, found, &reader, &mut all)?;
        }
        self.translate_alone(&mut all, &options)?;
        while all.iter().any(|one| !one.pending.is_empty()) {
            Interrupt::check()?;
            // Each round deals with a term of each translation.
            let trials = self.trials(&mut all)?;
            self.try_all(&mut all, trials, &reader, &options)?;
        }
        let mut placed: BTreeMap<usize, Vec<(Candidate, Vec<String>)>> = BTreeMap::new();
        for one in all {
            let problems = one.problems_at_the_end();
            placed.entry(one.sentence).or_default().push((one.candidate, problems));
        }
        for (sentence, mut placed) in placed {
            if !samples {
                // Those with all terms first, and each text once.
                placed.sort_by_key(|(_, problems)| !problems.is_empty());
                let mut texts = HashSet::new();
                placed.retain(|(one, _)| texts.insert(one.text.clone()));
            }
            let (hypotheses, problems): (Vec<_>, Vec<_>) = placed.into_iter().unzip();
            let of_best: BTreeSet<String> = problems.into_iter().next().into_iter().flatten().collect();
            let line = sentences[sentence].position.line;
            let warnings = of_best.into_iter().map(|problem| Warning::new(problem).on_line(line));
            found[sentence].warnings.extend(warnings);
            found[sentence].hypotheses = hypotheses;
        }
        Ok(())
    }

    /// The search for a place.
    fn placing(&self, options: &TranslateOptions) -> TranslateOptions {
        let config = &self.config.decode;
        let (width, early_stopping) = match options.search.strategy {
            Strategy::Beam { width, early_stopping, .. } => (width, early_stopping),
            Strategy::Greedy { .. } => (1, config.early_stopping),
            Strategy::Sample { .. } => (config.beam_width, config.early_stopping),
        };
        let width = width.max(WIDTH);
        let strategy = Strategy::Beam { width, n_best: width, early_stopping };
        TranslateOptions {
            search: SearchOptions { strategy, guided: true, coverage_penalty: 0.0, ..options.search },
            batch_size: options.batch_size,
            mbr: None,
        }
    }

    /// Adds the translations of a sentence to `all`, if it has terms that can be spelled.
    fn begin<'a>(
        &self,
        number: usize,
        Unplaced { glossed, position }: &Unplaced<'a>,
        found: &mut Translation,
        reader: &ConstraintReader<'_>,
        all: &mut Vec<PartialPlacement<'a>>,
    ) -> Result<()> {
        let GlossedText { text, terms } = glossed;
        if let Some(exactly) = glossed.alone() {
            found.hypotheses = vec![self.exactly(text, &exactly, reader.search)?];
            // They were about what the model has read.
            found.warnings.clear();
            return Ok(());
        }
        let mut pending = Vec::new();
        let mut wrong: HashSet<&str> = HashSet::new();
        for (at, Term { target, .. }) in terms.iter().enumerate() {
            match reader.tokens("term", target, &mut 0) {
                Ok(tokens) if !tokens.is_empty() => pending.push(at),
                Ok(_) => {
                    let problem =
                        format!("left out: the term `{}` is blank for the model", shortened(target));
                    found.warnings.push(Warning::new(problem).on_line(position.line));
                }
                Err(unmeetable) if wrong.insert(target) => {
                    found.warnings.push(unmeetable.left_out().on_line(position.line));
                }
                Err(_) => (),
            }
        }
        if pending.len() > MAX_TERMS {
            let problem =
                format!("only the first {MAX_TERMS} of {} terms were given their places", pending.len());
            found.warnings.push(Warning::new(problem).on_line(position.line));
            pending.truncate(MAX_TERMS);
        }
        if pending.is_empty() {
            return Ok(());
        }
        let source = self.source_ids(text)?;
        for candidate in &found.hypotheses {
            let mut one = PartialPlacement {
                sentence: number,
                terms,
                words: WordSpans::of(text.clone()),
                source: source.clone(),
                candidate: candidate.clone(),
                pending: pending.clone(),
                known: Rc::default(),
                placed: Vec::new(),
                problems: Vec::new(),
            };
            if candidate.tokens.is_empty() {
                one.problems = pending.iter().map(|&term| one.unrendered(term)).collect();
                one.pending.clear();
            }
            all.push(one);
        }
        Ok(())
    }

    /// The translation of the source `text` as `target`, whether the model can spell it or not.
    fn exactly(&self, text: &str, target: &str, search: &SearchOptions) -> Result<Candidate> {
        let source = TokenizedLine::read(text, self)?.ids;
        let tokens = Some(self.tokenizers.tgt().encode(target)?);
        // With the start and the end.
        let tokens = tokens.filter(|tokens| !source.is_empty() && tokens.len() + 2 <= self.max_len());
        let given = self.given(vec![(&source, tokens)], search)?.into_iter().flatten().next();
        let text = target.to_owned();
        Ok(match given {
            Some(given) => Candidate::of(given, text, &[]),
            None => Candidate { text, ..Candidate::default() },
        })
    }

    /// Translates each term alone.
    fn translate_alone(&self, all: &mut [PartialPlacement<'_>], options: &TranslateOptions) -> Result<()> {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut sentences = Vec::new();
        for one in &*all {
            for Term { range, .. } in one.terms {
                let term = &one.words.text[range.clone()];
                if !numbers.contains_key(term) {
                    numbers.insert(term, sentences.len());
                    sentences.push(SourceSentence::from(TokenizedLine::read(term, self)?.ids));
                }
            }
        }
        let search = SearchOptions { strategy: Strategy::GREEDY, ..options.search };
        let found = self.search_beside(sentences, &TranslateOptions { search, ..*options })?;
        let words = found.iter().map(|found| {
            let tokens = found.first().map_or(&[][..], |best| &best.tokens);
            Ok(Arc::new(WordSpans::of(self.tokenizers.tgt().decode(tokens)?)))
        });
        let words = words.collect::<Result<Vec<_>>>()?;
        let known = |one: &PartialPlacement<'_>| {
            let of = |term: &Term| Arc::clone(&words[numbers[&one.words.text[term.range.clone()]]]);
            Rc::new(one.terms.iter().map(of).collect())
        };
        let known: Vec<_> = all.iter().map(known).collect();
        zip(all, known).for_each(|(one, known)| one.known = known);
        Ok(())
    }

    /// For each translation, the next term that is not in its place yet, and the words that it replaces.
    /// Terms that no word renders are left out.
    fn trials(&self, all: &mut [PartialPlacement<'_>]) -> Result<Vec<(usize, Trial)>> {
        let evidence = self.evidence(all)?;
        let tokenizer = self.tokenizers.tgt();
        let mut trials = Vec::new();
        for (number, (one, evidence)) in all.iter_mut().zip(evidence).enumerate() {
            if one.pending.is_empty() {
                continue;
            }
            let (words, tokens) = WordSpans::of_tokens(&one.candidate.tokens, tokenizer)?;
            let mut located = Vec::new();
            let later = one.pending.split_off(one.next().len());
            for (term, evidence) in std::mem::take(&mut one.pending).into_iter().zip(evidence) {
                match evidence.spans(&words, &tokens, &one.known[term], |word| one.may_be_others(term, word))
                {
                    spans if spans.is_empty() => one.problems.push(one.unrendered(term)),
                    spans => {
                        let span = spans[0].1.clone();
                        let is_shared = evidence.is_shared(&words, &tokens, &one.known[term], span);
                        located.push((term, spans, is_shared));
                    }
                }
            }
            located.sort_by_key(|(_, spans, _)| spans[0].0.start);
            for (term, spans, is_shared) in located {
                let mut target = one.written(term, &words, &spans[0].0);
                if tokenizer.encode(&target)?.contains(&tokenizer.special().unk) {
                    // Without the capital of the beginning.
                    target = composed(&one.terms[term].target).into_owned();
                }
                let is_there = whole(&words.text, &target)
                    .any(|start| overlap(&(start..start + target.len()), &spans[0].0));
                if is_there {
                    one.placed.push((target, BTreeSet::new()));
                    continue;
                }
                if trials.last().is_some_and(|(of, _)| *of == number) {
                    one.pending.push(term);
                } else {
                    let known = one.known[term].main().map(str::to_owned);
                    trials.push((number, Trial { term: target, spans, known, is_shared }));
                }
            }
            one.pending.extend(later);
        }
        Ok(trials)
    }

    /// Gives the term of each trial its place: in the likeliest of the translations that have it there.
    fn try_all(
        &self,
        all: &mut [PartialPlacement<'_>],
        trials: Vec<(usize, Trial)>,
        reader: &ConstraintReader<'_>,
        options: &TranslateOptions,
    ) -> Result<()> {
        let tokenizer = self.tokenizers.tgt();
        let words =
            |(number, _): &(usize, Trial)| WordSpans::of_tokens(&all[*number].candidate.tokens, tokenizer);
        let before = trials.iter().map(|trial| Ok(words(trial)?.0)).collect::<Result<Vec<WordSpans>>>()?;
        let texts = self.variants(all, &trials, &before, reader, options)?;
        let mut pairs = Vec::new();
        for ((number, _), texts) in zip(&trials, &texts) {
            let src = &all[*number].source.ids;
            for text in texts {
                let ids = tokenizer.encode(text.trim())?;
                let fits = ids.len() <= reader.room(src.len()) && !ids.contains(&tokenizer.special().unk);
                pairs.push((src, fits.then_some(ids)));
            }
        }
        let mut given = self.given(pairs, &options.search)?.into_iter();
        for (((number, trial), words), texts) in trials.into_iter().zip(before).zip(texts) {
            let one = &mut all[number];
            let mut best: Option<Hypothesis> = None;
            for found in given.by_ref().take(texts.len()).flatten() {
                let (after, _) = WordSpans::of_tokens(&found.tokens, tokenizer)?;
                let is_better = best.as_ref().is_none_or(|best| found.score > best.score);
                if is_better && trial.is_met(&words, &after) && one.keeps_placed(&after) {
                    best = Some(found);
                }
            }
            match best {
                Some(best) => {
                    let text = tokenizer.decode(&best.tokens)?;
                    one.candidate = Candidate::of(best, text, &[]);
                    one.problems.extend(trial.doubt(&words));
                    let replaced = trial.replaced(&words);
                    one.placed.push((trial.term, replaced));
                }
                None => one.problems.push(unplaced(&trial.term)),
            }
        }
        Ok(())
    }

    /// For each trial, the translation with the term in its place, and those with another word before it,
    /// which searches find.
    fn variants(
        &self,
        all: &[PartialPlacement<'_>],
        trials: &[(usize, Trial)],
        before: &[WordSpans],
        reader: &ConstraintReader<'_>,
        options: &TranslateOptions,
    ) -> Result<Vec<BTreeSet<String>>> {
        let tokenizer = self.tokenizers.tgt();
        let (mut sentences, mut searched) = (Vec::new(), Vec::new());
        for (at, ((number, trial), words)) in zip(trials, before).enumerate() {
            let Some(prefix) = trial.prefix(words) else { continue };
            let src = all[*number].source.ids.clone();
            let prefix = tokenizer.encode(prefix.trim())?;
            let phrase = self.whole_words(&trial.term, tokenizer.encode(&trial.term)?);
            let fits = prefix.len() + phrase.tokens.len() <= reader.room(src.len());
            if fits && !prefix.contains(&tokenizer.special().unk) {
                sentences.push(SourceSentence { src, prefix, constraints: vec![phrase], stream: 0 });
                searched.push(at);
            }
        }
        let exchanged = zip(trials, before).map(|((_, trial), words)| trial.exchanged(words));
        let mut texts: Vec<BTreeSet<String>> = exchanged.map(|text| BTreeSet::from([text])).collect();
        for (at, found) in zip(searched, self.search_beside(sentences, options)?) {
            for hypothesis in found {
                let (after, _) = WordSpans::of_tokens(&hypothesis.tokens, tokenizer)?;
                texts[at].extend(trials[at].1.with_beginning_of(&after, &before[at]));
            }
        }
        Ok(texts)
    }

    /// The results of a search that does not count as translation.
    fn search_beside(
        &self,
        sentences: Vec<SourceSentence>,
        options: &TranslateOptions,
    ) -> Result<Vec<Vec<Hypothesis>>> {
        let found = self.search(sentences.into_iter(), options)?;
        self.translated.fetch_sub(found.len(), Ordering::Relaxed);
        Ok(found)
    }

    /// The given translations of sources as a search would return them; none where there is no translation.
    fn given(
        &self,
        pairs: Vec<(&Vec<TokenId>, Option<Vec<TokenId>>)>,
        search: &SearchOptions,
    ) -> Result<Vec<Option<Hypothesis>>> {
        let first = self.contract()?.forced_first;
        let special = self.tokenizers.sides();
        let mut given: Vec<Option<Hypothesis>> = vec![None; pairs.len()];
        let (mut examples, mut all) = (Vec::new(), Vec::with_capacity(pairs.len()));
        for (number, (src, tokens)) in pairs.into_iter().enumerate() {
            let all_of_one: Vec<TokenId> =
                first.into_iter().chain(tokens.iter().flatten().copied()).collect();
            if tokens.is_some() {
                examples.push(Example::pair(src.clone(), &all_of_one, special.tgt, number));
            }
            all.push(all_of_one);
        }
        for (number, log_probs) in self.log_probs(examples)? {
            let log_prob = log_probs.iter().sum();
            given[number] = Some(Hypothesis {
                score: search.score(log_prob, log_probs.len()),
                log_prob,
                tokens: std::mem::take(&mut all[number]),
                token_log_probs: log_probs.into_iter().map(|one| one as f32).collect(),
                finished: true,
                unmet: Vec::new(),
            });
        }
        Ok(given)
    }
}
