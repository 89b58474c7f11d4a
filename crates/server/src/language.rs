//! Human languages: their codes, and language detection.

use std::fmt;
use std::str::FromStr;

use attentive_base::error::{Error, Result};
use attentive_text::KnownLanguage;
use serde::{Deserialize, Deserializer};
use whatlang::{Detector, Lang};

/// A language, identified by its code, such as `en` or `pt-br`; case is not significant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(String);

impl Language {
    /// Returns the code in lower case.
    pub fn code(&self) -> &str {
        &self.0
    }

    /// Returns the English name, or the code of a language without a known name.
    pub fn name(&self) -> &str {
        self.known().map_or(&self.0, |known| known.name)
    }

    /// The language with this name or code.
    pub(super) fn named(name: &str) -> Option<Self> {
        let known = KnownLanguage::all().find(|known| known.name.eq_ignore_ascii_case(name));
        match known {
            Some(known) => Some(Self(known.code.to_owned())),
            None => name.parse().ok(),
        }
    }

    /// The code without its region: `pt` for `pt-br`.
    pub(super) fn base(&self) -> &str {
        self.0.split_once('-').map_or(&self.0, |(base, _)| base)
    }

    fn known(&self) -> Option<KnownLanguage> {
        KnownLanguage::all().find(|known| known.code == self.base())
    }

    /// The language as its detector calls it; `None` if it cannot be detected.
    fn detected(&self) -> Option<Lang> {
        self.known()?.codes().find_map(Lang::from_code)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Language {
    type Err = Error;

    fn from_str(code: &str) -> Result<Self> {
        const MAX_CODE_BYTES: usize = 16;
        let code = code.to_ascii_lowercase().replace('_', "-");
        let mut parts = code.split('-');
        let is_base =
            |base: &str| (2..=3).contains(&base.len()) && base.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric());
        if code.len() <= MAX_CODE_BYTES && parts.next().is_some_and(is_base) && parts.all(is_part) {
            return Ok(Self(code));
        }
        Err(Error::usage("this is not a language code", "use the two letters of ISO 639-1, as in `en`"))
    }
}

impl<'de> Deserialize<'de> for Language {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let code = String::deserialize(from)?;
        code.parse().map_err(|_| {
            serde::de::Error::custom(format_args!("`{code}` is not a language code such as `en`"))
        })
    }
}

/// The source and target language of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslationDirection {
    /// The source language.
    pub source: Language,
    /// The target language.
    pub target: Language,
}

impl TranslationDirection {
    /// Reads the direction from the name of a model, such as `en-de`; `None` for other names.
    pub fn of_name(name: &str) -> Option<Self> {
        let (source, target) = name.split_once('-')?;
        let code = |code: &str| code.parse().ok().filter(|_| code.len() <= 3);
        Some(Self { source: code(source)?, target: code(target)? })
    }

    /// True if these are the languages, whatever their regions.
    pub(super) fn is_between(&self, source: &Language, target: &Language) -> bool {
        self.source.base() == source.base() && self.target.base() == target.base()
    }
}

/// The detected language of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Detected {
    pub(super) language: Language,
    /// The confidence, from 0 to 100.
    pub(super) confidence: f64,
}

impl Detected {
    /// A language without any evidence for it.
    pub(super) fn unsure(language: Language) -> Self {
        Self { language, confidence: 0.0 }
    }
}

/// The most likely language of `text` among `choices`, which are not empty. Languages that cannot be detected
/// are chosen only if there is no other. `None` if the text is certainly in no such language, by its script.
pub(super) fn detect_among(text: &str, choices: &[Language]) -> Option<Detected> {
    let known: Vec<Lang> = choices.iter().filter_map(Language::detected).collect();
    let found = if known.is_empty() { None } else { guess(&Detector::with_allowlist(known), text) };
    let Some(found) = found else {
        return choices.first().cloned().map(Detected::unsure);
    };
    let same = |choice: &&Language| choice.base() == found.language.base();
    let language = choices.iter().find(same)?.clone();
    Some(Detected { language, ..found })
}

/// The language of `text`, if that is certain enough to contradict someone: among `choices`, or another one.
pub(super) fn recognize(text: &str, choices: &[Language]) -> Option<Detected> {
    /// The fewest letters that tell one of few languages from another, and from any.
    const FEWEST: [usize; 2] = [20, 200];
    let letters = text.chars().filter(|c| c.is_alphabetic()).take(FEWEST[1]).count();
    if letters < FEWEST[0] {
        return None;
    }
    let is_certain = |found: &Detected| found.confidence >= CERTAIN;
    let of_any = || guess(&Detector::new(), text).filter(is_certain);
    let of_any = if letters < FEWEST[1] { None } else { of_any() };
    of_any.or_else(|| detect_among(text, choices).filter(is_certain))
}

/// The confidence of a language that is told.
const CERTAIN: f64 = 90.0;

fn guess(detector: &Detector, text: &str) -> Option<Detected> {
    /// The number of bytes that are examined; a longer text gives no more information.
    const ENOUGH: usize = 4096;
    let found = detector.detect(&text[..text.floor_char_boundary(ENOUGH)])?;
    let known = KnownLanguage::of(found.lang().code())?;
    Some(Detected {
        language: Language(known.code.to_owned()),
        confidence: (found.confidence() * 100.0).round(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(code: &str) -> Language {
        code.parse().unwrap()
    }

    #[test]
    fn codes_are_read_in_any_case() {
        assert_eq!(language("EN").code(), "en");
        assert_eq!(language("pt_BR").base(), "pt");
        assert_eq!(language("pt-br").name(), "Portuguese");
        assert_eq!(language("xx").name(), "xx");
        for wrong in ["", "e", "english", "e1", "en-", "en de", "en-aaaaaaaaaaaaaaaaa"] {
            assert!(wrong.parse::<Language>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_models_tell_directions() {
        let direction = TranslationDirection::of_name("en-de").unwrap();
        assert_eq!((direction.source.code(), direction.target.code()), ("en", "de"));
        for other in ["model", "en-german", "en", "en-de-2", "multi30k-en"] {
            assert_eq!(TranslationDirection::of_name(other), None, "{other}");
        }
    }

    #[test]
    fn languages_are_detected_among_choices() {
        let text = "Ein Hund läuft über die Straße und bellt den Mann auf dem Fahrrad an.";
        let choices = [language("en"), language("de-at")];
        assert_eq!(detect_among(text, &choices).unwrap().language.code(), "de-at");
        let unknown = [language("xx")];
        assert_eq!(detect_among(text, &unknown).unwrap().language.code(), "xx");
        assert_eq!(detect_among(text, &[]), None);
        assert_eq!(detect_among("1234", &choices).unwrap().language.code(), "en");
    }
}
