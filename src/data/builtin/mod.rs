//! Generated corpora: they need no files, and a seed says all about them.

mod grammar;
mod reverse;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::RangeInclusive;

use crate::config::BuiltinTask;
use crate::random::Random;

/// [`generate`] and [`reverse_between`] draw from this stream of their seed.
const SEEN_STREAM: u64 = 0x6275_696c_7469_6e00;
/// [`generate_unseen`] draws from this one.
const UNSEEN_STREAM: u64 = SEEN_STREAM + 1;
/// [`generate_unseen`] gives up after this many draws for each pair asked for.
const DRAWS_PER_PAIR: usize = 1000;

/// A sentence pair, as text and as tagged tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The source as people write it.
    pub src: String,
    /// The target as people write it.
    pub tgt: String,
    /// The source in tokens, punctuation apart.
    pub src_tokens: Vec<String>,
    /// The target in tokens, punctuation apart.
    pub tgt_tokens: Vec<String>,
    /// One tag for each of `src_tokens`.
    pub src_tags: Vec<PartOfSpeech>,
    /// One tag for each of `tgt_tokens`.
    pub tgt_tags: Vec<PartOfSpeech>,
}

/// Parts of speech, named as in Universal Dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartOfSpeech {
    /// ADJ.
    Adjective,
    /// ADP: prepositions and verb particles.
    Adposition,
    /// ADV.
    Adverb,
    /// AUX: auxiliaries, modals and copulas.
    Auxiliary,
    /// CCONJ: coordinating conjunctions.
    Conjunction,
    /// DET: articles, demonstratives and possessives.
    Determiner,
    /// NOUN.
    Noun,
    /// NUM.
    Numeral,
    /// PART: negation, infinitive marker, genitive marker.
    Particle,
    /// PRON.
    Pronoun,
    /// PROPN.
    ProperNoun,
    /// PUNCT.
    Punctuation,
    /// SCONJ: subordinating conjunctions.
    Subordinator,
    /// VERB.
    Verb,
}

impl PartOfSpeech {
    /// The tag of Universal Dependencies, such as "ADJ".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adjective => "ADJ",
            Self::Adposition => "ADP",
            Self::Adverb => "ADV",
            Self::Auxiliary => "AUX",
            Self::Conjunction => "CCONJ",
            Self::Determiner => "DET",
            Self::Noun => "NOUN",
            Self::Numeral => "NUM",
            Self::Particle => "PART",
            Self::Pronoun => "PRON",
            Self::ProperNoun => "PROPN",
            Self::Punctuation => "PUNCT",
            Self::Subordinator => "SCONJ",
            Self::Verb => "VERB",
        }
    }
}

/// The first `pairs` examples of `task` under `seed`; asking for fewer gives the beginning of the same sequence.
///
/// Sources may repeat.
pub fn generate(task: BuiltinTask, seed: u64, pairs: usize) -> Vec<Example> {
    let mut random = Random::new(seed, SEEN_STREAM);
    (0..pairs).map(|_| draw(task, &mut random)).collect()
}

/// Like [`generate`], with sources that are not in `seen` and differ from one another: a test set for a training set.
///
/// Gives up after 1000 draws for each pair asked for, and then returns the fewer examples that it has found.
pub fn generate_unseen(
    task: BuiltinTask,
    seed: u64,
    pairs: usize,
    seen: &HashSet<String>,
) -> Vec<Example> {
    let mut random = Random::new(seed, UNSEEN_STREAM);
    let mut own = HashSet::with_capacity(pairs);
    (0..pairs.saturating_mul(DRAWS_PER_PAIR))
        .map(|_| draw(task, &mut random))
        .filter(|example| !seen.contains(&example.src) && own.insert(example.src.clone()))
        .take(pairs)
        .collect()
}

/// Pairs of the task "reverse" with lengths from `lengths`, each equally likely.
///
/// # Panics
/// If `lengths` is empty or starts at 0.
pub fn reverse_between(seed: u64, pairs: usize, lengths: RangeInclusive<usize>) -> Vec<Example> {
    let mut random = Random::new(seed, SEEN_STREAM);
    (0..pairs)
        .map(|_| reverse::draw(&mut random, &lengths))
        .collect()
}

fn draw(task: BuiltinTask, random: &mut Random) -> Example {
    match task {
        BuiltinTask::Grammar => grammar::draw(random),
        BuiltinTask::Reverse => reverse::draw(random, &reverse::LENGTHS),
    }
}
