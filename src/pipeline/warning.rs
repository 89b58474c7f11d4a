//! Warnings about inputs that could not be read literally.

use std::fmt;

use crate::count::count;

/// A warning about an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, counted from 1; `None` for a single input.
    pub line: Option<usize>,
    /// The problem and how it was handled.
    pub problem: String,
}

impl Warning {
    /// A warning about a single input.
    pub(super) fn new(problem: String) -> Self {
        Self {
            line: None,
            problem,
        }
    }

    /// A warning that `unknown` of `all` tokens are not in the vocabulary; `None` if there are none.
    pub fn of_unknown(unknown: usize, all: usize) -> Option<Self> {
        let tokens = count(all, "token");
        (unknown > 0).then(|| {
            Self::new(format!(
                "{unknown} of {tokens} not in the model's vocabulary, read as `<unk>`"
            ))
        })
    }

    /// The same warning for line number `line`.
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
