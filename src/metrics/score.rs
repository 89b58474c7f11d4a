//! A score that can be reproduced.

use std::fmt;

use super::text;

/// What a metric says about a corpus or a sentence.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Score {
    /// The metric as sacreBLEU calls it: `BLEU`, `chrF2`, `chrF2++`, `TER`.
    pub name: String,
    /// In percent. TER is a rate of errors, so less is better, and can exceed 100.
    pub value: f64,
    /// Everything that the value depends on besides the strings, as in `nrefs:1|case:mixed|…|version:attentive-0.1.0`:
    /// sacreBLEU's fields in sacreBLEU's order.
    pub signature: String,
    /// What sacreBLEU prints behind the value: for BLEU the precisions, the brevity penalty and the lengths, else empty.
    pub detail: String,
}

/// sacreBLEU's line: name, signature, value, detail. The value has two decimals unless the format says otherwise.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        write!(
            f,
            "{}|{} = {:.decimals$}",
            self.name, self.signature, self.value
        )?;
        if !self.detail.is_empty() {
            write!(f, " {}", self.detail)?;
        }
        Ok(())
    }
}

/// Whether `A` and `a` are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// They differ.
    Mixed,
    /// Everything is put into lower case first.
    Lower,
}

impl Case {
    /// `line` as it is compared.
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

/// The signature of a score: the number of references, the metric's own `fields`, our version.
pub(super) fn signature(n_references: usize, fields: &[(&str, &str)]) -> String {
    let fields: String = fields
        .iter()
        .map(|(name, value)| format!("{name}:{value}|"))
        .collect();
    format!(
        "nrefs:{n_references}|{fields}version:attentive-{}",
        env!("CARGO_PKG_VERSION")
    )
}

/// A flag as signatures write it.
pub(super) fn yes_no(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}
