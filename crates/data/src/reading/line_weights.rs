//! A file with a weight for each line of a corpus.

use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_base::shown::shown;

use crate::reading::interruptible_file::InterruptibleFile;
use crate::reading::lines::{Line, Lines};
use crate::reading::source_file::{Hashed, SourceFile};

/// More digits than any number has.
const MAX_BYTES: usize = 1000;
/// The largest weight.
const MOST: f32 = 1e6;

/// The weights of the lines of a corpus, in their order.
#[derive(Debug)]
pub(crate) struct LineWeights(Box<Lines<Hashed<InterruptibleFile>>>);

impl LineWeights {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Lines::open(path, MAX_BYTES).map(Box::new).map(Self)
    }

    /// The weight of the next line of the `corpus`.
    ///
    /// # Errors
    /// [`Error::Line`] for something that is no weight; [`Error::Data`] if there are no more lines.
    pub(crate) fn next(&mut self, corpus: &Path) -> Result<f32> {
        let problem = match self.0.next_line()? {
            None => return Err(self.unaligned("fewer", corpus)),
            Some(Line::TooLong) => "a long line".to_owned(),
            Some(Line::Text(text)) => match text.trim().parse() {
                Ok(weight) if (0.0..=MOST).contains(&weight) => return Ok(weight),
                _ => format!("`{}`", shown(text.trim())),
            },
        };
        let problem = format!("expected a weight, which is a number from 0 to {MOST}, found {problem}");
        Err(Error::line(self.0.path(), self.0.count(), problem))
    }

    /// Refuses lines beyond those of the `corpus`, which is at its end.
    ///
    /// # Errors
    /// [`Error::Data`] if there is one.
    pub(crate) fn end(&mut self, corpus: &Path) -> Result<()> {
        if self.0.next_line()?.is_some() { Err(self.unaligned("more", corpus)) } else { Ok(()) }
    }

    /// The file, which was read to the end.
    pub(crate) fn finish(self) -> Option<SourceFile> {
        self.0.finish()
    }

    fn unaligned(&self, difference: &str, corpus: &Path) -> Error {
        let (weights, corpus) = (self.0.path().display(), corpus.display());
        Error::data(
            format!("`{weights}` has {difference} lines than `{corpus}`"),
            "it needs one weight for each line, without that of a header",
        )
    }
}
