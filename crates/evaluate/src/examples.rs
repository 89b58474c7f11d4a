//! Lines of a test set beside the translations of one or more systems.

use attentive_metrics::Chrf;
use serde::Serialize;

/// A line of a test set with its translations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TranslationExample {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// The source.
    pub source: String,
    /// The first reference.
    pub reference: String,
    /// The translations, one for each system.
    pub outputs: Vec<ScoredTranslation>,
}

/// A translation of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoredTranslation {
    /// The translation.
    pub text: String,
    /// chrF2 of the line, with all references.
    pub chrf: f64,
    /// The translation with its differences from the first reference: `{+words+}` that only it has, and
    /// `[-words-]` that it lacks.
    pub marked: String,
}

/// A test set with the translations of one or more systems, line by line.
#[derive(Clone, Copy, Debug)]
pub struct SystemOutputs<'a> {
    /// The sources.
    pub src: &'a [String],
    /// Streams of references, of which there is at least one.
    pub references: &'a [Vec<String>],
    /// The translations of each system.
    pub systems: &'a [&'a [String]],
}

impl SystemOutputs<'_> {
    /// Returns the `count` lines with the lowest chrF2 of the first system, the lowest first.
    pub fn worst(&self, count: usize) -> Vec<TranslationExample> {
        self.chosen(count, |_| true, |scores| -scores[0])
    }

    /// Returns the `count` lines on which the chrF2 of the systems differs most, the largest difference
    /// first. Lines on which they agree are left out.
    pub fn most_different(&self, count: usize) -> Vec<TranslationExample> {
        let spread = |scores: &[f64]| {
            let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            highest - scores.iter().copied().fold(f64::INFINITY, f64::min)
        };
        self.chosen(count, |line| self.systems.iter().any(|one| one[line] != self.systems[0][line]), spread)
    }

    /// The `count` lines of the highest `rank`, which the scores of the systems give, among those that `may`
    /// be chosen.
    fn chosen(
        &self,
        count: usize,
        may: impl Fn(usize) -> bool,
        rank: impl Fn(&[f64]) -> f64,
    ) -> Vec<TranslationExample> {
        if count == 0 {
            return Vec::new();
        }
        let chrf = Chrf::default();
        let scores = |line: usize| -> Vec<f64> {
            let references: Vec<&str> = self.references.iter().map(|stream| stream[line].as_str()).collect();
            self.systems.iter().map(|system| chrf.sentence(&system[line], &references).value).collect()
        };
        let mut all: Vec<(usize, Vec<f64>)> = (0..self.src.len())
            .filter(|&line| !self.src[line].trim().is_empty() && may(line))
            .map(|line| (line, scores(line)))
            .collect();
        all.sort_by(|(_, a), (_, b)| rank(b).total_cmp(&rank(a)));
        all.truncate(count);
        all.into_iter().map(|(line, scores)| self.example(line, &scores)).collect()
    }

    fn example(&self, line: usize, scores: &[f64]) -> TranslationExample {
        let reference = &self.references[0][line];
        let outputs = self.systems.iter().zip(scores).map(|(system, &chrf)| {
            let text = system[line].clone();
            ScoredTranslation { marked: marked(&text, reference), text, chrf }
        });
        TranslationExample {
            line: line + 1,
            source: self.src[line].clone(),
            reference: reference.clone(),
            outputs: outputs.collect(),
        }
    }
}

/// `text` with its differences from `reference`, by the longest common subsequence of words.
fn marked(text: &str, reference: &str) -> String {
    let (own, other): (Vec<&str>, Vec<&str>) =
        (text.split_whitespace().collect(), reference.split_whitespace().collect());
    // The length of the longest common subsequence of the words from each pair of places on.
    let width = other.len() + 1;
    let mut common = vec![0_u32; (own.len() + 1) * width];
    for i in (0..own.len()).rev() {
        for j in (0..other.len()).rev() {
            common[i * width + j] = if own[i] == other[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut parts: Vec<(Mark, Vec<&str>)> = Vec::new();
    let mut add = |mark: Mark, word| match parts.last_mut() {
        Some((last, words)) if *last == mark => words.push(word),
        _ => parts.push((mark, vec![word])),
    };
    while i < own.len() || j < other.len() {
        if i < own.len() && j < other.len() && own[i] == other[j] {
            add(Mark::Both, own[i]);
            (i, j) = (i + 1, j + 1);
        } else if i == own.len()
            || j < other.len() && common[i * width + j + 1] >= common[(i + 1) * width + j]
        {
            add(Mark::Lacking, other[j]);
            j += 1;
        } else {
            add(Mark::Added, own[i]);
            i += 1;
        }
    }
    let written = parts.into_iter().map(|(mark, words)| match mark {
        Mark::Both => words.join(" "),
        Mark::Lacking => format!("[-{}-]", words.join(" ")),
        Mark::Added => format!("{{+{}+}}", words.join(" ")),
    });
    written.collect::<Vec<_>>().join(" ")
}

/// Where a word occurs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Both,
    /// Only in the reference.
    Lacking,
    /// Only in the translation.
    Added,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_marked() {
        for (text, reference, expected) in [
            ("a b c", "a b c", "a b c"),
            ("a x c", "a b c", "a [-b-] {+x+} c"),
            ("", "a b", "[-a b-]"),
            ("a b", "", "{+a b+}"),
            ("a b c d", "b d e", "{+a+} b {+c+} d [-e-]"),
        ] {
            assert_eq!(marked(text, reference), expected, "{text} / {reference}");
        }
    }

    #[test]
    fn lines_are_chosen_by_their_scores() {
        let lines = |text: [&str; 4]| text.map(str::to_owned).to_vec();
        let src = lines(["s", " ", "t", "u"]);
        let references = [lines(["ein Hund", "", "zwei Katzen", "ein Mann"])];
        let first = lines(["ein Hund", "", "xyz", "ein Mann"]);
        let second = lines(["ein Haus", "", "xyz", "ein Mann"]);
        let systems = [first.as_slice(), second.as_slice()];
        let outputs = SystemOutputs { src: &src, references: &references, systems: &systems };
        let numbers = |found: Vec<TranslationExample>| found.iter().map(|one| one.line).collect::<Vec<_>>();
        assert_eq!(numbers(outputs.worst(2)), [3, 1]);
        assert_eq!(numbers(outputs.most_different(9)), [1]);
        assert!(outputs.worst(0).is_empty());
        assert_eq!(outputs.most_different(1)[0].outputs[1].marked, "ein [-Hund-] {+Haus+}");
    }
}
