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
    /// [`Error::Usage`] for a language that cannot be recognized.
    pub fn new(src: &str, tgt: &str) -> Result<Self> {
        let language = |code: &str| {
            let known = KnownLanguage::of(&code.to_lowercase());
            let found = known.and_then(|known| known.codes().find_map(Lang::from_code));
            found.ok_or_else(|| {
                Error::usage(
                    format!("the language `{code}` cannot be recognized"),
                    "give the codes of two languages that can, such as `en` and `de`, or leave out the rule `language`",
                )
            })
        };
        Ok(Self { src: language(src)?, tgt: language(tgt)? })
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
