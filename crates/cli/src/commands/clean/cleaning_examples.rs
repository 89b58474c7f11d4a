//! Pairs that a report shows.

use std::collections::BTreeMap;

use attentive_data::cleaning::SentencePair;

use crate::examples::printable;

/// The characters of a column.
const WIDTH: usize = 56;

/// Pairs that a report shows: dropped ones of each rule, and mended ones as they were and are.
pub(super) struct CleaningExamples {
    /// The number of each kind.
    most: usize,
    dropped: BTreeMap<&'static str, Vec<(usize, SentencePair)>>,
    mended: Vec<(usize, [SentencePair; 2])>,
}

impl CleaningExamples {
    pub(super) fn new(most: usize) -> Self {
        Self { most, dropped: BTreeMap::new(), mended: Vec::new() }
    }

    pub(super) fn add_dropped(&mut self, rule: &'static str, line: usize, pair: SentencePair) {
        let shown = self.dropped.entry(rule).or_default();
        if shown.len() < self.most {
            shown.push((line, pair));
        }
    }

    pub(super) fn add_mended(&mut self, line: usize, before: SentencePair, after: SentencePair) {
        if self.mended.len() < self.most {
            self.mended.push((line, [before, after]));
        }
    }

    /// The examples as text, each pair side by side, or as one column of a text in one language.
    pub(super) fn lines(&self, is_one_side: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let mut show = |title: String, pairs: &[&SentencePair]| {
            lines.extend([String::new(), title]);
            for pair in pairs {
                let right = if is_one_side { "" } else { &pair.tgt };
                lines.extend(side_by_side(&pair.src, right));
            }
        };
        for (rule, pairs) in &self.dropped {
            pairs.iter().for_each(|(line, pair)| show(format!("{rule}, line {line}"), &[pair]));
        }
        for (line, [before, after]) in &self.mended {
            show(format!("mended, line {line}: before and after"), &[before, after]);
        }
        lines
    }
}

/// Two texts in columns.
fn side_by_side(left: &str, right: &str) -> Vec<String> {
    let [left, right] = [left, right].map(|text| wrapped(&printable(text)));
    let rows = left.len().max(right.len());
    let cell = |column: &[String], row: usize| column.get(row).cloned().unwrap_or_default();
    let line = |row| format!("  {:<WIDTH$}  {}", cell(&left, row), cell(&right, row)).trim_end().to_owned();
    (0..rows).map(line).collect()
}

/// The text in lines of at most [`WIDTH`] characters, divided at blanks where there are some.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let length = |text: &str| text.trim_end().chars().count();
        let line = lines.last().map_or("", String::as_str);
        if !line.is_empty() && line.chars().count() + length(word) > WIDTH {
            lines.push(String::new());
        }
        for c in word.chars() {
            if lines.last().is_some_and(|line| c != ' ' && line.chars().count() >= WIDTH) {
                lines.push(String::new());
            }
            lines.last_mut().expect("there is a line").push(c);
        }
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_take_several_lines() {
        let words = "word ".repeat(20);
        let lines = wrapped(words.trim());
        assert_eq!(lines.len(), 2);
        assert_eq!(lines.join(" "), words.trim());
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert_eq!(wrapped(&"x".repeat(WIDTH + 1)), ["x".repeat(WIDTH), "x".to_owned()]);
        let both = side_by_side(words.trim(), "Ein Wort.");
        assert_eq!(both.len(), 2);
        assert!(both[0].ends_with("word  Ein Wort.") || both[0].ends_with("  Ein Wort."), "{both:?}");
    }
}
