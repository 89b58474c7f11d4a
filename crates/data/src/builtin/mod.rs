//! Generated corpora. They need no files and are fully determined by a seed.

mod reverse;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::RangeInclusive;

pub use attentive_grammar::{ClauseType, PartOfSpeech, TaggedSentence};

use attentive_base::random::Random;
use attentive_config::BuiltinTask;

use crate::word_alignment::WordLinks;

/// Random stream used by [`generate`].
const SEEN_STREAM: u64 = 0x6275_696c_7469_6e00;
/// Random stream used by [`generate_unseen`].
const UNSEEN_STREAM: u64 = SEEN_STREAM + 1;
/// Maximum number of draws of [`generate_unseen`] per requested pair.
const DRAWS_PER_PAIR: usize = 1000;

/// A sentence pair, as text and as tagged tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltinExample {
    /// The source.
    pub src: TaggedSentence,
    /// The target.
    pub tgt: TaggedSentence,
    /// Clause structure of the source, for the grammar task.
    pub label: Option<ClauseType>,
    /// The words that are translations of each other: numbers of a source and a target word, counted from 0.
    pub links: WordLinks,
}

/// Returns the first `pairs` examples of `task` for `seed`. A smaller number returns a prefix of the same
/// sequence.
///
/// Sources may repeat.
pub fn generate(task: BuiltinTask, seed: u64, pairs: usize) -> BuiltinExamples {
    BuiltinExamples { task, random: Random::new(seed, SEEN_STREAM), left: pairs }
}

/// An iterator over the examples of [`generate`].
#[derive(Clone, Debug)]
pub struct BuiltinExamples {
    task: BuiltinTask,
    random: Random,
    left: usize,
}

impl Iterator for BuiltinExamples {
    type Item = BuiltinExample;

    fn next(&mut self) -> Option<BuiltinExample> {
        self.left = self.left.checked_sub(1)?;
        Some(draw(self.task, &mut self.random))
    }
}

/// Like [`generate`], but returns distinct sources that are not in `seen`, as a test set for a training set.
///
/// Stops after 1000 draws per requested pair and returns the examples found until then.
pub fn generate_unseen(
    task: BuiltinTask,
    seed: u64,
    pairs: usize,
    seen: &HashSet<String>,
) -> Vec<BuiltinExample> {
    let mut random = Random::new(seed, UNSEEN_STREAM);
    let mut own = HashSet::new();
    (0..pairs.saturating_mul(DRAWS_PER_PAIR))
        .map(|_| draw(task, &mut random))
        .filter(|example| !seen.contains(&example.src.text) && own.insert(example.src.text.clone()))
        .take(pairs)
        .collect()
}

/// Returns a random sequence of digits and its reversal, with blanks between digits; the number of digits is
/// drawn uniformly from `lengths`.
pub fn reversed_digits(lengths: RangeInclusive<usize>, random: &mut Random) -> (String, String) {
    let example = reverse::draw(lengths, random);
    (example.src.text, example.tgt.text)
}

fn draw(task: BuiltinTask, random: &mut Random) -> BuiltinExample {
    match task {
        BuiltinTask::Grammar => {
            let pair = attentive_grammar::draw(&mut || random.next_u64());
            BuiltinExample {
                src: pair.english,
                tgt: pair.german,
                label: Some(pair.clause_type),
                links: pair.links.into_iter().collect(),
            }
        }
        BuiltinTask::Reverse => reverse::draw(reverse::LENGTHS, random),
    }
}
