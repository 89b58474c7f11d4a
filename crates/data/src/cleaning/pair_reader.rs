//! Reads parallel text with all its lines, also those that training would not use.

use attentive_base::error::Result;
use attentive_config::CorpusSource;

use super::SentencePair;
use crate::corpus::data_kind::DataKind;
use crate::corpus::item::{DropReason, Item};
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

    /// Returns up to `most` of the next lines, fewer only at the end. A line that is too long to be read is
    /// `None`.
    ///
    /// # Errors
    /// Read errors; files of different lengths; a line without two sides.
    pub fn next(&mut self, most: usize) -> Result<Vec<Option<SentencePair>>> {
        let mut pairs = Vec::new();
        while pairs.len() < most {
            pairs.push(match self.0.next(DataKind::Translations)? {
                Next::Item(Item::Translation { src, tgt }) => Some(SentencePair { src, tgt }),
                Next::Dropped(DropReason::TooLong) => None,
                Next::Dropped(_) | Next::Item(_) => Some(SentencePair::default()),
                Next::End => break,
            });
        }
        Ok(pairs)
    }
}
