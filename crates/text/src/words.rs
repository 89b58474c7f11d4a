//! Encoding word by word, with a cache of words.

use std::collections::HashMap;

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_config::TokenizerKind;
use serde_json::Value;
use tokenizers::NormalizedString;

use super::boundaries::Boundaries;
use super::format;
use super::tokenizer::{Tokenizer, WORD_MARK};

/// The maximum length of a cached word; longer words are seldom repeated.
const MAX_WORD_BYTES: usize = 64;
/// The maximum number of words in the caches of all threads. A full cache is emptied.
const MAX_CACHED_WORDS: usize = 1 << 18;
/// The maximum number of words in one cache.
const MAX_WORDS_PER_THREAD: usize = 1 << 16;

/// Encodes texts as their tokenizer does, but looks up words that it has encoded before. Each thread needs
/// its own cache, since it changes with each text.
#[derive(Clone, Debug)]
pub struct WordCache {
    tokenizer: Tokenizer,
    /// The conditions for dividing a text; `None` if no text can be divided.
    conditions: Option<Conditions>,
    words: HashMap<Box<str>, Box<[TokenId]>>,
    most: usize,
    /// For characters seen so far: true if NFKC turns the character into white space.
    spacing: HashMap<char, bool>,
}

/// The conditions under which a text is encoded like its words, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conditions {
    /// The text must not contain the mark that represents a space.
    unmarked: bool,
    /// The text must not contain other characters that NFKC turns into white space.
    solid: bool,
}

impl WordCache {
    /// Creates an empty cache, to be cloned for each of `threads`.
    pub fn new(tokenizer: &Tokenizer, threads: usize) -> Self {
        Self {
            tokenizer: tokenizer.clone(),
            conditions: Conditions::of(tokenizer),
            words: HashMap::new(),
            most: (MAX_CACHED_WORDS / threads.max(1)).min(MAX_WORDS_PER_THREAD),
            spacing: HashMap::new(),
        }
    }

    /// Returns the result of [`Tokenizer::encode`].
    ///
    /// # Errors
    /// See [`Tokenizer::encode`].
    pub fn encode(&mut self, text: &str) -> Result<Vec<TokenId>> {
        if !self.can_divide(text) {
            return self.tokenizer.encode(text);
        }
        let mut ids = Vec::new();
        for word in text.split_whitespace() {
            if let Some(known) = self.words.get(word) {
                ids.extend_from_slice(known);
                continue;
            }
            let new = self.tokenizer.encode(word)?;
            ids.extend_from_slice(&new);
            if word.len() <= MAX_WORD_BYTES {
                if self.words.len() >= self.most {
                    self.words.clear();
                }
                self.words.insert(word.into(), new.into());
            }
        }
        ids.shrink_to_fit();
        Ok(ids)
    }

    fn can_divide(&mut self, text: &str) -> bool {
        let Some(Conditions { unmarked, solid }) = self.conditions else {
            return false;
        };
        if text.is_ascii() {
            return true;
        }
        let mut others = text.chars().filter(|char| !char.is_ascii());
        let spacing = &mut self.spacing;
        others.all(|char| {
            let mut is_spacing = || *spacing.entry(char).or_insert_with(|| is_spacing(char));
            !(unmarked && char == WORD_MARK || solid && is_spacing())
        })
    }
}

/// Returns true if NFKC turns `char`, which is not white space, into white space.
fn is_spacing(char: char) -> bool {
    let mut text = NormalizedString::from(char.to_string());
    !char.is_whitespace() && text.nfkc().get().contains(char::is_whitespace)
}

impl Conditions {
    /// Recognizes tokenizers learned by this program, all of whose steps work on single words under these
    /// conditions.
    fn of(tokenizer: &Tokenizer) -> Option<Self> {
        let document: Value = serde_json::from_slice(tokenizer.to_json()).ok()?;
        let added = document["added_tokens"].as_array()?.iter();
        let special: Vec<&str> = added
            .filter(|token| token["special"] == true)
            .filter_map(|token| token["content"].as_str())
            .collect();
        let splits_as = |kind, boundaries| {
            let steps = format::pre_tokenizers(kind, boundaries, &special);
            document["pre_tokenizer"]["pretokenizers"] == Value::Array(steps)
        };
        let normalizers = document["normalizer"]["normalizers"].as_array()?;
        let is =
            |step: &Value, names: &[&str]| step["type"].as_str().is_some_and(|name| names.contains(&name));
        let spaces = format::space_normalizers();
        let ignorable = format::ignorable_normalizer();
        let is_known = |step: &Value| {
            is(step, &["NFC", "NFKC", "Lowercase"]) || spaces.contains(step) || *step == ignorable
        };
        let mut boundaries = Boundaries::all().into_iter();
        let is_subword = normalizers.ends_with(&spaces)
            && boundaries.any(|boundaries| splits_as(TokenizerKind::Bpe, boundaries));
        let is_word = splits_as(TokenizerKind::Word, Boundaries::default());
        let is_ours = document["post_processor"].is_null()
            && normalizers.iter().all(is_known)
            && (is_subword || is_word);
        is_ours
            .then(|| Self { unmarked: is_subword, solid: normalizers.iter().any(|step| is(step, &["NFKC"])) })
    }
}

