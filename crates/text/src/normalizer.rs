//! The normalization of a text before it is divided.

use std::borrow::Cow;

use attentive_base::ignorable::{examined, has_ignorable};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokenizers::pattern::Pattern;
use tokenizers::{NormalizedString, Normalizer, NormalizerWrapper, Offsets};

use super::charsmap::Charsmap;
use super::format::ignorable_normalizer;
use super::growth::{Bound, Replacing, flattened};

/// The maximum number of bytes that a compiled map of the library may make of a character.
const LONGEST_TEXT: usize = 64;

/// The `normalizer` of a tokenizer file. The first step, if it has a compiled map, may have an entry
/// `"match": "longest"`, which makes it search for the longest match at every position as the programs that
/// compile such maps do; other programs ignore the entry, and search for whole graphemes. `"kept"` lists
/// texts that are left unchanged.
#[derive(Clone, Debug)]
pub(super) struct NormalizerSteps(Vec<Step>);

#[derive(Clone, Debug)]
enum Step {
    Map(Charsmap),
    Replace(Replacing),
    /// The removal of characters that mean nothing where they stand. It is a `Replace`, whose expression is not
    /// compiled, since this takes as long as reading a vocabulary.
    Ignorable,
    /// A step of the `tokenizers` library, which makes at most a few times as much of a text.
    Library(NormalizerWrapper),
}

impl<'de> Deserialize<'de> for NormalizerSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let file = Value::deserialize(deserializer)?;
        if file.is_null() {
            return Ok(Self(Vec::new()));
        }
        let steps = flattened(&file, "normalizers").into_iter().enumerate();
        let steps = steps.map(|(place, step)| Step::read(step, place == 0));
        steps.collect::<Result<_, _>>().map(Self).map_err(D::Error::custom)
    }
}

impl Step {
    fn read(file: &Value, is_first: bool) -> Result<Self, String> {
        if *file == ignorable_normalizer() {
            return Ok(Self::Ignorable);
        }
        if let Some(replacing) = Replacing::read(file)? {
            return Ok(Self::Replace(replacing));
        }
        if let Some(map) = map(file)? {
            if is_first && file["match"] == "longest" {
                return Ok(Self::Map(map));
            }
            let longest = map.longest_text();
            if longest > LONGEST_TEXT {
                return Err(format!(
                    "the compiled normalization makes {longest} bytes of a character, and at most \
                     {LONGEST_TEXT} are allowed"
                ));
            }
        }
        let library = NormalizerWrapper::deserialize(file);
        library.map(Self::Library).map_err(|error| error.to_string())
    }

    fn normalize(&self, text: &mut NormalizedString, bound: Bound) -> tokenizers::Result<()> {
        match self {
            Self::Map(map) => map.normalize(text, bound)?,
            Self::Ignorable if !has_ignorable(text.get()) => {}
            Self::Ignorable => text.replace(Ignorable, "")?,
            Self::Replace(replacing) => replacing.normalize(text, bound)?,
            Self::Library(step) => step.normalize(text)?,
        }
        Ok(bound.check(text.get().len(), "normalizer")?)
    }
}

/// The characters that mean nothing where they stand.
struct Ignorable;

impl Pattern for Ignorable {
    fn find_matches(&self, text: &str) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        let one = |(start, c, is_kept): (usize, char, bool)| ((start, start + c.len_utf8()), !is_kept);
        Ok(examined(text).map(one).collect())
    }
}

impl Normalizer for NormalizerSteps {
    fn normalize(&self, text: &mut NormalizedString) -> tokenizers::Result<()> {
        let bound = Bound::of(text.get().len());
        self.0.iter().try_for_each(|step| step.normalize(text, bound))
    }
}

/// Returns `text` with each letter and its accents as one character, where there is one (NFC).
pub fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    NormalizedString::from(text).nfc().get().to_owned().into()
}

/// The compiled map of a step, if it has one.
fn map(step: &Value) -> Result<Option<Charsmap>, String> {
    let map = &step["precompiled_charsmap"];
    if step["type"] != "Precompiled" && map.is_null() {
        return Ok(None);
    }
    let kept = step["kept"].as_array().into_iter().flatten();
    let kept = kept.filter_map(Value::as_str).map(str::to_owned).collect();
    Charsmap::parse(map.as_str().unwrap_or_default(), kept).map(Some)
}

#[cfg(test)]
mod tests {
    use attentive_base::ignorable::without_ignorable;
    use attentive_base::random::Random;

    use super::*;

    /// The expression in the tokenizer's file matches what is removed here.
    #[test]
    fn the_expression_of_ignorable_characters_matches_what_is_removed() {
        const PARTS: [&str; 27] = [
            "a",
            " ",
            "1",
            "#",
            "م",
            "خ",
            "क",
            "\u{94d}",
            "❤",
            "👩",
            "🚀",
            "🏴",
            "葛",
            "\u{1820}",
            "\u{1100}",
            "\u{200b}",
            "\u{200c}",
            "\u{200d}",
            "\u{fe0f}",
            "\u{fe00}",
            "\u{e0100}",
            "\u{e0067}",
            "\u{e0041}",
            "\u{115f}",
            "\u{3164}",
            "\u{180b}",
            "\u{1160}",
        ];
        let expression = Replacing::read(&ignorable_normalizer()).unwrap().unwrap();
        let mut random = Random::new(1, 0);
        for _ in 0..20_000 {
            let text: String = (0..random.below(10)).map(|_| *random.choose(&PARTS)).collect();
            let bound = Bound::of(text.len());
            let [mut own, mut expected] = [(); 2].map(|()| NormalizedString::from(text.as_str()));
            Step::Ignorable.normalize(&mut own, bound).unwrap();
            expression.normalize(&mut expected, bound).unwrap();
            assert_eq!(own, expected, "{text:?}");
            assert_eq!(own.get(), without_ignorable(&text), "{text:?}");
        }
    }
}
