//! Warnings about inputs that could not be read literally.

use std::fmt;

use attentive_base::batch::TokenId;
use attentive_base::count::count;
use attentive_text::{Tokenizer, some_languages};
use serde::{Serialize, Serializer};

use super::Candidate;
use super::requirements::shortened;

/// A warning about an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, counted from 1; `None` for a single input.
    pub line: Option<usize>,
    /// The problem and how it was handled.
    pub problem: String,
}

/// As the problem alone.
impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.problem.serialize(serializer)
    }
}

impl Warning {
    /// A warning about a single input.
    pub(super) fn new(problem: String) -> Self {
        Self { line: None, problem }
    }

    /// Returns a warning that `unknown` of `all` tokens are not in the vocabulary; `None` if there are none.
    pub fn of_unknown(unknown: usize, all: usize) -> Option<Self> {
        let tokens = count(all, "token");
        (unknown > 0).then(|| {
            Self::new(format!("{unknown} of {tokens} not in the model's vocabulary, read as `<unk>`"))
        })
    }

    /// A warning that begins with a part of the text `text`, of which it speaks.
    pub(super) fn about(text: &str, problem: &str) -> Self {
        Self::new(format!("`{}`: {problem}", shortened(text)))
    }

    /// A warning that `unknown` parts of a text are not in the vocabulary; `None` if there are none.
    pub(super) fn of_unreadable(unknown: &[String]) -> Option<Self> {
        /// Parts to name, and characters of each.
        const PARTS: usize = 5;
        const CHARACTERS: usize = 20;
        let short = |part: &String| match part.char_indices().nth(CHARACTERS) {
            Some((end, _)) => format!("`{}…`", &part[..end]),
            None => format!("`{part}`"),
        };
        let named: Vec<String> = unknown.iter().take(PARTS).map(short).collect();
        let further = match unknown.len().saturating_sub(PARTS) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        (!unknown.is_empty()).then(|| {
            Self::new(format!(
                "not in the model's vocabulary, so the result may lack it or have something else in its \
                 place: {}{further}",
                named.join(", ")
            ))
        })
    }

    /// A warning that a text does not say into which of the languages `targets` it is to be translated.
    pub(super) fn of_no_language(tokenizer: &Tokenizer, targets: &[TokenId]) -> Self {
        let some = some_languages(&tokenizer.spelled(targets));
        Self::new(format!(
            "the model translates into several languages, and the text does not begin with one of {some}"
        ))
    }

    /// A warning that `unwritten` parts of a translation are not in the vocabulary; `None` if there are none.
    pub(super) fn of_unwritten(unwritten: usize) -> Option<Self> {
        let parts = count(unwritten, "word");
        (unwritten > 0).then(|| {
            Self::new(format!(
                "the translation lacks {parts} that the model's vocabulary cannot spell (`<unk>`)"
            ))
        })
    }

    /// A warning that some of the translations of a text, best first, were cut off; `None` if there are none.
    pub fn of_cut_off(found: &[Candidate]) -> Option<Self> {
        let cut_off = found.iter().filter(|found| found.is_cut_off());
        let problem = match (cut_off.count(), found.len()) {
            (0, _) => return None,
            (1, 1) => "the translation was cut off at the length limit".to_owned(),
            (n, all) if n == all => format!("all {all} translations were cut off at the length limit"),
            (n, all) if found.iter().rev().take(n).all(|found| !found.finished) => format!(
                "the last {n} of {all} translations were cut off at the length limit, and come after the \
                 others whatever their score"
            ),
            (n, all) => format!("{n} of {all} translations were cut off at the length limit"),
        };
        Some(Self::new(problem))
    }

    /// A warning that there are only `found` translations, not as many as were `asked` for; `None` if there
    /// are enough.
    pub(super) fn of_fewer(found: usize, asked: usize) -> Option<Self> {
        let reason = "the search found no other texts";
        (found < asked).then(|| Self::new(format!("only {found} of {asked} translations: {reason}")))
    }

    /// Creates a warning that a line with constraints has nothing to translate; `what` describes the line.
    pub fn of_ignored_constraints(what: &str) -> Self {
        Self::new(format!("{what}, so its prefix and phrases were ignored"))
    }

    /// Sets the line number of the warning.
    pub fn on_line(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}