#[cfg(test)]
mod tests {
    use attentive_base::random::Random;
    use attentive_config::{Normalization, TokenizerConfig};

    use super::*;
    use crate::{Masks, learn};

    /// Strings that could be encoded differently next to others: white space of all kinds, marks, combining
    /// characters, special tokens and their prefixes, characters that normalization changes.
    const PIECES: [&str; 51] = [
        " ", " ", " ", "  ", "\t", "\u{a0}", "\u{2003}", "\u{3000}", "\u{85}", "\n", "▁", "a", "b", "ab",
        "dog", "Dog", "é", "e\u{301}", "\u{301}", "\u{308}", "<s>", "<s", "</s>", "<pad>", "<", "[MASK]",
        "´", "ﬁ", "Σ", "ΑΣ", "ß", "İ", "한", "ᄒ", "ᅡ", "日本", "😀", "\u{200d}", "\u{ad}", "\u{200b}",
        "\u{200c}", "م", "\u{fe0f}", "❤", "क", "\u{1f}", "1", ".", "<x>", "<x", "«½",
    ];

    fn text(random: &mut Random) -> String {
        let n = random.below(14);
        (0..n).map(|_| PIECES[random.below(PIECES.len())]).collect()
    }

    #[test]
    fn words_are_encoded_as_in_their_text() {
        let mut random = Random::new(1, 2);
        let corpus: Vec<String> = (0..300).map(|_| text(&mut random)).collect();
        let corpus: Vec<&str> = corpus.iter().map(String::as_str).collect();
        // Each choice of boundaries, one after another.
        let mut split = 0..;
        for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Word, TokenizerKind::Char] {
            for normalization in [Normalization::None, Normalization::Nfc, Normalization::Nfkc] {
                for lowercase in [false, true] {
                    let split: usize = split.next().unwrap();
                    let config = TokenizerConfig {
                        split_punctuation: split & 1 == 0,
                        split_digits: split & 2 > 0,
                        split_by_script: split & 4 == 0,
                        kind,
                        normalization,
                        lowercase,
                        vocab_size: 80,
                        min_frequency: 1,
                        // In half of them.
                        symbols: ["<x>", "«½"].map(String::from)[..split % 2 * 2].to_vec(),
                        ..TokenizerConfig::default()
                    };
                    let learned = learn(&config, Masks::With, &corpus, &[]).unwrap();
                    let tokenizer = learned.src();
                    let mut cache = WordCache::new(tokenizer, 1);
                    let divides = cache.conditions.is_some();
                    assert_eq!(divides, kind != TokenizerKind::Char, "{kind:?}");
                    for _ in 0..1500 {
                        let text = text(&mut random);
                        let expected = tokenizer.encode(&text).unwrap();
                        assert_eq!(cache.encode(&text).unwrap(), expected, "{config:?}: {text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn only_few_characters_contain_spaces() {
        let spacing = ['¨', '¯', '´', '¸', '˘', 'ͺ', '΄', '‗', '゛', '￣'];
        assert!(spacing.into_iter().all(is_spacing));
        let solid = "äßéłžЖяαω„“–…’½½²日本한글😀\u{a0}\u{3000}";
        assert!(!solid.chars().any(is_spacing));
    }

    #[test]
    fn other_tokenizers_encode_whole_texts() {
        let config = TokenizerConfig { min_frequency: 1, ..TokenizerConfig::default() };
        let learned = learn(&config, Masks::Without, &["a dog"], &[]).unwrap();
        let of = |change: &dyn Fn(&mut Value)| {
            let mut document: Value = serde_json::from_slice(learned.src().to_json()).unwrap();
            change(&mut document);
            let json = serde_json::to_vec(&document).unwrap();
            Conditions::of(&Tokenizer::from_json(json, &attentive_config::SpecialNames::default()).unwrap())
        };
        let unchanged = Conditions { unmarked: true, solid: true };
        assert_eq!(of(&|_| ()), Some(unchanged));
        assert_eq!(of(&|document| document["normalizer"] = Value::Null), None);
        let scheme = "/pre_tokenizer/pretokenizers/0/prepend_scheme";
        let first = |document: &mut Value| *document.pointer_mut(scheme).unwrap() = "first".into();
        assert_eq!(of(&first), None);
    }

    #[test]
    fn words_are_forgotten_when_there_are_too_many() {
        let config =
            TokenizerConfig { kind: TokenizerKind::Word, min_frequency: 1, ..TokenizerConfig::default() };
        let learned = learn(&config, Masks::Without, &["a dog"], &[]).unwrap();
        let mut cache = WordCache::new(learned.src(), 1);
        for word in 0..MAX_WORDS_PER_THREAD + 10 {
            cache.encode(&word.to_string()).unwrap();
        }
        assert_eq!(cache.words.len(), 10);
    }
}
