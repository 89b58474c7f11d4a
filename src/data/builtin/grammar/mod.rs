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

mod english;
mod german;
mod nouns;
mod number;
mod plan;
mod planner;
mod surface;
#[cfg(test)]
mod tests;
mod verbs;
mod words;

use std::ops::RangeInclusive;

use super::Example;
use crate::random::Random;
use plan::Sentence;
use planner::Planner;

/// How many words a sentence has, in either language.
const WORDS: RangeInclusive<usize> = 3..=25;

/// One sentence pair.
pub(super) fn draw(random: &mut Random) -> Example {
    loop {
        let example = realise(&Planner::new(random).sentence());
        let fits = |text: &str| WORDS.contains(&text.split(' ').count());
        if fits(&example.src) && fits(&example.tgt) {
            return example;
        }
    }
}

/// A plan in both languages.
fn realise(plan: &Sentence) -> Example {
    let (english, mark) = english::sentence(plan);
    let (src, src_tokens, src_tags) = english.finish(mark);
    let (tgt, tgt_tokens, tgt_tags) = german::sentence(plan).finish(mark);
    Example {
        src,
        tgt,
        src_tokens,
        tgt_tokens,
        src_tags,
        tgt_tags,
    }
}
