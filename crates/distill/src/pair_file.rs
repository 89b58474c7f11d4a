//! Files of tab-separated sources, targets and scores.

use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_data::cleaning::SentencePair;
use attentive_data::{Hashed, InterruptibleFile, Line, Lines, MAX_RECORD_BYTES, one_column};

/// A pair with its score, if it has one.
#[derive(Debug)]
pub(crate) struct PairRow {
    pub(crate) pair: SentencePair,
    pub(crate) score: Option<f64>,
    /// The number of its line, counted from 1.
    pub(crate) line: usize,
}

/// A file of tab-separated sources, targets and scores, read row by row.
pub(crate) struct PairFile(Lines<Hashed<InterruptibleFile>>);

/// The row of a pair, in which tabs and line breaks are blanks.
pub(crate) fn row(src: &str, tgt: &str, score: Option<f64>) -> String {
    let row = format!("{}\t{}", one_column(src), one_column(tgt));
    score.map_or(row.clone(), |score| format!("{row}\t{score:.4}"))
}

impl PairFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Lines::open(path, MAX_RECORD_BYTES).map(Self)
    }
}

/// The rows; [`Error::Line`] for one without two columns, or with a third one that is no number.
impl Iterator for PairFile {
    type Item = Result<PairRow>;

    fn next(&mut self) -> Option<Self::Item> {
        let columns = match self.0.next_line().transpose()? {
            Err(error) => return Some(Err(error)),
            Ok(Line::TooLong) => Err("a line that is too long"),
            Ok(Line::Text(text)) => columns(text),
        };
        let line = self.0.count();
        let row = columns.map(|(pair, score)| PairRow { pair, score, line });
        Some(row.map_err(|found| {
            let expected = "a source, a tab, its translation and, behind another tab, its score";
            Error::line(self.0.path(), line, format!("expected {expected}; found {found}"))
        }))
    }
}

/// A pair and its score, if it has one; otherwise describes what is wrong.
fn columns(text: &str) -> Result<(SentencePair, Option<f64>), &'static str> {
    let mut columns = text.split('\t');
    let (Some(src), Some(tgt), score) = (columns.next(), columns.next(), columns.next()) else {
        return Err("one column");
    };
    let pair = SentencePair { src: src.into(), tgt: tgt.into() };
    match score.map(|score| score.trim().parse::<f64>()) {
        None => Ok((pair, None)),
        Some(Ok(score)) if !score.is_nan() => Ok((pair, Some(score))),
        Some(_) => Err("a third column that is no number"),
    }
}
