//! The boundaries at which words are divided before subwords are learned, so that no token crosses them.

use std::sync::LazyLock;

use attentive_config::TokenizerConfig;
use serde_json::{Value, json};
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{Offsets, SplitDelimiterBehavior};

/// Punctuation and symbols except the word mark, each with the combining and invisible characters after it.
const PUNCTUATION: &str = r"▁?(?:[^\p{L}\p{M}\p{N}\p{Z}\p{C}▁][\p{M}\p{Cf}]*)+";
/// A decimal digit.
const DIGIT: &str = r"\p{Nd}";
/// Numbers and the punctuation between them.
const NUMBERS: &str = r"▁?[\p{Nd}\p{No}](?:[^\p{L}\p{N}\p{Z}▁]*[\p{Nd}\p{No}])*";
/// Characters that belong to no particular script, such as punctuation, the word mark and combining marks.
const NEUTRAL: &str = r"\p{Common}\p{Inherited}";
/// Scripts, written as in a character class; those of Japanese form one, as in SentencePiece. All other
/// scripts together form another.
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

/// Where a word is divided by one step: around each match of a regular expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boundary {
    Punctuation,
    Digit,
    Numbers,
    Scripts,
}

impl Boundary {
    const ALL: [Self; 4] = [Self::Punctuation, Self::Digit, Self::Numbers, Self::Scripts];

    /// The boundary of a step of [`Boundaries::pre_tokenizers`]; `None` for another step.
    pub(super) fn read(step: &Value) -> Option<Self> {
        let pattern = step["pattern"]["Regex"].as_str()?;
        let found = Self::ALL.into_iter().find(|boundary| pattern == boundary.pattern());
        found.filter(|boundary| *step == isolated(boundary.pattern()))
    }

    fn pattern(self) -> &'static str {
        static RUNS: LazyLock<String> = LazyLock::new(runs);
        match self {
            Self::Punctuation => PUNCTUATION,
            Self::Digit => DIGIT,
            Self::Numbers => NUMBERS,
            Self::Scripts => &RUNS,
        }
    }

    /// The step of the `tokenizers` library.
    pub(super) fn split(self) -> &'static Split {
        static SPLITS: [LazyLock<Split>; 4] = [
            LazyLock::new(|| Boundary::Punctuation.compiled()),
            LazyLock::new(|| Boundary::Digit.compiled()),
            LazyLock::new(|| Boundary::Numbers.compiled()),
            LazyLock::new(|| Boundary::Scripts.compiled()),
        ];
        &SPLITS[self as usize]
    }

    fn compiled(self) -> Split {
        let pattern = SplitPattern::Regex(self.pattern().to_owned());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
        split.expect("a pattern that tests compile")
    }

    /// The matches in `text`, in bytes, if all of its characters have a [`Class`].
    pub(super) fn plain_matches(self, text: &str) -> Option<Vec<Offsets>> {
        let mut classes = Vec::with_capacity(text.len());
        for (start, c) in text.char_indices() {
            classes.push((start, Class::of(c)?));
        }
        let end_of = |place: usize| classes.get(place + 1).map_or(text.len(), |&(start, _)| start);
        let is = |place: usize, class: Class| classes.get(place).map(|c| c.1) == Some(class);
        // With the mark of a word before it.
        let start_of = |place: usize| {
            if place > 0 && is(place - 1, Class::Mark) { classes[place - 1].0 } else { classes[place].0 }
        };
        let mut matches = Vec::new();
        let mut place = 0;
        while place < classes.len() {
            let first = place;
            match (self, classes[place].1) {
                (Self::Punctuation, Class::Punctuation) => {
                    while is(place + 1, Class::Punctuation) {
                        place += 1;
                    }
                    matches.push((start_of(first), end_of(place)));
                }
                (Self::Digit, Class::Digit) => matches.push((classes[place].0, end_of(place))),
                (Self::Numbers, Class::Digit) => {
                    let mut next = place + 1;
                    while is(next, Class::Digit) || is(next, Class::Punctuation) {
                        if is(next, Class::Digit) {
                            place = next;
                        }
                        next += 1;
                    }
                    matches.push((start_of(first), end_of(place)));
                }
                (Self::Scripts, Class::Letter) => return Some(vec![(0, text.len())]),
                _ => {}
            }
            place += 1;
        }
        Some(matches)
    }
}

/// What a common character is for all boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// A Latin letter.
    Letter,
    /// `0` to `9`
    Digit,
    /// Punctuation or a symbol of ASCII.
    Punctuation,
    /// The word mark.
    Mark,
}

impl Class {
    /// The class of `c`; `None` if it may be anything else.
    fn of(c: char) -> Option<Self> {
        match c {
            'a'..='z' | 'A'..='Z' => Some(Self::Letter),
            '0'..='9' => Some(Self::Digit),
            '▁' => Some(Self::Mark),
            '×' | '÷' => None,
            'À'..='\u{24f}' => Some(Self::Letter),
            _ if c.is_ascii_punctuation() => Some(Self::Punctuation),
            _ => None,
        }
    }
}

