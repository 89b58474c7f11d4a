//! The initial pieces: frequent substrings of the words.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum length of a piece, in characters.
const MAX_PIECE: usize = 16;

/// A sequence of characters and its frequency.
pub(super) type Seed = (Vec<char>, u64);

/// All characters of `alphabet`, then at most `limit` longer pieces that occur `min_frequency` times.
///
/// A piece cannot be more frequent than its prefixes, so pieces grow by one character per round, and only
/// frequent ones are extended.
pub(super) fn collect(
    words: &[(Vec<char>, u64)],
    alphabet: &BTreeSet<char>,
    min_frequency: u64,
    limit: usize,
) -> Vec<Seed> {
    let mut seeds = characters(words, alphabet);
    let n_characters = seeds.len();
    let number: HashMap<char, usize> = seeds.iter().enumerate().map(|(n, (text, _))| (text[0], n)).collect();
    // Start positions of the pieces of the current length, and the index of each piece.
    let mut starts: Vec<(usize, usize, usize)> = Vec::new();
    for (word, (characters, _)) in words.iter().enumerate() {
        starts.extend(characters.iter().enumerate().map(|(at, c)| (word, at, number[c])));
    }
    for len in 2..=MAX_PIECE {
        starts.retain(|&(word, at, _)| at + len <= words[word].0.len());
        let next = |&(word, at, piece): &(usize, usize, usize)| (piece, words[word].0[at + len - 1]);
        let mut longer: HashMap<(usize, char), u64> = HashMap::new();
        for start in &starts {
            *longer.entry(next(start)).or_default() += words[start.0].1;
        }
        longer.retain(|_, count| *count >= min_frequency);
        let longer: BTreeMap<(usize, char), u64> = longer.into_iter().collect();
        let mut numbers = HashMap::new();
        for (key, count) in longer {
            numbers.insert(key, seeds.len());
            let text = seeds[key.0].0.iter().chain([&key.1]).copied().collect();
            seeds.push((text, count));
        }
        starts.retain_mut(|start| match numbers.get(&next(start)) {
            Some(&piece) => {
                start.2 = piece;
                true
            }
            None => false,
        });
    }
    let mut longer = seeds.split_off(n_characters);
    longer.sort_by_cached_key(|(text, count)| (Reverse(count * text.len() as u64), text.clone()));
    seeds.extend(longer.into_iter().take(limit));
    seeds
}

/// All characters of `alphabet` and of the words.
fn characters(words: &[(Vec<char>, u64)], alphabet: &BTreeSet<char>) -> Vec<Seed> {
    let mut characters: BTreeMap<char, u64> = alphabet.iter().map(|&c| (c, 0)).collect();
    for (word, count) in words {
        for character in word {
            *characters.entry(*character).or_default() += count;
        }
    }
    let seed = |(character, count)| (vec![character], count);
    characters.into_iter().map(seed).collect()
}
