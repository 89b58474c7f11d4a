//! Generated corpora: they need no files, and a seed says all about them.

mod reverse;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::RangeInclusive;

pub use attentive_grammar::{ClauseType, PartOfSpeech, Side};

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
    /// The source.
    pub src: Side,
    /// The target.
    pub tgt: Side,
    /// How the source is built, if it is a sentence.
    pub label: Option<ClauseType>,
}

/// The first `pairs` examples of `task` under `seed`; asking for fewer gives the beginning of the same sequence.
///
/// Sources may repeat.
pub fn generate(task: BuiltinTask, seed: u64, pairs: usize) -> impl Iterator<Item = Example> {
    let mut random = Random::new(seed, SEEN_STREAM);
    (0..pairs).map(move |_| draw(task, &mut random))
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
    let mut own = HashSet::new();
    (0..pairs.saturating_mul(DRAWS_PER_PAIR))
        .map(|_| draw(task, &mut random))
        .filter(|example| !seen.contains(&example.src.text) && own.insert(example.src.text.clone()))
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
        BuiltinTask::Grammar => {
            let pair = attentive_grammar::draw(&mut || random.next_u64());
            Example {
                src: pair.english,
                tgt: pair.german,
                label: Some(pair.clause_type),
            }
        }
        BuiltinTask::Reverse => reverse::draw(random, &reverse::LENGTHS),
    }
}