impl Boundaries {
    /// All combinations.
    pub(super) fn all() -> [Self; 8] {
        std::array::from_fn(|n| Self { punctuation: n & 1 > 0, digits: n & 2 > 0, scripts: n & 4 > 0 })
    }

    /// The pre-tokenizer steps of `tokenizer.json` that divide words; each word begins with its mark.
    pub(super) fn pre_tokenizers(self) -> Vec<Value> {
        let mut steps = Vec::new();
        if self.punctuation {
            steps.push(Boundary::Punctuation);
        }
        if self.digits {
            steps.push(Boundary::Digit);
        }
        if self.scripts {
            steps.extend([Boundary::Numbers, Boundary::Scripts]);
        }
        let step = |boundary: Boundary| isolated(boundary.pattern());
        steps.into_iter().map(step).collect()
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
    use tokenizers::pattern::Pattern;

    use super::*;
    use crate::{Masks, Tokenizer, learn};

    /// The parts into which `text` is divided before tokens are looked up.
    fn parts(config: &TokenizerConfig, text: &str) -> Vec<String> {
        tokenizer(config, &[text]).pieces(text).unwrap()
    }

    fn tokenizer(config: &TokenizerConfig, texts: &[&str]) -> Tokenizer {
        let config = TokenizerConfig { min_frequency: 1, vocab_size: 300, ..config.clone() };
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
        let decomposed = TokenizerConfig { normalization: Normalization::None, ..default.clone() };
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
        assert_eq!(parts(&decomposed, marked).join("|"), "▁e\u{301}a|.\u{301}|b");
    }

    /// Texts of common characters are divided as the regular expressions divide them.
    #[test]
    fn plain_texts_are_divided_as_by_regular_expressions() {
        let characters: Vec<char> = ('\0'..='\u{250}').chain(['▁']).collect();
        let is_plain = |c: &&char| Class::of(**c).is_some();
        let plain: Vec<char> = characters.iter().filter(is_plain).copied().collect();
        assert!(plain.len() > 400);
        let mut random = attentive_base::random::Random::new(1, 0);
        let mut texts: Vec<String> = characters.iter().map(|c| format!("▁{c}")).collect();
        texts.push(String::new());
        for number in 0..4000 {
            // Letters are many, so half of the texts have few of them.
            let few = ['a', 'ä', '1', '7', '.', '-', '$', '▁'];
            let from = if number % 2 == 0 { &plain[..] } else { &few[..] };
            let len = random.below(9);
            texts.push((0..len).map(|_| from[random.below(from.len())]).collect());
        }
        for boundary in Boundary::ALL {
            for text in &texts {
                let Some(found) = boundary.plain_matches(text) else {
                    assert!(text.chars().any(|c| Class::of(c).is_none()));
                    continue;
                };
                let all = (&boundary.split().regex).find_matches(text).unwrap();
                let expected: Vec<Offsets> =
                    (all.into_iter()).filter_map(|(offsets, is_match)| is_match.then_some(offsets)).collect();
                assert_eq!(found, expected, "{boundary:?}: {text:?}");
                let mut parts = (&boundary).find_matches(text).unwrap();
                parts.retain(|(_, is_match)| *is_match);
                assert_eq!(parts.len(), expected.len());
            }
        }
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
            for boundaries in [(false, false, false), (true, false, true), (true, true, true)] {
                let (punctuation, digits, scripts) = boundaries;
                let config = TokenizerConfig { kind, ..only(punctuation, digits, scripts) };
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
                assert_eq!(tokenizer.decode(&ids).unwrap(), text);
            }
        }
    }

    #[test]
    fn divided_words_are_written_as_they_were() {
        let texts = [
            "A man walks down the street. It's 3.14 p.m. in the U.S., isn't it?",
            "well-known—or not… (see [1]) \"quoted\" 'single' 50% $20 a/b C++ #1",
            "日本語とiPhone15を買う。「はい」 中文,English混合 안녕하세요world!",
            "naïve cafe\u{301} नमस्ते دنیا می\u{200c}روم שלום 👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}!",
        ];
        for boundaries in Boundaries::all() {
            for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
                let config = TokenizerConfig {
                    kind,
                    normalization: Normalization::Nfc,
                    ..only(boundaries.punctuation, boundaries.digits, boundaries.scripts)
                };
                let tokenizer = tokenizer(&config, &texts);
                for text in texts {
                    let ids = tokenizer.encode(text).unwrap();
                    let expected = text.replace("e\u{301}", "é");
                    assert_eq!(tokenizer.decode(&ids).unwrap(), expected, "{config:?}");
                }
            }
        }
    }
}
