//! Cleaning of parallel text: what is damaged is mended, and what is no translation is dropped.
//!
//! The rules and their usual thresholds are those of the pipelines for Firefox's models and of OpusFilter.

mod language;
mod mend;
mod near_duplicates;
mod pair_reader;
mod repetition;
mod rule;
mod text_facts;
mod words;

use std::collections::HashSet;

pub use attentive_config::{CleaningLimits, CleaningRule};
use rayon::prelude::*;
use serde::{Serialize, Serializer};

pub use self::language::ExpectedLanguages;
pub use self::mend::Mend;
pub use self::pair_reader::PairReader;
use self::text_facts::TextFacts;

/// What is dropped, and whether the rest is mended.
#[derive(Clone, Debug, PartialEq)]
pub struct CleaningOptions {
    /// The rules that are not applied.
    pub without: Vec<CleaningRule>,
    pub limits: CleaningLimits,
    /// The languages of the two sides; `None` if the language is not checked.
    pub languages: Option<ExpectedLanguages>,
    /// Whether only the first pair of each target is kept.
    pub one_per_target: bool,
    /// Whether damage is mended.
    pub mends: bool,
    /// Whether pairs are texts in one language that are paired with themselves.
    pub is_one_side: bool,
}

impl Default for CleaningOptions {
    fn default() -> Self {
        Self {
            without: Vec::new(),
            limits: CleaningLimits::default(),
            languages: None,
            one_per_target: false,
            mends: true,
            is_one_side: false,
        }
    }
}

/// A pair of sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentencePair {
    pub src: String,
    pub tgt: String,
}

/// A pair after cleaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanedPair {
    /// The pair, mended.
    pub pair: SentencePair,
    /// What was mended.
    pub mended: Vec<Mend>,
    /// The rule by which it is dropped; `None` if it is kept.
    pub dropped: Option<CleaningRule>,
}

/// How many pairs met what.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CleaningReport {
    /// The pairs that were read.
    pub pairs: u64,
    /// The pairs that were kept.
    pub kept: u64,
    /// The pairs of which something was mended, by kind.
    #[serde(serialize_with = "as_map")]
    pub mended: Vec<(Mend, u64)>,
    /// The pairs that were dropped, by rule; each counts for the first of its rules.
    #[serde(serialize_with = "as_map")]
    pub dropped: Vec<(CleaningRule, u64)>,
}

fn as_map<K: Serialize, S: Serializer>(counts: &[(K, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|(key, count)| (key, count)))
}

/// Cleans pairs in their order. It remembers a number for each that is kept, 10 to 20 bytes, to find
/// duplicates, and another to find equal targets if they are wanted once.
#[derive(Debug)]
pub struct Cleaner {
    options: CleaningOptions,
    seen: HashSet<u64>,
    seen_targets: HashSet<u64>,
    report: CleaningReport,
}

impl Cleaner {
    /// Creates a cleaner that has seen nothing.
    pub fn new(options: CleaningOptions) -> Self {
        let mut report = CleaningReport {
            mended: if options.mends { Mend::ALL.map(|mend| (mend, 0)).into() } else { Vec::new() },
            dropped: CleaningRule::ALL.map(|rule| (rule, 0)).into(),
            ..CleaningReport::default()
        };
        // There is nothing to keep of a line that was not read.
        let is_applied = |rule| rule == CleaningRule::Unreadable || !options.without.contains(&rule);
        report.dropped.retain(|(rule, _)| is_applied(*rule));
        let is_asked_for = |rule| match rule {
            CleaningRule::Language => options.languages.is_some(),
            CleaningRule::SameTarget => options.one_per_target,
            _ => true,
        };
        report.dropped.retain(|(rule, _)| is_asked_for(*rule));
        Self { options, seen: HashSet::new(), seen_targets: HashSet::new(), report }
    }

    /// Cleans the next pairs. A pair that could not be read is `None`.
    pub fn clean(&mut self, pairs: Vec<Option<SentencePair>>) -> Vec<CleanedPair> {
        let options = &self.options;
        let one = |pair: Option<SentencePair>| options.judged(pair);
        let mut cleaned: Vec<(CleanedPair, u64)> = pairs.into_par_iter().map(one).collect();
        let drops_duplicates = !options.without.contains(&CleaningRule::Duplicate);
        for (one, hash) in &mut cleaned {
            if one.dropped.is_none() && drops_duplicates && !self.seen.insert(*hash) {
                one.dropped = Some(CleaningRule::Duplicate);
            }
            if one.dropped.is_none()
                && options.one_per_target
                && !self.seen_targets.insert(one.pair.target_hash())
            {
                one.dropped = Some(CleaningRule::SameTarget);
            }
            self.report.count(one);
        }
        cleaned.into_iter().map(|(one, _)| one).collect()
    }

    /// Returns the counts so far.
    pub fn report(&self) -> &CleaningReport {
        &self.report
    }
}

impl CleaningReport {
    /// Returns the number of pairs that `rule` has dropped.
    pub fn count_of(&self, rule: CleaningRule) -> u64 {
        self.dropped.iter().find(|(other, _)| *other == rule).map_or(0, |(_, pairs)| *pairs)
    }

    fn count(&mut self, one: &CleanedPair) {
        self.pairs += 1;
        self.kept += u64::from(one.dropped.is_none());
        for (mend, count) in &mut self.mended {
            *count += u64::from(one.mended.contains(mend));
        }
        for (rule, count) in &mut self.dropped {
            *count += u64::from(one.dropped == Some(*rule));
        }
    }
}

impl CleaningOptions {
    /// Returns the first of `rules` that a pair breaks, as it is.
    pub(crate) fn broken(&self, rules: &[CleaningRule], pair: &SentencePair) -> Option<CleaningRule> {
        let sides = [&pair.src, &pair.tgt].map(|text| TextFacts::of(text));
        let rules = CleaningRule::ALL.into_iter().filter(|rule| rules.contains(rule));
        rules.into_iter().find(|rule| rule::is_broken(*rule, self, pair, &sides))
    }

    /// The pair, mended, with the rule that drops it, apart from duplicates, for which the number is.
    fn judged(&self, pair: Option<SentencePair>) -> (CleanedPair, u64) {
        let Some(pair) = pair else {
            let dropped = Some(CleaningRule::Unreadable);
            let pair = SentencePair::default();
            return (CleanedPair { pair, mended: Vec::new(), dropped }, 0);
        };
        let (pair, mended) =
            if self.mends { mend::mended(pair, self.is_one_side) } else { (pair, Vec::new()) };
        let sides = [&pair.src, &pair.tgt].map(|text| TextFacts::of(text));
        let rules = CleaningRule::ALL.into_iter().filter(|rule| !self.without.contains(rule));
        let dropped = rules.into_iter().find(|rule| rule::is_broken(*rule, self, &pair, &sides));
        let hash = if dropped.is_none() { near_duplicates::hash(&pair) } else { 0 };
        (CleanedPair { pair, mended, dropped }, hash)
    }
}

#[cfg(test)]
mod tests;
