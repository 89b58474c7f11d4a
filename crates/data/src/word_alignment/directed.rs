//! The alignment of each word with a word of the other side, or none.

use super::LONGEST_SENTENCE;
use super::markov::{Jumps, Posterior};
use super::translation_table::TranslationTable;
use super::vocabulary::IndexedText;

/// A model by which each word of `text` is aligned with one of `given`, or with none.
#[derive(Debug)]
pub(super) struct DirectedAligner<'a> {
    given: &'a IndexedText,
    text: &'a IndexedText,
    table: TranslationTable,
    /// Those of the hidden Markov model; `None` for IBM Model 1.
    pub(super) jumps: Option<Jumps>,
}

/// The probabilities of a pair's alignments, with the places of its words in the table.
#[derive(Debug)]
pub(super) struct PairExpectation {
    /// The places of each word with each given word, and with the empty one.
    translated: Vec<usize>,
    unaligned: Vec<usize>,
    pub(super) posterior: Posterior,
}

/// What an iteration of expectation maximization counts.
#[derive(Debug)]
pub(super) struct AlignmentCounts {
    entries: Vec<f64>,
    jumps: Jumps,
}

impl<'a> DirectedAligner<'a> {
    /// A model in which all alignments are equally likely.
    pub(super) fn new(given: &'a IndexedText, text: &'a IndexedText) -> Self {
        Self { given, text, table: TranslationTable::new(given, text), jumps: None }
    }

    /// No counts.
    pub(super) fn counts(&self) -> AlignmentCounts {
        AlignmentCounts { entries: vec![0.0; self.table.len()], jumps: Jumps::default() }
    }

    /// Takes the counts for new probabilities.
    pub(super) fn improve(&mut self, counts: AlignmentCounts) {
        self.table.improve(&counts.entries);
        if let Some(jumps) = &mut self.jumps {
            *jumps = counts.jumps;
        }
    }

    /// The probabilities of the alignments of a pair; `None` if a side has no words.
    pub(super) fn expectation(&self, pair: usize) -> Option<PairExpectation> {
        let (given, text) = (&self.given.sentences[pair], &self.text.sentences[pair]);
        let lengths = [given.len(), text.len()];
        if lengths.iter().any(|&len| len == 0 || len > LONGEST_SENTENCE) {
            return None;
        }
        let each = text.iter().flat_map(|word| given.iter().map(|one| self.table.place(Some(*one), *word)));
        let translated: Vec<usize> = each.collect();
        let unaligned: Vec<usize> = text.iter().map(|word| self.table.place(None, *word)).collect();
        let [of_words, of_none] = [&translated, &unaligned]
            .map(|places| places.iter().map(|&place| self.table.probability(place)).collect::<Vec<f64>>());
        let posterior = match &self.jumps {
            Some(jumps) => Posterior::new(given.len(), &of_words, &of_none, jumps),
            None => Posterior::of_model1(given.len(), &of_words, &of_none),
        };
        Some(PairExpectation { translated, unaligned, posterior })
    }
}

impl AlignmentCounts {
    /// Adds the expected counts of a pair.
    pub(super) fn add(&mut self, pair: &PairExpectation) {
        let PairExpectation { translated, unaligned, posterior } = pair;
        let translated = translated.iter().zip(&posterior.aligned);
        for (place, count) in translated.chain(unaligned.iter().zip(&posterior.empty)) {
            self.entries[*place] += count;
        }
        self.jumps.add(&posterior.jumps);
    }
}
