//! What shows which words of a translation render a term.

use std::iter::zip;
use std::ops::Range;

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_data::Example;

use super::super::Pipeline;
use super::super::tokenized_line::TokenizedLine;
use super::partial_placement::PartialPlacement;
use super::spans::{WordSpans, overlap};

/// A word renders a term if its log-probability falls by at least so much without the term. Other words
/// seldom reach half of it.
const MIN_WEIGHT: f64 = 0.5;

/// How much of the fall without a word beside the term counts against it: an adjective may depend on its
/// noun.
const SHARED: f64 = 0.5;

/// How much more the fall counts for words that attend to the term.
const ATTENDED: f64 = 3.0;

/// How much more the fall counts for words that the model writes for the term alone.
const KNOWN: f64 = 3.0;

/// The number of letters by which an inflected form may be longer than another.
const MAX_ENDING_LENGTH: usize = 3;

/// The part of the largest fall that a neighbor of its word needs to belong to the same rendering.
const NEIGHBOR: f64 = 0.25;

/// The source as tokens, with the bytes of the text that the ordinary ones come from.
#[derive(Clone)]
pub(super) struct SourceIds {
    pub(super) ids: Vec<TokenId>,
    pub(super) first: usize,
    pub(super) bytes: Vec<Range<usize>>,
}

/// What shows which words render a term.
pub(super) struct Evidence {
    /// For each token, how much its log-probability falls without the term.
    falls: Vec<f64>,
    /// The same for each word of the term, if it has several.
    parts: Vec<Vec<f64>>,
    /// For each token, the most that it falls without a word beside the term.
    others: Vec<f64>,
    /// For each token, 1 if it attends to the term most, and 0 otherwise.
    attends: Vec<f64>,
}

impl Pipeline {
    pub(super) fn source_ids(&self, text: &str) -> Result<SourceIds> {
        let ids = TokenizedLine::read(text, self)?.ids;
        let bytes = self.tokenizers.src().offsets(text)?;
        let text = self.tokenizers.src().encode(text)?;
        let first = text.first().and_then(|first| ids.iter().position(|id| id == first));
        Ok(SourceIds { ids, first: first.unwrap_or(0), bytes })
    }

    /// For each translation and each of its next terms, what shows which words render it.
    pub(super) fn evidence(&self, all: &[PartialPlacement<'_>]) -> Result<Vec<Vec<Evidence>>> {
        let special = self.tokenizers.sides();
        let (mut examples, mut whole) = (Vec::new(), Vec::new());
        for one in all.iter().filter(|one| !one.pending.is_empty()) {
            let tokens = &one.candidate.tokens;
            let example = |ids: Vec<TokenId>, number: usize| Example {
                tgt_out: tokens.clone(),
                ..Example::pair(ids, &tokens[..tokens.len() - 1], special.tgt, number)
            };
            whole.push(example(one.source.ids.clone(), whole.len()));
            examples.push(example(one.source.ids.clone(), examples.len()));
            for &term in one.next() {
                for range in one.masks(term) {
                    let masked = one.source.without(&range, special.src.unk);
                    examples.push(example(masked, examples.len()));
                }
            }
        }
        let mut log_probs = vec![Vec::new(); examples.len()];
        for (number, found) in self.log_probs(examples)? {
            log_probs[number] = found;
        }
        let mut attended = match self.require_cross_attention("a place") {
            Ok(()) => self.attended_by(whole)?,
            Err(_) => vec![Vec::new(); whole.len()],
        }
        .into_iter();
        let mut log_probs = log_probs.into_iter();
        let mut of_one = |one: &PartialPlacement<'_>| -> Vec<Evidence> {
            if one.pending.is_empty() {
                return Vec::new();
            }
            let base = log_probs.next().unwrap_or_default();
            let attended = attended.next().unwrap_or_default();
            let of_term = |&term: &usize| {
                let falls = |without: Vec<f64>| -> Vec<f64> {
                    base.iter().zip(without).map(|(with, without)| with - without).collect()
                };
                let (masks, parts) = (one.masks(term).len(), one.parts(term).len());
                let mut all = log_probs.by_ref().take(masks).map(falls);
                let falls = all.next().unwrap_or_default();
                let parts = all.by_ref().take(parts).collect();
                let none = vec![0.0; falls.len()];
                let places = one.source.places(&one.terms[term].range);
                Evidence {
                    others: all.fold(none, |most, falls| zip(most, falls).map(|(a, b)| a.max(b)).collect()),
                    falls,
                    parts,
                    attends: attended.iter().map(|most| f64::from(u8::from(places.contains(most)))).collect(),
                }
            };
            one.next().iter().map(of_term).collect()
        };
        Ok(all.iter().map(&mut of_one).collect())
    }
}

impl SourceIds {
    /// The tokens without those of `range`, in whose place is `unk`.
    pub(super) fn without(&self, range: &Range<usize>, unk: TokenId) -> Vec<TokenId> {
        let places = self.places(range);
        let kept = self.ids.iter().enumerate().filter(|(at, _)| *at == places.start || !places.contains(at));
        kept.map(|(at, &id)| if at == places.start && !places.is_empty() { unk } else { id }).collect()
    }

    /// The positions of the tokens of `range`.
    pub(super) fn places(&self, range: &Range<usize>) -> Range<usize> {
        let within = |bytes: &Range<usize>| overlap(bytes, range);
        let Some(start) = self.bytes.iter().position(within) else { return 0..0 };
        let len = self.bytes[start..].iter().take_while(|bytes| within(bytes)).count();
        let most = self.ids.len().saturating_sub(1);
        (self.first + start).min(most)..(self.first + start + len).min(most)
    }
}

