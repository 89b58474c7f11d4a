//! Bounds on what the steps of a tokenizer file may make of a text. Each step alone is harmless, but a few of
//! them can make gigabytes of a letter.

use serde_json::Value;
use tokenizers::pattern::Pattern;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{NormalizedString, SplitDelimiterBehavior};

/// The maximum number of bytes of a token.
pub(super) const TOKEN: usize = 64 << 10;

/// The maximum number of bytes of a token that occurs for each character that is unknown, and of what is put
/// before or behind pieces of words.
pub(super) const REPEATED: usize = 256;

/// The factor by which a text may grow in a step or several. NFKC makes 33 bytes of the 3 of `ﷺ`, of which
/// bytes as characters are twice as many.
const FACTOR: usize = 32;

/// The number of bytes by which any text may grow, however short it is.
const FREE: usize = 64;

/// The size that a text may reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    len: usize,
    most: usize,
}

impl Bound {
    /// The bound for a text of `len` bytes.
    pub(super) fn of(len: usize) -> Self {
        Self { len, most: len.saturating_mul(FACTOR).saturating_add(FREE) }
    }

    /// Refuses a text that has become `found` bytes long; `steps` are the steps that made it.
    pub(super) fn check(self, found: usize, steps: &str) -> Result<(), String> {
        let Self { len, most } = self;
        if found <= most {
            Ok(())
        } else {
            Err(format!(
                "its {steps} makes {found} bytes of a text of {len} bytes, and at most {most} are allowed"
            ))
        }
    }
}

/// A step that replaces whatever matches a pattern. Its result is measured before it is made.
#[derive(Clone, Debug)]
pub(super) struct Replacing {
    split: Split,
    content: String,
}

impl Replacing {
    /// The step `file`, a `Replace` of a tokenizer file; `None` for another one.
    ///
    /// # Errors
    /// A description of the mistake.
    pub(super) fn read(file: &Value) -> Result<Option<Self>, String> {
        let is_unnamed =
            || file["type"].is_null() && file.get("pattern").is_some() && file.get("content").is_some();
        if file["type"] != "Replace" && !is_unnamed() {
            return Ok(None);
        }
        let pattern: SplitPattern = serde_json::from_value(file["pattern"].clone())
            .map_err(|error| format!("the pattern of a `Replace`: {error}"))?;
        let content = file["content"].as_str().ok_or("a `Replace` has no `content`")?;
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
        Ok(Some(Self { split: split.map_err(|error| error.to_string())?, content: content.to_owned() }))
    }

    /// Replaces all matches in a text that is being normalized.
    pub(super) fn normalize(&self, text: &mut NormalizedString, bound: Bound) -> tokenizers::Result<()> {
        self.measure(text.get(), bound, "normalizer")?;
        text.replace(&self.split.regex, &self.content)
    }

    /// Replaces all matches in a token that is being decoded.
    pub(super) fn decode(&self, token: &str, bound: Bound) -> tokenizers::Result<String> {
        self.measure(token, bound, "decoder")?;
        let matches = (&self.split.regex).find_matches(token)?;
        let parts =
            matches.into_iter().map(
                |((start, end), is_match)| {
                    if is_match { self.content.as_str() } else { &token[start..end] }
                },
            );
        Ok(parts.collect())
    }

    /// Refuses a text that would become too long.
    fn measure(&self, text: &str, bound: Bound, steps: &str) -> tokenizers::Result<()> {
        // There is at most one match for each character, and one at the end.
        let most = (text.len() + 1).saturating_mul(self.content.len());
        if bound.check(text.len().saturating_add(most), steps).is_ok() {
            return Ok(());
        }
        let matches = (&self.split.regex).find_matches(text)?;
        let new = matches.into_iter().map(
            |((start, end), is_match)| {
                if is_match { self.content.len() } else { end - start }
            },
        );
        Ok(bound.check(new.fold(0, usize::saturating_add), steps)?)
    }
}

/// The steps of `file`, and of the sequences within it, in their order. `steps` is the key of the steps of a
/// sequence. Old files do not name the types of steps.
pub(super) fn flattened<'f>(file: &'f Value, steps: &str) -> Vec<&'f Value> {
    let mut found = Vec::new();
    let mut left = vec![file];
    while let Some(file) = left.pop() {
        match file[steps].as_array() {
            Some(inner) if file["type"] == "Sequence" || file["type"].is_null() => {
                left.extend(inner.iter().rev())
            }
            _ => found.push(file),
        }
    }
    found
}

/// Refuses a text of a tokenizer file, described by `what`, that is longer than `most` bytes.
pub(super) fn check_text(what: &str, text: &str, most: usize) -> Result<(), String> {
    match text.len() {
        len if len <= most => Ok(()),
        len => Err(format!("{what} has {len} bytes, and at most {most} are allowed")),
    }
}
