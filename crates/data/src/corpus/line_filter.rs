//! Selection of the lines of a corpus.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use attentive_base::count::{count, number};
use attentive_base::error::Error;
use serde::{Deserialize, Serialize};

use crate::cleaning::{CleaningOptions, CleaningRule, SentencePair};
use crate::corpus::data_kind::DataKind;
use crate::corpus::item::{DropReason, Item, NumberedItem};
use crate::reading::lines::MAX_LINE_BYTES;

/// Counts of lines read and dropped; each dropped line is counted under one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadStats {
    /// Lines read.
    pub lines: usize,
    /// Dropped because a side is empty or only white space.
    pub empty: usize,
    /// Dropped because a side exceeds [`MAX_LINE_BYTES`].
    pub too_long: usize,
    /// Dropped because a side contains NUL or another control character other than white space.
    pub control: usize,
    /// Dropped because the same line occurred before.
    pub repeated: usize,
    /// Dropped because both sides are the same.
    pub copies: usize,
    /// Dropped by each rule of `data.filters`, in the order of [`CleaningRule::ALL`].
    #[serde(default)]
    pub by_rule: [usize; CleaningRule::ALL.len()],
}

impl ReadStats {
    /// Returns the number of lines kept.
    pub fn kept(&self) -> usize {
        let Self { lines, empty, too_long, control, repeated, copies, by_rule } = self;
        lines - empty - too_long - control - repeated - copies - by_rule.iter().sum::<usize>()
    }

    /// Returns the error for the files of a corpus without usable lines.
    pub(crate) fn nothing_usable<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> Error {
        let names: Vec<String> = paths.map(|path| format!("`{}`", path.display())).collect();
        Error::data(
            format!("no usable data in {}: {self}", names.join(" and ")),
            "check that these are the right files",
        )
    }
}

impl fmt::Display for ReadStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, empty, too_long, control, repeated, copies, by_rule } = *self;
        let kept = number(self.kept() as u64);
        write!(f, "{kept} of {} kept", count(lines, "line"))?;
        let by_rule = by_rule.into_iter().zip(CleaningRule::ALL);
        let by_rule = by_rule.map(|(dropped, rule)| (dropped, format!("by the rule `{}`", rule.name())));
        let reasons = [
            (empty, "with an empty side".to_owned()),
            (too_long, format!("longer than {}", count(MAX_LINE_BYTES, "byte"))),
            (control, "with control characters".to_owned()),
            (repeated, "that occurred before".to_owned()),
            (copies, "with equal sides".to_owned()),
        ];
        for (dropped, reason) in reasons.into_iter().chain(by_rule) {
            if dropped > 0 {
                write!(f, ", {} dropped {reason}", number(dropped as u64))?;
            }
        }
        Ok(())
    }
}

/// Usable lines that are dropped on request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// True if lines that occurred before are dropped. This takes 8 to 18 bytes of RAM for each line.
    pub repeated: bool,
    /// True if pairs are dropped whose sides are equal.
    pub copies: bool,
    /// Rules by which pairs are dropped, with their usual limits.
    pub rules: Vec<CleaningRule>,
}

/// Numbers the lines of a corpus of one kind, and drops those that are not used.
#[derive(Clone, Debug)]
pub(crate) struct LineFilter {
    pub(crate) kind: DataKind,
    pub(crate) stats: ReadStats,
    filters: Filters,
    /// Hashes of the lines so far, if repeated ones are dropped.
    seen: HashSet<u64>,
}

impl LineFilter {
    /// A filter that has not read anything.
    pub(crate) fn new(kind: DataKind) -> Self {
        Self { kind, stats: ReadStats::default(), filters: Filters::default(), seen: HashSet::new() }
    }

    /// Also drops the lines that match `filters`.
    pub(crate) fn filtered(self, filters: Filters) -> Self {
        Self { filters, ..self }
    }

    /// Returns the entry of the next line, which has this weight, with `tag` before its source, or `None` if
    /// it is dropped; describes the problem if the line is invalid.
    pub(crate) fn admit(
        &mut self,
        mut item: Item,
        tag: Option<&str>,
        weight: f32,
    ) -> Result<Option<NumberedItem>, String> {
        if let Some(reason) = item.drop_reason() {
            self.skip(reason);
            return Ok(None);
        }
        if let Some(problem) = item.tag_count_problem(self.kind) {
            return Err(problem);
        }
        if self.filters.copies && item.is_copy() {
            self.skip(DropReason::Copy);
            return Ok(None);
        }
        if let Some(rule) = self.broken_rule(&item) {
            self.skip(DropReason::Rule(rule));
            return Ok(None);
        }
        if let (Some(tag), Item::Translation { src, .. }) = (tag, &mut item) {
            *src = format!("{tag} {src}");
        }
        if self.filters.repeated && !self.seen.insert(item.hash()) {
            self.skip(DropReason::Repeated);
            return Ok(None);
        }
        self.stats.lines += 1;
        let line = self.stats.lines;
        Ok(Some(NumberedItem { item, line, weight }))
    }

    /// Counts a dropped line.
    pub(crate) fn skip(&mut self, reason: DropReason) {
        self.stats.lines += 1;
        match reason {
            DropReason::Empty => self.stats.empty += 1,
            DropReason::TooLong => self.stats.too_long += 1,
            DropReason::Control => self.stats.control += 1,
            DropReason::Repeated => self.stats.repeated += 1,
            DropReason::Copy => self.stats.copies += 1,
            DropReason::Rule(rule) => self.stats.by_rule[rule as usize] += 1,
        }
    }

    /// The first of the rules that a pair breaks.
    fn broken_rule(&self, item: &Item) -> Option<CleaningRule> {
        let Item::Translation { src, tgt } = item else { return None };
        if self.filters.rules.is_empty() {
            return None;
        }
        let pair = SentencePair { src: src.clone(), tgt: tgt.clone() };
        CleaningOptions::default().broken(&self.filters.rules, &pair)
    }
}
