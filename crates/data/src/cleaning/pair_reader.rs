//! Reads parallel text with all its lines, also those that training would not use.

use attentive_base::error::{Error, Result};
use attentive_config::CorpusSource;

use super::SentencePair;
use crate::corpus::data_kind::DataKind;
use crate::corpus::item::{DropReason, Item};
use crate::reading::csv_table::UNCLOSED;
use crate::reading::lines::{MAX_LINE_BYTES, NO_END};
use crate::reading::records::{Next, Records};

/// Reads parallel text with all its lines, also those that training would not use.
#[derive(Debug)]
pub struct PairReader(Records);

impl PairReader {
    /// Opens a corpus of one file or two aligned ones.
    ///
    /// # Errors
    /// Read errors; [`Error::Config`](attentive_base::error::Error::Config) for a corpus without
    /// translations.
    pub fn open(source: &CorpusSource) -> Result<Self> {
        Records::open(source, DataKind::Translations, 0).map(Self)
    }

    /// Returns up to `most` of the next pairs, fewer only at the end, each with the number of its line, or in
    /// a translation memory of its unit. In place of a line that is too long, not UTF-8 or without two sides
    /// stands what is wrong with it.
    ///
    /// # Errors
    /// Read errors; files of different lengths; a quotation mark that swallows the rest of the file.
    pub fn next(&mut self, most: usize) -> Result<Vec<(usize, std::result::Result<SentencePair, String>)>> {
        let mut pairs = Vec::new();
        while pairs.len() < most {
            let pair = match self.0.next(DataKind::Translations) {
                Ok(Next::Item(Item::Translation { src, tgt })) => Ok(SentencePair { src, tgt }),
                Ok(Next::Dropped(DropReason::TooLong)) => Err(format!("longer than {MAX_LINE_BYTES} bytes")),
                Ok(Next::Dropped(_) | Next::Item(_)) => Ok(SentencePair::default()),
                Ok(Next::End) => break,
                Err(Error::Line { path, problem, .. }) if ![NO_END, UNCLOSED].contains(&&*problem) => {
                    Err(format!("`{}`: {problem}", path.display()))
                }
                Err(error) => return Err(error),
            };
            pairs.push((self.0.line(), pair));
        }
        Ok(pairs)
    }
}
