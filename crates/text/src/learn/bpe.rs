//! Byte-pair encoding (Sennrich et al. 2016): repeatedly merges the most frequent pair of adjacent tokens.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use attentive_base::batch::TokenId;
use attentive_config::TokenizerConfig;

use super::with_special;
use super::word_frequencies::WordFrequencies;
use crate::format::LearnedModel;

type Pair = (TokenId, TokenId);

/// Merges until the vocabulary is full or no pair occurs `min_frequency` times.
pub(super) fn learn(
    config: &TokenizerConfig,
    special: &[&str],
    frequencies: &WordFrequencies,
    alphabet: &BTreeSet<char>,
) -> LearnedModel {
    let mut tokens = with_special(special, alphabet);
    let mut ids: HashMap<String, TokenId> =
        (0..).zip(&tokens).map(|(id, token)| (token.clone(), id)).collect();
    let mut text = Text::new(frequencies, alphabet, &ids);
    let mut merged = HashSet::new();
    let mut merges = Vec::new();
    while tokens.len() < config.vocab_size {
        let Some((pair, count)) = text.most_frequent() else {
            break;
        };
        if count < config.min_frequency {
            break;
        }
        let (left, right) = (&tokens[pair.0 as usize], &tokens[pair.1 as usize]);
        let token = format!("{left}{right}");
        // Two pairs may spell the same token, in which case a pair may reappear.
        if merged.insert(pair) {
            merges.push((left.clone(), right.clone()));
        }
        let id = *ids.entry(token).or_insert_with_key(|token| {
            tokens.push(token.clone());
            (tokens.len() - 1) as TokenId
        });
        text.merge(pair, id);
    }
    LearnedModel::Bpe { tokens, merges }
}

/// The words as tokens, and the positions of each pair.
struct Text {
    words: Vec<Word>,
    pairs: HashMap<Pair, Occurrences>,
    /// Frequencies of pairs, possibly outdated; ties are resolved in favor of lower ids.
    queue: BinaryHeap<(u64, Reverse<Pair>)>,
}

struct Word {
    tokens: Vec<TokenId>,
    count: u64,
}

#[derive(Default)]
struct Occurrences {
    count: u64,
    /// Indices of the words that contain, or once contained, the pair.
    words: Vec<u32>,
}

impl Text {
    fn new(frequencies: &WordFrequencies, alphabet: &BTreeSet<char>, ids: &HashMap<String, TokenId>) -> Self {
        let id_of: HashMap<char, TokenId> =
            alphabet.iter().map(|&c| (c, ids[c.encode_utf8(&mut [0; 4]) as &str])).collect();
        let stretches = frequencies.stretches(alphabet);
        let words: Vec<Word> = stretches
            .into_iter()
            .map(|(stretch, count)| Word { tokens: stretch.iter().map(|c| id_of[c]).collect(), count })
            .collect();
        let mut pairs: HashMap<Pair, Occurrences> = HashMap::new();
        for (index, word) in (0..).zip(&words) {
            for pair in word.tokens.windows(2) {
                pairs.entry((pair[0], pair[1])).or_default().add(index, word.count);
            }
        }
        let queue = pairs.iter().map(|(&pair, found)| (found.count, Reverse(pair))).collect();
        Self { words, pairs, queue }
    }

    fn most_frequent(&mut self) -> Option<(Pair, u64)> {
        while let Some((count, Reverse(pair))) = self.queue.pop() {
            match self.pairs.get(&pair).map_or(0, |found| found.count) {
                0 => {}
                actual if actual == count => return Some((pair, count)),
                actual => self.queue.push((actual, Reverse(pair))),
            }
        }
        None
    }

    /// Replaces `pair` with `token` everywhere.
    fn merge(&mut self, pair: Pair, token: TokenId) {
        let Some(mut found) = self.pairs.remove(&pair) else {
            return;
        };
        found.words.sort_unstable();
        found.words.dedup();
        let mut grown = BTreeSet::new();
        for index in found.words {
            let word = &mut self.words[index as usize];
            let Change { gained, lost } = word.merge(pair, token);
            for &new in &gained {
                self.pairs.entry(new).or_default().add(index, word.count);
            }
            for old in lost {
                if let Some(found) = self.pairs.get_mut(&old) {
                    found.count -= word.count;
                }
            }
            grown.extend(gained);
        }
        let counted = grown.into_iter().map(|pair| (self.pairs[&pair].count, Reverse(pair)));
        self.queue.extend(counted);
    }
}

