//! English sentences and their German translations by a synchronous grammar.
//!
//! A sentence is planned as what it means ([`plan`], drawn by [`planner`]) and said twice, by [`english`] and by
//! [`german`]. The plans are such that English says all that German needs to know (the past and the present of "read"
//! look alike, so it has no simple past; "it" is missing; "you" is one friend), so that a source has one target only.
//!
//! How many sentences there are: of the plainest kind, subject, verb and object, a verb such as "see" has over 30 nouns,
//! each with about 8 adjectives and without, and with about 12 openings and two numbers, thus 30 · 9 · 12 · 1.5 ≈ 5 000
//! objects, as many subjects, and about 10 tenses and modals, affirmed or denied: 5 · 10⁸ for this verb alone. Adverbials and
//! second clauses multiply that. Short sentences ("They dance.") repeat most.

mod clause_type;
mod english;
mod features;
mod german;
mod nouns;
mod number;
mod part_of_speech;
mod plan;
mod planner;
mod random;
mod surface;
#[cfg(test)]
mod tests;
mod verbs;
mod words;

pub use clause_type::ClauseType;
pub use part_of_speech::PartOfSpeech;

use std::ops::RangeInclusive;

use plan::Sentence;
use planner::Planner;
use random::Random;

/// How many words a sentence has, in either language.
const WORDS: RangeInclusive<usize> = 3..=25;

/// A sentence in English and German.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The English sentence.
    pub english: Side,
    /// The German sentence.
    pub german: Side,
    /// How the sentence is built.
    pub clause_type: ClauseType,
}

/// A sentence in one language, as text and as tagged tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The sentence as people write it.
    pub text: String,
    /// Its words and punctuation marks.
    pub tokens: Vec<String>,
    /// The part of speech of each token.
    pub tags: Vec<PartOfSpeech>,
}

/// Draws one sentence pair with the random bits that `next_u64` returns.
///
/// The pair depends on nothing else. How many calls it takes differs from pair to pair.
pub fn draw(next_u64: &mut dyn FnMut() -> u64) -> Pair {
    let mut random = Random::new(next_u64);
    loop {
        let pair = realise(&Planner::new(random.reborrow()).sentence());
        let fits = |side: &Side| WORDS.contains(&side.text.split(' ').count());
        if fits(&pair.english) && fits(&pair.german) {
            return pair;
        }
    }
}

/// A plan in both languages.
fn realise(plan: &Sentence) -> Pair {
    let (english, mark) = english::sentence(plan);
    Pair {
        english: english.finish(mark),
        german: german::sentence(plan).finish(mark),
        clause_type: ClauseType::of(plan),
    }
}
