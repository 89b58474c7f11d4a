//! The boundaries at which words are divided before subwords are learned, so that no token crosses them.

use attentive_config::TokenizerConfig;
use serde_json::{Value, json};

/// Punctuation and symbols except the word mark, each with the combining and invisible characters after it.
const PUNCTUATION: &str = r"▁?(?:[^\p{L}\p{M}\p{N}\p{Z}\p{C}▁][\p{M}\p{Cf}]*)+";
/// A decimal digit.
const DIGIT: &str = r"\p{Nd}";
/// Numbers and the punctuation between them.
const NUMBERS: &str = r"▁?[\p{Nd}\p{No}](?:[^\p{L}\p{N}\p{Z}▁]*[\p{Nd}\p{No}])*";
/// Characters that belong to no particular script, such as punctuation, the word mark and combining marks.
const NEUTRAL: &str = r"\p{Common}\p{Inherited}";
/// Scripts, written as in a character class; those of Japanese form one, as in SentencePiece. All other scripts together form
/// another.
const SCRIPTS: [&str; 32] = [
    r"\p{Latin}",
    r"\p{Cyrillic}",
    r"\p{Han}\p{Hiragana}\p{Katakana}ー",
    r"\p{Arabic}",
    r"\p{Greek}",
    r"\p{Hangul}",
    r"\p{Devanagari}",
    r"\p{Hebrew}",
    r"\p{Thai}",
    r"\p{Armenian}",
    r"\p{Georgian}",
    r"\p{Bengali}",
    r"\p{Gurmukhi}",
    r"\p{Gujarati}",
    r"\p{Oriya}",
    r"\p{Tamil}",
    r"\p{Telugu}",
    r"\p{Kannada}",
    r"\p{Malayalam}",
    r"\p{Sinhala}",
    r"\p{Lao}",
    r"\p{Tibetan}",
    r"\p{Myanmar}",
    r"\p{Khmer}",
    r"\p{Ethiopic}",
    r"\p{Mongolian}",
    r"\p{Bopomofo}",
    r"\p{Syriac}",
    r"\p{Thaana}",
    r"\p{Cherokee}",
    r"\p{Tifinagh}",
    r"\p{Canadian_Aboriginal}",
];

/// The kinds of boundaries that divide words. See the keys of [`TokenizerConfig`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Boundaries {
    punctuation: bool,
    digits: bool,
    scripts: bool,
}

impl From<&TokenizerConfig> for Boundaries {
    fn from(config: &TokenizerConfig) -> Self {
        Self {
            punctuation: config.split_punctuation,
            digits: config.split_digits,
            scripts: config.split_by_script,
        }
    }
}

impl Boundaries {
    /// All combinations.
    pub(super) fn all() -> [Self; 8] {
        std::array::from_fn(|n| Self {
            punctuation: n & 1 > 0,
            digits: n & 2 > 0,
            scripts: n & 4 > 0,
        })
    }

    /// The pre-tokenizer steps of `tokenizer.json` that divide words; each word begins with its mark.
    pub(super) fn pre_tokenizers(self) -> Vec<Value> {
        let mut steps = Vec::new();
        if self.punctuation {
            steps.push(isolated(PUNCTUATION));
        }
        if self.digits {
            steps.push(isolated(DIGIT));
        }
        if self.scripts {
            steps.push(isolated(NUMBERS));
            steps.push(isolated(&runs()));
        }
        steps
    }
}

/// Runs of letters of one script, each with the neutral characters among them.
fn runs() -> String {
    let runs = SCRIPTS.map(|script| format!("[{script}][{script}{NEUTRAL}]*"));
    format!("[{NEUTRAL}]*(?:{})", runs.join("|"))
}

/// A step that makes each match of `pattern` a separate part.
fn isolated(pattern: &str) -> Value {
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
}

#[cfg(test)]
mod tests {
    use attentive_config::{Normalization, TokenizerKind};

    use super::*;
    use crate::{Masks, Tokenizer, learn};

    /// The parts into which `text` is divided before tokens are looked up.
    fn parts(config: &TokenizerConfig, text: &str) -> Vec<String> {
        tokenizer(config, &[text]).pieces(text).unwrap()
    }

    fn tokenizer(config: &TokenizerConfig, texts: &[&str]) -> Tokenizer {
        let config = TokenizerConfig {
            min_frequency: 1,
            vocab_size: 300,
            ..config.clone()
        };
        let learned = learn(&config, Masks::Without, texts, &[]).unwrap();
        learned.src().clone()
    }

    fn only(punctuation: bool, digits: bool, scripts: bool) -> TokenizerConfig {
        TokenizerConfig {
            split_punctuation: punctuation,
            split_digits: digits,
            split_by_script: scripts,
            ..TokenizerConfig::default()
        }
    }

