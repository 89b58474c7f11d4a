//! The division of a text into the words that are looked up in the vocabulary.

use std::sync::{Arc, OnceLock};

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokenizers::pattern::Pattern;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    OffsetReferential, OffsetType, Offsets, PreTokenizedString, PreTokenizer, PreTokenizerWrapper,
    SplitDelimiterBehavior,
};

use super::boundaries::Boundary;
use super::growth::{Bound, flattened};

/// The `pre_tokenizer` of a tokenizer file. The regular expressions of this program's own steps are large,
/// and compiling them would take most of the time of reading a tokenizer. They are compiled for the first
/// text that needs them, which most texts of Latin letters do not.
#[derive(Clone, Debug)]
pub(super) struct PreTokenizerSteps {
    steps: Vec<Step>,
    /// True if several steps lengthen the text, so that its size is bounded.
    is_bounded: bool,
}

#[derive(Clone, Debug)]
enum Step {
    /// A step of the `tokenizers` library.
    Library(PreTokenizerWrapper),
    /// Makes each match of a boundary a separate part.
    Boundary(Boundary),
    /// Ends a part behind each of these beginnings of special tokens.
    Beginnings(Beginnings),
}

/// Texts that end a part, and the regular expression that finds them.
#[derive(Clone, Debug)]
struct Beginnings {
    texts: Vec<String>,
    pattern: String,
    split: Arc<OnceLock<Split>>,
}

impl<'de> Deserialize<'de> for PreTokenizerSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let file = Value::deserialize(deserializer)?;
        let steps = flattened(&file, "pretokenizers").into_iter().map(Step::read);
        let steps: Vec<Step> = steps.collect::<Result<_, _>>().map_err(D::Error::custom)?;
        Ok(Self { is_bounded: steps.iter().filter(|step| step.lengthens()).count() > 1, steps })
    }
}

impl PreTokenizer for PreTokenizerSteps {
    fn pre_tokenize(&self, text: &mut PreTokenizedString) -> tokenizers::Result<()> {
        if !self.is_bounded {
            return self.steps.iter().try_for_each(|step| step.divide(text));
        }
        let bound = Bound::of(size(text));
        for step in &self.steps {
            step.divide(text)?;
            bound.check(size(text), "pre-tokenizer")?;
        }
        Ok(())
    }
}

/// The number of bytes of all parts.
fn size(text: &PreTokenizedString) -> usize {
    let parts = text.get_splits(OffsetReferential::Normalized, OffsetType::Byte);
    parts.into_iter().map(|(part, ..)| part.len()).sum()
}

impl Step {
    fn read(file: &Value) -> serde_json::Result<Self> {
        if let Some(boundary) = Boundary::read(file) {
            return Ok(Self::Boundary(boundary));
        }
        if let Some(beginnings) = Beginnings::read(file) {
            return Ok(Self::Beginnings(beginnings));
        }
        PreTokenizerWrapper::deserialize(file).map(Self::Library)
    }

    /// True for the steps that may make a longer text, up to twice as long.
    fn lengthens(&self) -> bool {
        let Self::Library(step) = self else {
            return false;
        };
        matches!(step, PreTokenizerWrapper::ByteLevel(_) | PreTokenizerWrapper::Metaspace(_))
    }

    fn divide(&self, text: &mut PreTokenizedString) -> tokenizers::Result<()> {
        match self {
            Self::Library(step) => step.pre_tokenize(text),
            Self::Boundary(boundary) => {
                let isolated = SplitDelimiterBehavior::Isolated;
                text.split(|_, part| part.split(boundary, isolated))
            }
            Self::Beginnings(beginnings) => {
                let merged = SplitDelimiterBehavior::MergedWithPrevious;
                text.split(|_, part| part.split(beginnings, merged))
            }
        }
    }
}

impl Beginnings {
    /// The step `file`, if it is one of this kind.
    fn read(file: &Value) -> Option<Self> {
        let pattern = file["pattern"]["Regex"].as_str()?;
        let behavior = "MergedWithPrevious";
        let of_pattern =
            json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": false});
        let is_plain = |c: char| c.is_alphanumeric() || "<>|/_ ".contains(c);
        if *file != of_pattern || !pattern.chars().all(is_plain) {
            return None;
        }
        let texts = pattern.split('|').map(str::to_owned);
        Some(Self { texts: texts.collect(), pattern: pattern.to_owned(), split: Arc::default() })
    }

    fn split(&self) -> &Split {
        self.split.get_or_init(|| {
            let regex = SplitPattern::Regex(self.pattern.clone());
            let merged = SplitDelimiterBehavior::MergedWithPrevious;
            Split::new(regex, merged, false).expect("a pattern without special characters")
        })
    }
}

impl Pattern for &Beginnings {
    fn find_matches(&self, part: &str) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        if self.texts.iter().any(|text| part.contains(text)) {
            (&self.split().regex).find_matches(part)
        } else {
            Ok(vec![((0, part.len()), false)])
        }
    }
}

impl Pattern for &Boundary {
    fn find_matches(&self, part: &str) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        match self.plain_matches(part) {
            Some(matches) => Ok(covering(part, matches)),
            None => (&self.split().regex).find_matches(part),
        }
    }
}

/// The matches, and what lies between them, of a part.
fn covering(part: &str, matches: Vec<Offsets>) -> Vec<(Offsets, bool)> {
    let (mut all, mut end) = (Vec::with_capacity(2 * matches.len() + 1), 0);
    for found in matches {
        if end < found.0 {
            all.push(((end, found.0), false));
        }
        all.push((found, true));
        end = found.1;
    }
    if end < part.len() || part.is_empty() {
        all.push(((end, part.len()), false));
    }
    all
}
