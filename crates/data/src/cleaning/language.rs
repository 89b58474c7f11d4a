//! The languages of both sides.

use attentive_base::error::{Error, Result};
use attentive_text::KnownLanguage;
use whatlang::{Detector, Lang};

use super::SentencePair;

/// The letters from which a language is recognized; fewer are mostly names.
const FEWEST_LETTERS: usize = 20;

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
        let both = Detector::with_allowlist(vec![self.src, self.tgt]);
        let is_other = |text: &str, own: Lang| {
            if text.chars().filter(|c| c.is_alphabetic()).count() < FEWEST_LETTERS {
                return false;
            }
            if whatlang::detect_script(text).is_some_and(|script| !script.langs().contains(&own)) {
                return true;
            }
            let of_pair = both.detect(text);
            if of_pair.is_some_and(|found| found.lang() != own && found.is_reliable()) {
                return true;
            }
            let any = Detector::new().detect(text);
            any.is_some_and(|found| found.lang() != own && found.is_reliable())
        };
        is_other(&pair.src, self.src) || is_other(&pair.tgt, self.tgt)
    }
}
