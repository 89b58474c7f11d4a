//! The languages of both sides.

use attentive_base::error::{Error, Result};
use attentive_text::KnownLanguage;
use whatlang::{Detector, Lang};

use super::SentencePair;

/// The letters from which a language is recognized; fewer are mostly names.
const FEWEST_LETTERS: usize = 20;
/// The confidence, from 0 to 1, with which a text is taken to be in the language of the other side rather than
/// in its own.
const CONFIDENCE_IN_PAIR: f64 = 0.9;
/// That of the likeliest of all languages, which must also be certain against the text's own.
const CONFIDENCE_AMONG_ALL: f64 = 0.4;

/// The language with this code, of which a region or a script may be a part, such as `pt_BR`.
fn language(code: &str) -> Result<Lang> {
    let lower = code.to_lowercase();
    let language = match lower.split(['-', '_']).next().unwrap_or_default() {
        // Norwegian, which is mostly Bokmål.
        "no" | "nor" => "nb",
        language => language,
    };
    let known = KnownLanguage::of(language);
    known.and_then(|known| known.codes().find_map(Lang::from_code)).ok_or_else(|| {
        let mut all: Vec<&str> = Lang::all().iter().map(|language| language.eng_name()).collect();
        all.sort_unstable();
        Error::usage(
            format!("the language `{code}` cannot be recognized"),
            format!(
                "leave the languages out, or the rule `language`; what can be recognized is {}",
                all.join(", ")
            ),
        )
    })
}

/// The languages of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedLanguages {
    src: Lang,
    tgt: Lang,
}

impl ExpectedLanguages {
    /// Returns the languages with these codes, such as `en` and `de`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a language that cannot be recognized, and for the same one twice.
    pub fn new(src: &str, tgt: &str) -> Result<Self> {
        let both = Self { src: language(src)?, tgt: language(tgt)? };
        if both.src == both.tgt {
            let problem = format!("`{src}` and `{tgt}` are the same language");
            return Err(Error::usage(problem, "give the codes of both sides, such as `en` and `de`"));
        }
        Ok(both)
    }

    /// Returns the language with this code, of texts that are paired with themselves.
    ///
    /// # Errors
    /// [`Error::Usage`] for a language that cannot be recognized.
    pub fn of_one_side(code: &str) -> Result<Self> {
        language(code).map(|language| Self { src: language, tgt: language })
    }

    /// Whether a side is clearly in another language than it should be.
    pub(super) fn is_broken(self, pair: &SentencePair) -> bool {
        let is_other = |text: &str, own: Lang, of_pair: Lang| {
            if text.chars().filter(|c| c.is_alphabetic()).count() < FEWEST_LETTERS {
                return false;
            }
            if whatlang::detect_script(text).is_some_and(|script| !script.langs().contains(&own)) {
                return true;
            }
            // Against one language at a time: beside Portuguese, Spanish is rarely certain.
            let is_rather = |other: Lang, confidence: f64| {
                let found = Detector::with_allowlist(vec![own, other]).detect(text);
                found.is_some_and(|found| found.lang() != own && found.confidence() >= confidence)
            };
            is_rather(of_pair, CONFIDENCE_IN_PAIR)
                || whatlang::detect(text)
                    .is_some_and(|any| any.confidence() >= CONFIDENCE_AMONG_ALL && is_rather(any.lang(), 1.0))
        };
        is_other(&pair.src, self.src, self.tgt) || is_other(&pair.tgt, self.tgt, self.src)
    }
}
