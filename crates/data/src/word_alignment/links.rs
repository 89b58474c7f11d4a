//! Links between words, and their comparison with links by people.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use attentive_base::error::Error;
use serde::Serialize;

/// The links of a pair: numbers of a source and a target word, counted from 0, in ascending order. They are
/// written as in the Pharaoh decoder: `0-0 1-2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordLinks(pub BTreeSet<(usize, usize)>);

impl WordLinks {
    /// Returns the links with source and target exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        self.0.into_iter().map(|(a, b)| (b, a)).collect()
    }
}

impl FromIterator<(usize, usize)> for WordLinks {
    fn from_iter<I: IntoIterator<Item = (usize, usize)>>(links: I) -> Self {
        Self(links.into_iter().collect())
    }
}

impl fmt::Display for WordLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pharaoh(&self.0, f)
    }
}

/// Writes links in the format of the Pharaoh decoder.
///
/// # Errors
/// Those of the formatter.
pub fn write_pharaoh<'a>(
    links: impl IntoIterator<Item = &'a (usize, usize)>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    for (place, (src, tgt)) in links.into_iter().enumerate() {
        write!(f, "{}{src}-{tgt}", if place == 0 { "" } else { " " })?;
    }
    Ok(())
}

/// Links by people: `0-1` for sure ones, `0p1` or `0?1` for possible ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoldLinks {
    /// The sure links.
    pub sure: WordLinks,
    /// The possible links, the sure ones included.
    pub possible: WordLinks,
}

impl FromStr for GoldLinks {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self, Error> {
        let mut gold = Self::default();
        for link in line.split_whitespace() {
            let split =
                link.find(['-', 'p', '?']).map(|place| (link.split_at(place), link.as_bytes()[place]));
            let numbers = split.and_then(|((src, tgt), mark)| {
                let tgt = tgt.get(1..)?.parse().ok()?;
                Some(((src.parse().ok()?, tgt), mark == b'-'))
            });
            let Some((link, is_sure)) = numbers else {
                return Err(Error::data(
                    format!("`{link}` is no link between words"),
                    "links are pairs of word numbers from 0: `0-1`, or `0?1` for a possible one",
                ));
            };
            gold.possible.0.insert(link);
            if is_sure {
                gold.sure.0.insert(link);
            }
        }
        Ok(gold)
    }
}

/// How well links agree with those by people (Och and Ney 2003, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AlignmentScore {
    /// The links.
    pub links: usize,
    /// The sure links by people.
    pub sure: usize,
    /// The links that are at least possible.
    pub possible_found: usize,
    /// The sure links that were found.
    pub sure_found: usize,
}

impl AlignmentScore {
    /// Counts the links of a pair.
    pub fn add(&mut self, found: &WordLinks, gold: &GoldLinks) {
        self.links += found.0.len();
        self.sure += gold.sure.0.len();
        self.possible_found += found.0.intersection(&gold.possible.0).count();
        self.sure_found += found.0.intersection(&gold.sure.0).count();
    }

    /// Returns the share of the links that are at least possible.
    pub fn precision(&self) -> f64 {
        self.possible_found as f64 / self.links.max(1) as f64
    }

    /// Returns the share of the sure links that were found.
    pub fn recall(&self) -> f64 {
        self.sure_found as f64 / self.sure.max(1) as f64
    }

    /// Returns the alignment error rate: 0 for the links by people.
    pub fn error_rate(&self) -> f64 {
        1.0 - (self.possible_found + self.sure_found) as f64 / (self.links + self.sure).max(1) as f64
    }
}
