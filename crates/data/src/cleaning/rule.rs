//! The rules by which pairs are dropped.

use serde::{Serialize, Serializer};

use super::repetition::longest_repetition;
use super::text_facts::TextFacts;
use super::{CleaningOptions, SentencePair};

/// A rule by which a pair is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CleaningRule {
    Unreadable,
    Empty,
    Undecodable,
    TooLong,
    LongWord,
    Ratio,
    Letters,
    Copy,
    Repetition,
    Markup,
    Numbers,
    Addresses,
    Language,
    Duplicate,
}

/// How often a group of words follows itself in a repetition.
const REPETITION: usize = 4;

/// What only the source code of a wiki, a page or a program has.
const MARKUP: [&str; 8] = ["[[", "]]", "{{", "}}", "<ref", "</", "/>", "&nbsp;"];

impl CleaningRule {
    /// Every rule, in the order in which they are tried.
    pub const ALL: [Self; 14] = [
        Self::Unreadable,
        Self::Empty,
        Self::Undecodable,
        Self::TooLong,
        Self::LongWord,
        Self::Ratio,
        Self::Letters,
        Self::Copy,
        Self::Repetition,
        Self::Markup,
        Self::Numbers,
        Self::Addresses,
        Self::Language,
        Self::Duplicate,
    ];

    /// Returns the name, as it is written on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Empty => "empty",
            Self::Undecodable => "undecodable",
            Self::TooLong => "too-long",
            Self::LongWord => "long-word",
            Self::Ratio => "ratio",
            Self::Letters => "letters",
            Self::Copy => "copy",
            Self::Repetition => "repetition",
            Self::Markup => "markup",
            Self::Numbers => "numbers",
            Self::Addresses => "addresses",
            Self::Language => "language",
            Self::Duplicate => "duplicate",
        }
    }

    /// Returns what is dropped by this rule.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Unreadable => "a line that is not UTF-8, has no two sides or is over 100,000 bytes long",
            Self::Empty => "a side without text",
            Self::Undecodable => "characters that were lost in decoding (U+FFFD), or control characters",
            Self::TooLong => "more words than allowed",
            Self::LongWord => "a word of more characters than allowed, unless it is an address",
            Self::Ratio => "sides of too different lengths",
            Self::Letters => "too few letters, or too few words with a letter",
            Self::Copy => "a translation of more than two words that equals the source, except for case",
            Self::Repetition => "words that follow themselves four times, on one side alone",
            Self::Markup => "source code of a wiki or a page, on one side alone",
            Self::Numbers => "numbers that the other side does not have",
            Self::Addresses => "addresses that the other side does not have",
            Self::Language => "a side that is clearly in another language",
            Self::Duplicate => "a pair that occurred before, except for case, digits and punctuation",
        }
    }

    /// Whether the pair breaks the rule. `Duplicate` depends on other pairs.
    pub(super) fn is_broken(
        self,
        options: &CleaningOptions,
        pair: &SentencePair,
        sides: &[TextFacts<'_>; 2],
    ) -> bool {
        let [src, tgt] = sides;
        let any = |is_so: &dyn Fn(&TextFacts<'_>) -> bool| sides.iter().any(is_so);
        match self {
            Self::Empty => any(&|side| side.words.is_empty()),
            Self::Undecodable => any(&|side| side.is_damaged),
            Self::TooLong => any(&|side| side.words.len() > options.max_words),
            Self::LongWord => any(&|side| side.longest_word > options.max_word_length),
            Self::Ratio => {
                let [a, b] = [src.n_visible as f64 + 15.0, tgt.n_visible as f64 + 15.0];
                a.max(b) / a.min(b) > options.max_ratio
            }
            Self::Letters => any(&|side| {
                side.share_of_letters() < options.min_letters
                    || side.share_of_words_of_letters() < options.min_words_of_letters
            }),
            Self::Copy => src.words.len() > 2 && pair.src.to_lowercase() == pair.tgt.to_lowercase(),
            Self::Repetition => {
                let [src, tgt] = [&src.words, &tgt.words].map(|words| longest_repetition(words));
                src.max(tgt) >= REPETITION && src.min(tgt) < REPETITION - 1
            }
            Self::Markup => {
                let has = |text: &str| MARKUP.iter().any(|mark| text.contains(mark));
                has(&pair.src) != has(&pair.tgt)
            }
            Self::Numbers => src.numbers != tgt.numbers,
            Self::Addresses => src.addresses != tgt.addresses,
            Self::Language => options.languages.is_some_and(|languages| languages.is_broken(pair)),
            // Pairs that were not read do not come here.
            Self::Unreadable | Self::Duplicate => false,
        }
    }
}

impl Serialize for CleaningRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