impl Evidence {
    /// True if the words of `span` are a compound with what the model writes for the term alone or with
    /// another word of the translation, or something else that renders what stands beside the term at least
    /// as much as the term.
    pub(super) fn is_shared(
        &self,
        words: &WordSpans,
        tokens: &[Range<usize>],
        known: &WordSpans,
        span: Range<usize>,
    ) -> bool {
        let (falls, others) = (words.sums(tokens, &self.falls), words.sums(tokens, &self.others));
        let sum = |of: &[f64]| of[span.clone()].iter().sum::<f64>();
        let is_known = span.clone().any(|at| known.has_like(words.word(at)));
        let is_compound = |known: &str| {
            let known = known.to_lowercase();
            let is_longer = |word: String| {
                let ends = word.starts_with(&known) || word.ends_with(&known);
                ends && word.chars().count() > known.chars().count() + MAX_ENDING_LENGTH
            };
            span.clone().any(|at| is_longer(words.word(at).to_lowercase()))
        };
        // The translation may have the other word of a compound, too.
        let beside = (0..words.len()).filter(|at| !span.contains(at)).map(|at| words.word(at));
        let beside = beside.filter(|word| word.chars().count() > MAX_ENDING_LENGTH);
        known.main().into_iter().chain(beside).any(is_compound)
            || !is_known && sum(&others) >= sum(&falls).max(MIN_WEIGHT)
    }

    /// The bytes and numbers of the words that render a term, in their order; none if nothing does.
    /// `known` is what the model writes for the term alone, and `may_be_others` is true if other words like
    /// this one may render other terms.
    pub(super) fn spans(
        &self,
        words: &WordSpans,
        tokens: &[Range<usize>],
        known: &WordSpans,
        may_be_others: impl Fn(&str) -> bool,
    ) -> Vec<(Range<usize>, Range<usize>)> {
        let falls = words.sums(tokens, &self.falls);
        let others = words.sums(tokens, &self.others);
        let attends = words.sums(tokens, &self.attends);
        let is_known = |at: usize| known.has_like(words.word(at));
        let times = |at: usize| {
            let attended = if attends[at] > 0.0 { ATTENDED } else { 1.0 };
            attended * if is_known(at) { KNOWN } else { 1.0 }
        };
        let weight = |at: usize| falls[at] * times(at);
        let shared = |at: usize| if is_known(at) { 0.0 } else { SHARED * others[at] };
        let own = |at: usize| (falls[at] - shared(at)) * times(at);
        let Some(best) = (0..words.len()).max_by(|&a, &b| own(a).total_cmp(&own(b))) else {
            return Vec::new();
        };
        if weight(best) < MIN_WEIGHT {
            return Vec::new();
        }
        // The words that render the words of the term.
        let parts: Vec<usize> = self
            .parts
            .iter()
            .filter_map(|falls| {
                let falls = words.sums(tokens, falls);
                let most = (0..words.len())
                    .max_by(|&a, &b| (falls[a] * times(a)).total_cmp(&(falls[b] * times(b))))?;
                (falls[most] * times(most) >= MIN_WEIGHT).then_some(most)
            })
            .collect();
        let joins = |at: usize, neighbor: usize| {
            let (from, to) = (at.min(neighbor), at.max(neighbor));
            let between = &words.text[words.words[from].end..words.words[to].start];
            let is_likely = falls[neighbor] >= NEIGHBOR * falls[best];
            if between.contains(char::is_whitespace) {
                parts.contains(&neighbor)
            } else {
                is_likely || attends[neighbor] > 0.0
            }
        };
        let (mut first, mut last) = (best, best);
        while first > 0 && joins(first, first - 1) {
            first -= 1;
        }
        while last + 1 < words.len() && joins(last, last + 1) {
            last += 1;
        }
        let bytes = |first: usize, last: usize| words.words[first].start..words.words[last].end;
        let mut spans = vec![(bytes(first, last), first..last + 1)];
        if first == last && !may_be_others(words.word(best)) {
            let same = (0..words.len()).filter(|&at| at != best && words.word(at) == words.word(best));
            let same = same.filter(|&at| weight(at) >= MIN_WEIGHT || attends[at] > 0.0);
            spans.extend(same.map(|at| (bytes(at, at), at..at + 1)));
            spans.sort_by_key(|(bytes, _)| bytes.start);
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_mean_more_than_a_term_are_found() {
        // The word, what the model writes for the term alone, the fall without the term, and that without a
        // word beside it.
        for (word, known, fall, other, expected) in [
            ("Hund", "Hund", 9.0, 1.0, false),
            ("Hundes", "ein Hund", 9.0, 12.0, false),
            ("Straßenecke", "Die Straße", 9.0, 1.0, true),
            ("Schäferhund", "Hund", 9.0, 1.0, true),
            ("großer Schäferhund", "Hund", 9.0, 1.0, true),
            ("Haltestelle", "Bus", 5.0, 8.0, true),
            ("Köter", "Hund", 5.0, 2.0, false),
            ("Köter", "Hund", 0.2, 0.3, false),
            ("Schäferhund", "Hunde laufen im Gras", 9.0, 1.0, false),
        ] {
            let token = 0..word.len();
            let evidence =
                Evidence { falls: vec![fall], parts: Vec::new(), others: vec![other], attends: vec![1.0] };
            let (words, known) = (WordSpans::of(word.to_owned()), WordSpans::of(known.to_owned()));
            let all = 0..words.len();
            assert_eq!(
                evidence.is_shared(&words, std::slice::from_ref(&token), &known, all),
                expected,
                "{word}"
            );
        }
    }
}
