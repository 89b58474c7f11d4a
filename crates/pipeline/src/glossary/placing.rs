//! A translation while its terms are being placed.

use std::iter;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use attentive_text::composed;

use super::super::Candidate;
use super::super::requirements::shortened;
use super::Term;
use super::evidence::SourceIds;
use super::spans::{Words, overlap};

/// A translation while its terms are being placed.
pub(super) struct Placing<'a> {
    pub(super) sentence: usize,
    pub(super) rank: usize,
    pub(super) terms: &'a [Term],
    pub(super) words: Words,
    pub(super) source: SourceIds,
    pub(super) candidate: Candidate,
    /// The numbers of the terms that have no place yet.
    pub(super) pending: Vec<usize>,
    /// For each term, what the model writes for it alone.
    pub(super) known: Rc<Vec<Arc<Words>>>,
    /// Terms in their places, each with the word that it has replaced, unless those were several.
    pub(super) placed: Vec<(String, Option<String>)>,
    pub(super) problems: Vec<String>,
}

impl Placing<'_> {
    /// The bytes of the words of a term, if it has several.
    pub(super) fn parts(&self, term: usize) -> Vec<Range<usize>> {
        let words = self.words.words.iter().filter(|word| overlap(word, &self.terms[term].range));
        let parts: Vec<Range<usize>> = words.cloned().collect();
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
    pub(super) fn written(&self, term: usize, words: &Words, bytes: &Range<usize>) -> String {
        let target = composed(&self.terms[term].target);
        let is_first = words.words.first().is_some_and(|first| first.start >= bytes.start);
        let mut letters = target.chars();
        match letters.next() {
            Some(first) if is_first && words.text[bytes.clone()].starts_with(char::is_uppercase) => {
                first.to_uppercase().chain(letters).collect()
            }
            _ => target.into_owned(),
        }
    }

    /// True if the terms that are in their places are still there.
    pub(super) fn keeps_placed(&self, after: &Words) -> bool {
        let placed = |term: &str| self.placed.iter().filter(|(other, _)| other == term).count();
        self.placed.iter().all(|(term, _)| after.occurrences(term).len() >= placed(term))
    }

    /// All problems, also those of words that terms have replaced, but not everywhere.
    pub(super) fn problems_at_the_end(&self) -> Vec<String> {
        let words = Words::of(self.candidate.text.clone());
        let left = self.placed.iter().filter_map(|(term, word)| {
            let word = word.as_deref().filter(|word| {
                let in_terms = self.placed.iter().map(|(term, _)| Words::of(term.clone()).count_like(word));
                words.count_like(word) > in_terms.sum()
            })?;
            Some(format!("besides the term `{}`, the translation has `{word}`", shortened(term)))
        });
        self.problems.iter().cloned().chain(left).collect()
    }

    pub(super) fn unplaced(&self, term: usize) -> String {
        self.unplaced_target(&self.terms[term].target)
    }

    /// The problem that a term has no place.
    pub(super) fn unplaced_target(&self, target: &str) -> String {
        format!(
            "the translation may lack the term `{}`: no word was found whose place it takes",
            shortened(target)
        )
    }
}
