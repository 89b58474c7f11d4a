//! The languages of both sides.

use attentive_base::error::{Error, Result};
use attentive_text::KnownLanguage;
use whatlang::{Detector, Lang, Script};

use super::SentencePair;

/// The letters from which a language is recognized; fewer are mostly names.
const FEWEST_LETTERS: usize = 20;
/// Those of words without capitals, digits and signs, which must look like the other language, too: names and
/// abbreviations of software look like any.
const FEWEST_PLAIN_LETTERS: usize = 10;

/// How sure it is that a text is in another language.
struct Confidence {
    /// From 0 to 1, that it is in the language of the other side rather than in its own.
    in_pair: f64,
    /// That it is in the likeliest of all languages.
    among_all: f64,
    /// That it is in this one rather than in its own.
    against_own: f64,
}

const OF_TEXT: Confidence = Confidence { in_pair: 0.9, among_all: 0.4, against_own: 1.0 };
const OF_PLAIN_WORDS: Confidence = Confidence { in_pair: 0.5, among_all: 0.2, against_own: 0.5 };

/// The language with this code, of which a region or a script may be a part, such as `pt_BR`.
fn language(code: &str) -> Result<Lang> {
    let lower = code.to_lowercase();
    let mut parts = lower.split(['-', '_']);
    let language = match parts.next().unwrap_or_default() {
        // Norwegian, which is mostly Bokmål.
        "no" | "nor" => "nb",
        language => language,
    };
    let known = KnownLanguage::of(language);
    let script = parts.find_map(|part| match part {
        "latn" => Some(Script::Latin),
        "cyrl" => Some(Script::Cyrillic),
        "arab" => Some(Script::Arabic),
        _ => None,
    });
    let is_written_so = |language: &Lang| script.is_none_or(|script| script.langs().contains(language));
    let known = known.and_then(|known| known.codes().find_map(Lang::from_code)).filter(is_written_so);
    known.ok_or_else(|| {
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
        is_other(&pair.src, self.src, self.tgt) || is_other(&pair.tgt, self.tgt, self.src)
    }
}

/// Whether `text` is clearly in another language than `own`, perhaps that of the other side, `of_pair`.
fn is_other(text: &str, own: Lang, of_pair: Lang) -> bool {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
    if letters(text) < FEWEST_LETTERS {
        return false;
    }
    let script = OwnScript::of(own, text);
    if script.is_missing(text) {
        return true;
    }
    let own_words: Vec<&str> = text.split_whitespace().filter(|word| script.has_all_of(word)).collect();
    let of_text = own_words.join(" ");
    let trimmed = own_words.iter().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let is_sign = |c: char| c.is_uppercase() || c.is_numeric() || c.is_ascii_punctuation();
    let plain: Vec<&str> = trimmed.filter(|word| !word.contains(is_sign)).collect();
    let plain = plain.join(" ");
    letters(&of_text) >= FEWEST_LETTERS
        && letters(&plain) >= FEWEST_PLAIN_LETTERS
        && is_rather_other(&of_text, own, of_pair, &OF_TEXT)
        && is_rather_other(&plain, own, of_pair, &OF_PLAIN_WORDS)
}

fn is_rather_other(text: &str, own: Lang, of_pair: Lang, least: &Confidence) -> bool {
    // Against one language at a time: beside Portuguese, Spanish is rarely certain.
    let is_rather = |other: Lang, confidence: f64| {
        let found = Detector::with_allowlist(vec![own, other]).detect(text);
        found.is_some_and(|found| found.lang() != own && found.confidence() >= confidence)
    };
    is_rather(of_pair, least.in_pair)
        || whatlang::detect(text).is_some_and(|any| {
            any.confidence() >= least.among_all && is_rather(any.lang(), least.against_own)
        })
}

/// The script of a language, in a text.
struct OwnScript {
    language: Lang,
    is_latin: bool,
    /// Whether Chinese characters are among Japanese ones.
    has_kana: bool,
}

impl OwnScript {
    fn of(language: Lang, text: &str) -> Self {
        let is_kana = |c: char| matches!(c, '\u{3041}'..='\u{30FF}');
        let has_kana = language == Lang::Jpn && text.contains(is_kana);
        Self { language, is_latin: Script::Latin.langs().contains(&language), has_kana }
    }

    fn has(&self, c: char) -> bool {
        if matches!(c, '\0'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}') {
            return self.is_latin;
        }
        let script = whatlang::detect_script(c.encode_utf8(&mut [0; 4]));
        script.is_none_or(|script| {
            script.langs().contains(&self.language) || self.has_kana && script == Script::Mandarin
        })
    }

    fn has_all_of(&self, word: &str) -> bool {
        word.chars().filter(|c| c.is_alphabetic()).all(|c| self.has(c))
    }

    /// Whether too few letters of a text are of this script. Names are often Latin in other scripts.
    fn is_missing(&self, text: &str) -> bool {
        let least = if self.is_latin { 0.5 } else { 0.1 };
        let letters = || text.chars().filter(|c| c.is_alphabetic());
        let n_own = letters().filter(|&c| self.has(c)).count();
        (n_own as f64) < least * letters().count() as f64
    }
}