/// Pairs that a merge creates and removes in a word, with multiplicity; some pairs are both.
#[derive(Default)]
struct Change {
    gained: Vec<Pair>,
    lost: Vec<Pair>,
}

impl Word {
    fn merge(&mut self, pair: Pair, token: TokenId) -> Change {
        let mut change = Change::default();
        let mut tokens: Vec<TokenId> = Vec::with_capacity(self.tokens.len());
        let mut rest = self.tokens.as_slice();
        while let [first, tail @ ..] = rest {
            rest = match tail {
                [second, tail @ ..] if (*first, *second) == pair => {
                    if let Some(&left) = tokens.last() {
                        change.lost.push((left, pair.0));
                        change.gained.push((left, token));
                    }
                    if let Some(&right) = tail.first() {
                        change.lost.push((pair.1, right));
                        change.gained.push((token, right));
                    }
                    tokens.push(token);
                    tail
                }
                _ => {
                    tokens.push(*first);
                    tail
                }
            };
        }
        self.tokens = tokens;
        change
    }
}

impl Occurrences {
    fn add(&mut self, word: u32, count: u64) {
        self.count += count;
        if self.words.last() != Some(&word) {
            self.words.push(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::SPECIAL;

    fn frequencies(words: &[(&str, u64)]) -> WordFrequencies {
        WordFrequencies::new(words.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect())
    }

    fn merges(words: &[(&str, u64)], vocab_size: usize) -> Vec<String> {
        let config = TokenizerConfig { vocab_size, min_frequency: 1, ..TokenizerConfig::default() };
        let frequencies = frequencies(words);
        match learn(&config, SPECIAL, &frequencies, &frequencies.alphabet(1)) {
            LearnedModel::Bpe { merges, .. } => merges.iter().map(|(a, b)| format!("{a}+{b}")).collect(),
            _ => unreachable!("the BPE learner returns a BPE model"),
        }
    }

    /// The words of Sennrich et al., figure 1, with counts. Ties go to the older tokens, and `▁` sorts after
    /// the letters.
    #[test]
    fn merges_the_most_frequent_pairs() {
        let words = [("▁low", 5), ("▁lowest", 2), ("▁newer", 6), ("▁wider", 3)];
        let expected = ["e+r", "l+o", "▁+lo", "▁lo+w"];
        assert_eq!(merges(&words, 4 + 11 + 4), expected);
    }

    #[test]
    fn overlapping_pairs_count_only_possible_merges() {
        assert_eq!(merges(&[("aaaa", 2), ("ab", 3)], 100), ["a+a", "a+b", "aa+aa"]);
        assert_eq!(merges(&[("aaa", 1)], 100), ["a+a", "aa+a"]);
    }

    /// Recounting everything before each merge must give the same result.
    #[test]
    fn matches_a_naive_implementation() {
        let words = [("abababc", 3), ("bcabca", 2), ("ccabab", 4), ("aabbcc", 1), ("cababca", 2)];
        let mut slow: Vec<(Vec<String>, u64)> =
            words.iter().map(|(w, n)| (w.chars().map(String::from).collect(), *n)).collect();
        let mut tokens = with_special(SPECIAL, &"abc".chars().collect());
        for merge in merges(&words, 16) {
            let mut pairs: HashMap<(usize, usize), u64> = HashMap::new();
            let id = |token: &String| tokens.iter().position(|t| t == token).unwrap();
            for (word, count) in &slow {
                for pair in word.windows(2) {
                    *pairs.entry((id(&pair[0]), id(&pair[1]))).or_default() += count;
                }
            }
            let (best, _) = pairs.iter().max_by_key(|(pair, n)| (**n, Reverse(**pair))).unwrap();
            let (a, b) = (tokens[best.0].clone(), tokens[best.1].clone());
            assert_eq!(merge, format!("{a}+{b}"));
            for (word, _) in &mut slow {
                let mut at = 0;
                while at + 1 < word.len() {
                    if word[at] == a && word[at + 1] == b {
                        word.splice(at..at + 2, [format!("{a}{b}")]);
                    }
                    at += 1;
                }
            }
            if !tokens.contains(&format!("{a}{b}")) {
                tokens.push(format!("{a}{b}"));
            }
        }
    }
}
