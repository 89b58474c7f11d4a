//! The rules by which pairs of sentences are dropped.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares the rules: their names on the command line, in configurations and in reports, and what they drop.
macro_rules! rules {
    ($($rule:ident = $name:literal: $meaning:literal,)*) => {
        /// A rule by which a pair is dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum CleaningRule {
            $(
                #[doc = concat!("Drops ", $meaning, ".")]
                #[serde(rename = $name)]
                $rule,
            )*
        }

        impl CleaningRule {
            /// Every rule, in the order in which they are tried.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$rule),*];

            /// Returns the name, as it is written on the command line and in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)* }
            }

            /// Returns what is dropped by this rule.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$rule => $meaning,)* }
            }
        }
    };
}

rules! {
    Unreadable = "unreadable": "a line that is not UTF-8, has no two sides or is over 100,000 bytes long",
    Empty = "empty": "a side without text",
    Undecodable = "undecodable": "characters that were lost in decoding (U+FFFD), or control characters",
    TooLong = "too-long": "more words than allowed",
    LongWord = "long-word": "a word of more characters than allowed, unless it is an address",
    Ratio = "ratio": "sides of too different lengths",
    Letters = "letters": "too few letters, or too few words with a letter",
    Copy = "copy": "a translation of more than two words that equals the source, except for case and punctuation at its end",
    Repetition = "repetition": "words that follow themselves four times, on one side alone",
    Markup = "markup": "source code of a wiki or a page, on one side alone",
    Numbers = "numbers": "numbers that the other side does not have",
    Addresses = "addresses": "addresses that the other side does not have",
    Language = "language": "a side that is clearly in another language",
    Duplicate = "duplicate": "a pair that occurred before, except for case, digits and punctuation",
    SameTarget = "same-target": "a target that a better or earlier pair has, except for case and punctuation",
}

impl CleaningRule {
    /// Returns true if a pair can be judged by itself, with nothing but the usual limits.
    pub fn is_of_single_pairs(self) -> bool {
        !matches!(self, Self::Unreadable | Self::Language | Self::Duplicate | Self::SameTarget)
    }
}

impl FromStr for CleaningRule {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|rule| rule.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            format!("there is no rule `{name}`; the rules are {}", names.join(", "))
        })
    }
}
