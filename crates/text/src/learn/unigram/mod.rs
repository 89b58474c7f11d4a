//! Unigram language model (Kudo 2018): starts with many pieces, then alternates between estimating their
//! probabilities by expectation maximization and removing the least useful ones, until the vocabulary is
//! small enough.
//!
//! The trainer of the `tokenizers` crate is not used: its results depend on hash order and thread count, and
//! it can panic or prune forever on small corpora.

mod pieces;
mod seeds;

use std::collections::BTreeSet;

use attentive_config::TokenizerConfig;
use rayon::prelude::*;

use self::pieces::UnigramPieces;
use super::word_frequencies::WordFrequencies;
use crate::format::LearnedModel;

/// The number of initial pieces per token of the final vocabulary.
const SEEDS_PER_TOKEN: usize = 10;

/// The number of EM iterations between prunings.
const ESTIMATIONS: usize = 2;

/// The number of parts of the text that are summed separately, independent of the number of threads, so that
/// sums are reproducible.
const PARTS: usize = 16;

/// Learns pieces and their log-probabilities; every character of `alphabet` is a piece.
pub(super) fn learn(
    config: &TokenizerConfig,
    special: &[&str],
    frequencies: &WordFrequencies,
    alphabet: &BTreeSet<char>,
) -> LearnedModel {
    let room = config.vocab_size - special.len();
    let words = frequencies.stretches(alphabet);
    let seeds = seeds::collect(&words, alphabet, config.min_frequency, room.saturating_mul(SEEDS_PER_TOKEN));
    let mut pieces = UnigramPieces::new(seeds, alphabet.len());
    loop {
        let mut expected = vec![];
        for _ in 0..ESTIMATIONS {
            expected = expected_counts(&words, &pieces);
            pieces.estimate(&expected);
        }
        if pieces.len() <= room {
            break;
        }
        pieces = pieces.pruned(&expected, room.max(pieces.len() * 3 / 4));
    }
    let special = special.iter().map(|&token| (token.to_owned(), 0.0));
    LearnedModel::Unigram { tokens: special.chain(pieces.into_sorted()).collect() }
}

/// Expected number of occurrences of each piece, averaged over all segmentations of the words.
fn expected_counts(words: &[(Vec<char>, u64)], pieces: &UnigramPieces) -> Vec<f64> {
    let sums: Vec<Vec<f64>> = words
        .par_chunks(words.len().div_ceil(PARTS).max(1))
        .map(|part| {
            let mut sum = vec![0.0; pieces.len()];
            for (word, count) in part {
                pieces.add_expected(word, *count as f64, &mut sum);
            }
            sum
        })
        .collect();
    let mut total = vec![0.0; pieces.len()];
    for sum in sums {
        total.iter_mut().zip(sum).for_each(|(total, part)| *total += part);
    }
    total
}
