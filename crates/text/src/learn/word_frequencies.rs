//! Word frequencies, the only input of vocabulary learning.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use aho_corasick::{AhoCorasick, MatchKind};
use attentive_base::error::{Error, Result};
use rayon::prelude::*;

use crate::Tokenizer;

/// Lines counted per task.
const LINES_PER_TASK: usize = 4096;

/// Longer sequences of characters are split into parts of this length; otherwise text without spaces would
/// take time quadratic in the length of a line.
const MAX_STRETCH: usize = 256;

/// The words of a text in alphabetical order, with their frequencies.
pub(super) struct WordFrequencies(Vec<(String, u64)>);

/// Divides texts at symbols.
struct Divider(Option<AhoCorasick>);

impl Divider {
    fn new(symbols: &[String]) -> Self {
        let builder = || AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(symbols);
        Self((!symbols.is_empty()).then(|| builder().expect("symbols of a moderate length")))
    }

    /// The parts of `text` between symbols.
    fn parts<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let Some(finder) = &self.0 else { return vec![text] };
        let (mut parts, mut done) = (Vec::new(), 0);
        for found in finder.find_iter(text) {
            parts.push(&text[done..found.start()]);
            done = found.end();
        }
        parts.push(&text[done..]);
        parts
    }
}

impl WordFrequencies {
    /// Splits each line with `tokenizer` and counts the pieces, but for `symbols`.
    pub(super) fn of<S: AsRef<str> + Sync>(
        texts: &[&[S]],
        tokenizer: &Tokenizer,
        symbols: &[String],
    ) -> Result<Self> {
        let divider = Divider::new(symbols);
        let count_lines = |lines: &[S]| {
            let mut counts = HashMap::new();
            for part in lines.iter().flat_map(|line| divider.parts(line.as_ref())) {
                for word in tokenizer.pieces(part)? {
                    *counts.entry(word).or_insert(0) += 1;
                }
            }
            Ok(counts)
        };
        let tasks: Vec<&[S]> = texts.iter().flat_map(|text| text.chunks(LINES_PER_TASK)).collect();
        let counts =
            tasks.into_par_iter().map(count_lines).try_reduce(HashMap::new, |a, b| Ok(merge(a, b))).map_err(
                |error: tokenizers::Error| Error::Data {
                    problem: format!("cannot split the training text into words: {error}"),
                    hint: None,
                },
            )?;
        Ok(Self::new(counts))
    }

    pub(super) fn new(counts: HashMap<String, u64>) -> Self {
        let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
        counts.sort_unstable();
        Self(counts)
    }

    /// The characters that occur at least `min_frequency` times.
    pub(super) fn alphabet(&self, min_frequency: u64) -> BTreeSet<char> {
        let mut counts: HashMap<char, u64> = HashMap::new();
        for (word, count) in &self.0 {
            for character in word.chars() {
                *counts.entry(character).or_default() += count;
            }
        }
        counts.into_iter().filter(|(_, count)| *count >= min_frequency).map(|(c, _)| c).collect()
    }

    /// The words that occur at least `min_frequency` times, most frequent first.
    pub(super) fn frequent_words(&self, min_frequency: u64) -> impl Iterator<Item = String> {
        let frequent = self.0.iter().filter(|(_, count)| *count >= min_frequency);
        let mut words: Vec<(Reverse<u64>, &str)> =
            frequent.map(|(word, count)| (Reverse(*count), word.as_str())).collect();
        words.sort_unstable();
        words.into_iter().map(|(_, word)| word.to_owned())
    }

    /// The sequences of characters from `alphabet` in the words, with their frequencies, in an order that
    /// depends only on the text.
    pub(super) fn stretches(&self, alphabet: &BTreeSet<char>) -> Vec<(Vec<char>, u64)> {
        let mut stretches = Vec::new();
        for (word, count) in &self.0 {
            for stretch in word.split(|c| !alphabet.contains(&c)) {
                let characters: Vec<char> = stretch.chars().collect();
                stretches.extend(characters.chunks(MAX_STRETCH).map(|part| (part.to_vec(), *count)));
            }
        }
        stretches
    }
}

fn merge(a: HashMap<String, u64>, b: HashMap<String, u64>) -> HashMap<String, u64> {
    let (mut most, few) = if a.len() < b.len() { (b, a) } else { (a, b) };
    for (word, count) in few {
        *most.entry(word).or_default() += count;
    }
    most
}
