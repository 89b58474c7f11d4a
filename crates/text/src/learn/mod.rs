//! Vocabulary learning. The same text and configuration give the same tokenizer, byte for byte.

mod bpe;
mod unigram;
mod word_frequencies;

use std::collections::BTreeSet;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_config::{Normalization, SpecialNames, TokenizerConfig, TokenizerKind, Vocabulary};

use self::word_frequencies::WordFrequencies;
use super::format::{self, LearnedModel};
use super::lines;
use super::special::{SPECIAL, SPECIAL_AND_MASK};
use super::{Tokenizer, Tokenizers};

/// The special tokens of a vocabulary besides `<pad>`, `<unk>`, `<s>` and `</s>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masks {
    /// No further special token.
    Without,
    /// The token `<mask>`.
    With,
}

/// Learns the tokenizers of both sides from the training text. Without source text, there is one shared
/// vocabulary.
///
/// Each vocabulary has at most `vocab_size` tokens, including special ones; it has fewer if not enough tokens
/// occur `min_frequency` times.
///
/// # Errors
/// [`Error::Config`] if `vocab_size` is too small for the characters of the text (words that do not fit are
/// left out); [`Error::Data`] if there is nothing to learn from.
pub fn learn<S: AsRef<str> + Sync>(
    config: &TokenizerConfig,
    masks: Masks,
    src: &[S],
    tgt: &[S],
) -> Result<Tokenizers> {
    let special = match masks {
        Masks::Without => SPECIAL,
        Masks::With => SPECIAL_AND_MASK,
    };
    let special = &with_symbols(special, config)[..];
    Ok(match config.vocabulary {
        Vocabulary::Separate if !src.is_empty() => Tokenizers::Separate {
            src: learn_one(config, special, &[src])?,
            tgt: learn_one(config, special, &[tgt])?,
        },
        Vocabulary::Shared | Vocabulary::Separate => {
            Tokenizers::Shared(learn_one(config, special, &[src, tgt])?)
        }
    })
}

/// Learns the tokenizers of a tagger or classifier: the configured one for tokens or texts, and one of
/// unmodified whole words for tags or labels. Without tokens, only the latter is learned.
///
/// # Errors
/// See [`learn`].
pub fn learn_tagged<S: AsRef<str> + Sync>(
    config: &TokenizerConfig,
    tokens: &[S],
    tags: &[S],
) -> Result<Tokenizers> {
    let tgt = learn_labels(config, tags)?;
    if tokens.is_empty() {
        return Ok(Tokenizers::Shared(tgt));
    }
    let src = learn_one(config, &with_symbols(SPECIAL, config), &[tokens])?;
    Ok(Tokenizers::Separate { src, tgt })
}

/// Learns the tokenizer of tags or labels, which are unmodified whole words.
///
/// # Errors
/// See [`learn`].
pub fn learn_labels<S: AsRef<str> + Sync>(config: &TokenizerConfig, labels: &[S]) -> Result<Tokenizer> {
    let as_written = TokenizerConfig {
        kind: TokenizerKind::Word,
        min_frequency: 1,
        lowercase: false,
        normalization: Normalization::None,
        symbols: Vec::new(),
        ..config.clone()
    };
    learn_one(&as_written, SPECIAL, &[labels])
}

/// The tokens with which a vocabulary begins: `special` ones, and the symbols of the configuration.
fn with_symbols<'a>(special: &[&'a str], config: &'a TokenizerConfig) -> Vec<&'a str> {
    special.iter().copied().chain(config.symbols.iter().map(String::as_str)).collect()
}

/// Learns the vocabulary of `texts`, which begins with the tokens `special`.
fn learn_one<S: AsRef<str> + Sync>(
    config: &TokenizerConfig,
    special: &[&str],
    texts: &[&[S]],
) -> Result<Tokenizer> {
    let owned = || special.iter().map(|&token| token.to_owned());
    let untrained = LearnedModel::Word { tokens: owned().collect() };
    let frequencies = WordFrequencies::of(texts, &build(config, special, &untrained)?, &config.symbols)?;
    let alphabet = || alphabet(config, special, &frequencies);
    let model = match config.kind {
        TokenizerKind::Bpe => bpe::learn(config, special, &frequencies, &alphabet()?),
        TokenizerKind::Unigram => unigram::learn(config, special, &frequencies, &alphabet()?),
        TokenizerKind::Word => {
            let tokens = owned().chain(frequencies.frequent_words(config.min_frequency));
            LearnedModel::Word { tokens: tokens.take(config.vocab_size).collect() }
        }
        TokenizerKind::Char => LearnedModel::Char { tokens: with_special(special, &alphabet()?) },
    };
    check_symbols(config, &model)?;
    let tokenizer = build(config, special, &model)?;
    if tokenizer.vocab_size() == special.len() {
        return Err(Error::data(
            format!(
                "cannot learn a vocabulary: no token occurs {} in the training text",
                count(config.min_frequency as usize, "time")
            ),
            "add text, or lower `tokenizer.min_frequency`",
        ));
    }
    Ok(tokenizer)
}

/// Refuses symbols that the text yields, too, after its normalization.
fn check_symbols(config: &TokenizerConfig, model: &LearnedModel) -> Result<()> {
    let tokens: Vec<&str> = match model {
        LearnedModel::Bpe { tokens, .. } | LearnedModel::Word { tokens } | LearnedModel::Char { tokens } => {
            tokens.iter().map(String::as_str).collect()
        }
        LearnedModel::Unigram { tokens } => tokens.iter().map(|(token, _)| token.as_str()).collect(),
    };
    let is_learned = |symbol: &&String| tokens.iter().filter(|token| *token == symbol).count() > 1;
    match config.symbols.iter().find(is_learned) {
        None => Ok(()),
        Some(symbol) => Err(Error::config(
            "tokenizer.symbols",
            "tokens that no text yields when it is normalized, such as `<a>`",
            format!("`{symbol}`"),
        )),
    }
}

fn build(config: &TokenizerConfig, special: &[&str], model: &LearnedModel) -> Result<Tokenizer> {
    let json = lines::text(&format::document(config, special, model));
    Tokenizer::from_json(json.into_bytes(), &SpecialNames::default()).map_err(|problem| Error::Data {
        problem: format!("cannot build a tokenizer from the training text: {problem}"),
        hint: None,
    })
}

/// The characters that become tokens.
fn alphabet(
    config: &TokenizerConfig,
    special: &[&str],
    frequencies: &WordFrequencies,
) -> Result<BTreeSet<char>> {
    let alphabet = frequencies.alphabet(config.min_frequency);
    let needed = special.len() + alphabet.len();
    if needed > config.vocab_size {
        return Err(Error::Config {
            key: "tokenizer.vocab_size".into(),
            expected: format!(
                "at least {needed}, since the text has {} distinct characters and there are {} special \
                 tokens",
                alphabet.len(),
                special.len()
            ),
            found: config.vocab_size.to_string(),
            hint: Some("raise it, or raise `tokenizer.min_frequency` to leave out rare characters".into()),
        });
    }
    Ok(alphabet)
}

/// The special tokens, which come first in every vocabulary, followed by the characters.
fn with_special(special: &[&str], alphabet: &BTreeSet<char>) -> Vec<String> {
    let special = special.iter().map(|&token| token.to_owned());
    special.chain(alphabet.iter().map(char::to_string)).collect()
}
