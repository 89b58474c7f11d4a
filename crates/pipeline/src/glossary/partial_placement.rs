//! A translation while its terms are being placed.

use std::collections::BTreeSet;
use std::iter;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use attentive_text::composed;

use super::super::Candidate;
use super::super::requirements::shortened;
use super::Term;
use super::evidence::SourceIds;
use super::spans::{WordSpans, overlap};

/// A translation while its terms are being placed.
pub(super) struct PartialPlacement<'a> {
    pub(super) sentence: usize,
    pub(super) terms: &'a [Term],
    pub(super) words: WordSpans,
    pub(super) source: SourceIds,
    pub(super) candidate: Candidate,
    /// The numbers of the terms that have no place yet.
    pub(super) pending: Vec<usize>,
    /// For each term, what the model writes for it alone.
    pub(super) known: Rc<Vec<Arc<WordSpans>>>,
    /// Terms in their places, each with the words that it stands for: the one that it has replaced, unless
    /// those were several, and the one that the model writes for it alone.
    pub(super) placed: Vec<(String, BTreeSet<String>)>,
    pub(super) problems: Vec<String>,
}

/// The number of terms of which one is given its place at a time: each has to be looked for again then.
const NEXT: usize = 4;

/// The maximum number of words of a term that are looked for one by one.
const PARTS: usize = 8;

impl PartialPlacement<'_> {
    /// The pending terms of which one is given its place next.
    pub(super) fn next(&self) -> &[usize] {
        &self.pending[..self.pending.len().min(NEXT)]
    }

    /// The bytes of the words of a term, if it has several.
    pub(super) fn parts(&self, term: usize) -> Vec<Range<usize>> {
        let words = self.words.words.iter().filter(|word| overlap(word, &self.terms[term].range));
        let parts: Vec<Range<usize>> = words.take(PARTS).cloned().collect();
        if parts.len() > 1 { parts } else { Vec::new() }
    }

    /// The bytes of a term, of its parts, and of the words beside it.
    pub(super) fn masks(&self, term: usize) -> Vec<Range<usize>> {
        let parts = self.parts(term);
        let term = self.terms[term].range.clone();
        let words = &self.words.words;
        let before = words.iter().rfind(|word| word.end <= term.start).cloned();
        let after = words.iter().find(|word| word.start >= term.end).cloned();
        iter::once(term).chain(parts).chain(before).chain(after).collect()
    }

    /// The translation of a term as it is written at `bytes`: with a capital at the beginning, if what it
    /// replaces has one there.
    pub(super) fn written(&self, term: usize, words: &WordSpans, bytes: &Range<usize>) -> String {
        let is_first = words.words.first().is_some_and(|first| first.start >= bytes.start);
        let capital = is_first && words.text[bytes.clone()].starts_with(char::is_uppercase);
        let Term { range, target } = &self.terms[term];
        with_case(&self.words.text[range.clone()], target, capital)
    }

    /// True if words like `word`, which renders a term, may render others: one has the same translation, or
    /// is this word itself.
    pub(super) fn may_be_others(&self, term: usize, word: &str) -> bool {
        let same = self.terms.iter().filter(|other| other.target == self.terms[term].target);
        same.count() > 1 || self.placed.iter().any(|(placed, _)| placed.contains(word))
    }

    /// True if the terms that are in their places are still there.
    pub(super) fn keeps_placed(&self, after: &WordSpans) -> bool {
        let placed = |term: &str| self.placed.iter().filter(|(other, _)| other == term).count();
        self.placed.iter().all(|(term, _)| after.occurrences(term).len() >= placed(term))
    }

    /// All problems, also those of words that terms have replaced, but not everywhere, and of terms that have
    /// the same place.
    pub(super) fn problems_at_the_end(&self) -> Vec<String> {
        let words = WordSpans::of(self.candidate.text.clone());
        let mut problems = self.problems.clone();
        for (term, replaced) in &self.placed {
            let in_terms = |word: &str| -> usize {
                self.placed.iter().map(|(term, _)| WordSpans::of(term.clone()).count_like(word)).sum()
            };
            let left = replaced.iter().filter(|word| words.count_like(word) > in_terms(word));
            problems.extend(left.map(|word| {
                let term = shortened(term);
                format!(
                    "the translation has the term `{term}`, but also `{word}`, which may translate it, too"
                )
            }));
            let placed = self.placed.iter().filter(|(other, _)| other == term).count();
            let found = words.occurrences(term).len();
            if found < placed {
                let term = shortened(term);
                problems
                    .push(format!("the translation has the term `{term}` {found} instead of {placed} times"));
            }
        }
        problems
    }

    /// The problem that no word renders a term.
    pub(super) fn unrendered(&self, term: usize) -> String {
        let target = shortened(&self.terms[term].target);
        format!("the term `{target}` may be missing: the model renders it with no word of its own")
    }
}

/// The problem that there is no translation with the term `target`.
pub(super) fn unplaced(target: &str) -> String {
    format!("the term `{}` may be missing: no translation with it was found", shortened(target))
}

/// `target`, the translation of `source`: with a capital, if that is asked for and the term is neither kept
/// as it is nor has capitals of its own.
pub(super) fn with_case(source: &str, target: &str, capital: bool) -> String {
    let target = composed(target);
    let is_kept = target.to_lowercase() == source.to_lowercase();
    let mut letters = target.chars();
    match letters.next() {
        Some(first) if capital && !is_kept && !target.contains(char::is_uppercase) => {
            first.to_uppercase().chain(letters).collect()
        }
        _ => target.into_owned(),
    }
}
