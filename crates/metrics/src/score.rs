//! A reproducible score.

use std::fmt;

use super::bootstrap::Bootstrap;
use super::interval::Interval;
use super::text;

/// The score of a corpus or a sentence.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Score {
    /// The metric's name in sacreBLEU: `BLEU`, `chrF2`, `chrF2++`, `TER`.
    pub name: String,
    /// The score in percent. TER is an error rate: lower is better, and it can exceed 100.
    pub value: f64,
    /// All settings that the value depends on, in sacreBLEU's format, such as
    /// `nrefs:1|case:mixed|…|version:attentive-0.2.0`.
    pub signature: String,
    /// Details that sacreBLEU prints after the value: for BLEU the precisions, the brevity penalty and the
    /// lengths; otherwise empty.
    pub detail: String,
    /// The interval of the score on resampled corpora, if it was estimated; see [`Score::with_interval`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

impl Score {
    /// Adds an interval found by `bootstrap`, whose settings are added to the signature.
    pub fn with_interval(self, interval: Interval, bootstrap: &Bootstrap) -> Self {
        let resamples = bootstrap.resamples.get() as u64;
        let fields = [("bs", resamples), ("seed", bootstrap.seed)];
        Self { interval: Some(interval), ..self.signed(&fields) }
    }

    /// Adds settings to the signature, after the number of references as in sacreBLEU.
    pub fn signed(self, settings: &[(&str, u64)]) -> Self {
        let settings: String = settings.iter().map(|(name, value)| format!("|{name}:{value}")).collect();
        let place = self.signature.find('|').unwrap_or(self.signature.len());
        let (before, after) = self.signature.split_at(place);
        Self { signature: format!("{before}{settings}{after}"), ..self }
    }
}

/// Formats the score like sacreBLEU: name, signature, value, interval, detail. Numbers have two decimals
/// unless the format specifies a precision.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        write!(f, "{}|{} = {:.decimals$}", self.name, self.signature, self.value)?;
        if let Some(interval) = &self.interval {
            write!(f, " ({interval:.decimals$})")?;
        }
        if !self.detail.is_empty() {
            write!(f, " {}", self.detail)?;
        }
        Ok(())
    }
}

/// Case sensitivity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// Case-sensitive.
    Mixed,
    /// Case-insensitive: everything is lowercased first.
    Lower,
}

impl Case {
    /// Applies the setting to `line`.
    pub(super) fn apply(self, line: &str) -> String {
        match self {
            Self::Mixed => line.to_owned(),
            Self::Lower => text::lower(line),
        }
    }

    /// The value of `case:` in a signature.
    pub(super) fn signature(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Lower => "lc",
        }
    }
}

/// The signature of a score: the number of references, the metric's own `fields`, the program version.
pub(super) fn signature(n_references: usize, fields: &[(&str, &str)]) -> String {
    let fields: String = fields.iter().map(|(name, value)| format!("{name}:{value}|")).collect();
    format!("nrefs:{n_references}|{fields}version:attentive-{}", env!("CARGO_PKG_VERSION"))
}

/// A boolean in a signature.
pub(super) fn yes_no(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}