    #[test]
    fn words_punctuation_and_numbers_are_apart() {
        let default = TokenizerConfig::default();
        let decomposed = TokenizerConfig {
            normalization: Normalization::None,
            ..default.clone()
        };
        for (text, expected) in [
            ("street.", "▁street|."),
            ("The street", "▁The|▁street"),
            ("don't", "▁don|'|t"),
            ("3.14", "▁3|.|14"),
            ("U.S.", "▁U|.|S|."),
            ("well-known", "▁well|-|known"),
            ("say (this) …", "▁say|▁(|this|)|▁..."),
            ("20€ 3rd $x", "▁20|€|▁3|rd|▁$|x"),
            ("snake_case", "▁snake|_|case"),
            ("Привет,world", "▁Привет|,|world"),
            ("αβγdelta", "▁αβγ|delta"),
            ("iPhoneを買う", "▁iPhone|を買う"),
            ("ラーメン二〇三高地、3杯", "▁ラーメン二〇三高地|、|3|杯"),
            ("안녕hello", "▁안녕|hello"),
            ("नमस्ते१२", "▁नमस्ते|१२"),
            ("می\u{200c}روم", "▁می\u{200c}روم"),
            ("ʼwordʼs", "▁ʼwordʼs"),
            ("❤\u{fe0f}👩\u{200d}👧ok", "▁❤\u{fe0f}👩\u{200d}👧|ok"),
            ("ⵣabc", "▁ⵣ|abc"),
            ("𐍅abc", "▁𐍅|abc"),
        ] {
            assert_eq!(parts(&default, text).join("|"), expected);
        }
        // Combining marks belong to the characters that they combine with.
        let marked = "e\u{301}a.\u{301}b";
        assert_eq!(
            parts(&decomposed, marked).join("|"),
            "▁e\u{301}a|.\u{301}|b"
        );
    }

    #[test]
    fn each_key_has_its_boundaries() {
        let text = "a1.5 b.c42 дab";
        for ((punctuation, digits, scripts), expected) in [
            ((false, false, false), "▁a1.5|▁b.c42|▁дab"),
            ((true, false, false), "▁a1|.|5|▁b|.|c42|▁дab"),
            ((false, true, false), "▁a|1|.|5|▁b.c|4|2|▁дab"),
            ((false, false, true), "▁a|1.5|▁b.c|42|▁д|ab"),
            ((true, true, true), "▁a|1|.|5|▁b|.|c|4|2|▁д|ab"),
        ] {
            let config = only(punctuation, digits, scripts);
            assert_eq!(parts(&config, text).join("|"), expected);
        }
        // As in SentencePiece, no digit has a mark.
        assert_eq!(parts(&only(false, true, false), "20").join("|"), "▁|2|0");
    }

    #[test]
    fn no_token_crosses_a_boundary() {
        let text = "the street. the street, 42nd street! (the 42nd street.) 3.14 3.14 don't don't";
        for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
            for boundaries in [
                (false, false, false),
                (true, false, true),
                (true, true, true),
            ] {
                let (punctuation, digits, scripts) = boundaries;
                let config = TokenizerConfig {
                    kind,
                    ..only(punctuation, digits, scripts)
                };
                let tokenizer = tokenizer(&config, &[text; 20]);
                let tokens = (4..tokenizer.vocab_size() as u32).map(|id| tokenizer.token(id));
                let tokens: Vec<String> = tokens.map(Option::unwrap).collect();
                let mixes = |token: &&String| {
                    let token = token.trim_start_matches('▁');
                    let letters = token.contains(char::is_alphabetic);
                    letters && !token.chars().all(char::is_alphabetic)
                };
                assert_eq!(tokens.iter().any(|token| mixes(&token)), !punctuation);
                let n_digits = |token: &String| token.matches(char::is_numeric).count();
                let most = tokens.iter().map(n_digits).max();
                assert_eq!(most > Some(1), !digits, "{tokens:?}");
                let ids = tokenizer.encode(text).unwrap();
                assert_eq!(tokenizer.decode(&ids), text);
            }
        }
    }

    #[test]
    fn divided_words_are_written_as_they_were() {
        let texts = [
            "A man walks down the street. It's 3.14 p.m. in the U.S., isn't it?",
            "well-known—or not… (see [1]) \"quoted\" 'single' 50% $20 a/b C++ #1",
            "日本語とiPhone15を買う。「はい」 中文,English混合 안녕하세요world!",
            "naïve cafe\u{301} नमस्ते دنیا \u{200c}می\u{200c}روم שלום 👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}!",
        ];
        for boundaries in Boundaries::all() {
            for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
                let config = TokenizerConfig {
                    kind,
                    normalization: Normalization::Nfc,
                    ..only(
                        boundaries.punctuation,
                        boundaries.digits,
                        boundaries.scripts,
                    )
                };
                let tokenizer = tokenizer(&config, &texts);
                for text in texts {
                    let ids = tokenizer.encode(text).unwrap();
                    let expected = text.replace("e\u{301}", "é");
                    assert_eq!(tokenizer.decode(&ids), expected, "{config:?}");
                }
            }
        }
    }
}
