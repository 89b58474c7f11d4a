//! What the user should know of an input that was not taken as it stands.

use std::fmt;

use crate::count::count;

/// An input could not be taken as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, counted from 1; `None` for an input that is not one of many.
    pub line: Option<usize>,
    /// What was wrong with it and what was done.
    pub problem: String,
}

impl Warning {
    /// About an input that is not one of many.
    pub(super) fn new(problem: String) -> Self {
        Self {
            line: None,
            problem,
        }
    }

    /// That `unknown` of `all` tokens are not in the vocabulary; `None` if all are.
    pub fn of_unknown(unknown: usize, all: usize) -> Option<Self> {
        let tokens = count(all, "token");
        (unknown > 0).then(|| {
            Self::new(format!(
                "{unknown} of {tokens} not in the model's vocabulary, read as `<unk>`"
            ))
        })
    }

    /// The same about line number `line`.
    pub fn on_line(self, line: usize) -> Self {
        Self {
            line: Some(line),
            ..self
        }
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
