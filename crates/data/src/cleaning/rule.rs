//! The rules by which pairs are dropped.

use attentive_config::CleaningRule;

use super::repetition::longest_repetition;
use super::text_facts::TextFacts;
use super::{CleaningOptions, SentencePair};

/// How often a group of words follows itself in a repetition.
const REPETITION: usize = 4;

/// What only the source code of a wiki, a page or a program has.
const MARKUP: [&str; 8] = ["[[", "]]", "{{", "}}", "<ref", "</", "/>", "&nbsp;"];

/// Whether the pair breaks the rule. `Duplicate` and `SameTarget` depend on other pairs.
pub(super) fn is_broken(
    rule: CleaningRule,
    options: &CleaningOptions,
    pair: &SentencePair,
    sides: &[TextFacts<'_>; 2],
) -> bool {
    let [src, tgt] = sides;
    let limits = &options.limits;
    let any = |is_so: &dyn Fn(&TextFacts<'_>) -> bool| sides.iter().any(is_so);
    match rule {
        CleaningRule::Empty => any(&|side| side.words.is_empty()),
        CleaningRule::Undecodable => any(&|side| side.is_damaged),
        CleaningRule::TooLong => any(&|side| side.n_words() > limits.max_words),
        CleaningRule::LongWord => any(&|side| side.longest_word > limits.max_word_length),
        CleaningRule::Ratio => {
            let [a, b] = sides.each_ref().map(|side| side.length as f64 + 15.0);
            a.max(b) / a.min(b) > limits.max_ratio
        }
        CleaningRule::Letters => any(&|side| {
            side.share_of_letters() < limits.min_letters
                || side.share_of_words_of_letters() < limits.min_words_of_letters
        }),
        CleaningRule::Copy => {
            let [src_words, tgt_words] = [&pair.src, &pair.tgt]
                .map(|text| text.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase());
            src.n_words() > 2 && src_words == tgt_words
        }
        CleaningRule::Repetition => {
            let [src, tgt] = [&src.words, &tgt.words].map(|words| longest_repetition(words));
            src.max(tgt) >= REPETITION && (options.is_one_side || src.min(tgt) < REPETITION - 1)
        }
        CleaningRule::Markup => {
            let has = |text: &str| MARKUP.iter().any(|mark| text.contains(mark));
            if options.is_one_side { has(&pair.src) } else { has(&pair.src) != has(&pair.tgt) }
        }
        CleaningRule::Numbers => src.numbers != tgt.numbers,
        CleaningRule::Addresses => src.addresses != tgt.addresses,
        CleaningRule::Language => options.languages.is_some_and(|languages| languages.is_broken(pair)),
        // Pairs that were not read do not come here.
        CleaningRule::Unreadable | CleaningRule::Duplicate | CleaningRule::SameTarget => false,
    }
}
