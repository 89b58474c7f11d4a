//! The limits of the rules by which pairs of sentences are dropped.

use attentive_base::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The limits of the rules by which pairs of sentences are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct CleaningLimits {
    /// Most words of a side.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = Self::default().max_words))]
    pub max_words: usize,
    /// Most characters of a word that is no address.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = Self::default().max_word_length))]
    pub max_word_length: usize,
    /// Largest ratio of the lengths of both sides in characters, to each of which 15 are added.
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", default_value_t = Self::default().max_ratio))]
    pub max_ratio: f64,
    /// Smallest share of letters among the visible characters of a side.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", default_value_t = Self::default().min_letters))]
    pub min_letters: f64,
    /// Smallest share of words with a letter.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "SHARE", default_value_t = Self::default().min_words_of_letters)
    )]
    pub min_words_of_letters: f64,
}

impl Default for CleaningLimits {
    fn default() -> Self {
        Self {
            max_words: 150,
            max_word_length: 100,
            max_ratio: 2.0,
            min_letters: 0.5,
            min_words_of_letters: 0.4,
        }
    }
}

impl CleaningLimits {
    /// Refuses limits that no text keeps, or that mean nothing.
    ///
    /// # Errors
    /// [`Error::Config`] with the name of the field.
    pub fn check(&self) -> Result<()> {
        let shares = [("min_letters", self.min_letters), ("min_words_of_letters", self.min_words_of_letters)];
        if let Some((name, share)) = shares.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err(Error::config(name, "a share from 0 to 1", share.to_string()));
        }
        if self.max_ratio.is_nan() || self.max_ratio < 1.0 {
            return Err(Error::config("max_ratio", "a number of 1 or more", self.max_ratio.to_string()));
        }
        Ok(())
    }
}
