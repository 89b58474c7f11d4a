//! Learning vocabularies from text. The same text and configuration give the same tokenizer, byte for byte.

mod bpe;
mod counts;
mod unigram;

use std::collections::BTreeSet;

use self::counts::Counts;
use super::format::{self, Model};
use super::special::SPECIAL;
use super::{Tokenizer, Tokenizers};
use crate::config::{TokenizerConfig, TokenizerKind, Vocabulary};
use crate::error::{Error, Result};

/// Learns the tokenizers of both sides from the training text.
///
/// Each vocabulary gets at most `vocab_size` tokens, special ones included; fewer if the text does not hold more that
/// occur `min_frequency` times.
///
/// # Errors
/// [`Error::Config`] if `vocab_size` has no room for the characters of the text (words that do not fit are just left
/// out); [`Error::Data`] if there is nothing to learn from.
pub fn learn<S: AsRef<str> + Sync>(
    config: &TokenizerConfig,
    src: &[S],
    tgt: &[S],
) -> Result<Tokenizers> {
    Ok(match config.vocabulary {
        Vocabulary::Shared => Tokenizers::Shared(learn_one(config, &[src, tgt])?),
        Vocabulary::Separate => Tokenizers::Separate {
            src: learn_one(config, &[src])?,
            tgt: learn_one(config, &[tgt])?,
        },
    })
}

fn learn_one<S: AsRef<str> + Sync>(config: &TokenizerConfig, texts: &[&[S]]) -> Result<Tokenizer> {
    let untrained = Model::Word { tokens: special() };
    let counts = Counts::of(texts, &build(config, &untrained)?)?;
    let model = match config.kind {
        TokenizerKind::Bpe => bpe::learn(config, &counts, &alphabet(config, &counts)?),
        TokenizerKind::Unigram => unigram::learn(config, &counts, &alphabet(config, &counts)?),
        TokenizerKind::Word => {
            let tokens = special()
                .into_iter()
                .chain(counts.frequent_words(config.min_frequency));
            Model::Word {
                tokens: tokens.take(config.vocab_size).collect(),
            }
        }
        TokenizerKind::Char => Model::Char {
            tokens: with_special(&alphabet(config, &counts)?),
        },
    };
    let tokenizer = build(config, &model)?;
    if tokenizer.vocab_size() == SPECIAL.len() {
        return Err(Error::Data {
            problem: format!(
                "nothing to learn a vocabulary from: no token occurs {} times in the training text",
                config.min_frequency
            ),
            hint: Some("add text, or lower `tokenizer.min_frequency`".into()),
        });
    }
    Ok(tokenizer)
}

fn build(config: &TokenizerConfig, model: &Model) -> Result<Tokenizer> {
    let json = format!("{:#}\n", format::document(config, model));
    Tokenizer::from_json(json.into_bytes()).map_err(|problem| Error::Data {
        problem: format!("cannot make a tokenizer of the training text: {problem}"),
        hint: None,
    })
}

/// The characters that get a token each.
fn alphabet(config: &TokenizerConfig, counts: &Counts) -> Result<BTreeSet<char>> {
    let alphabet = counts.alphabet(config.min_frequency);
    let needed = SPECIAL.len() + alphabet.len();
    if needed > config.vocab_size {
        return Err(Error::Config {
            key: "tokenizer.vocab_size".into(),
            expected: format!(
                "at least {needed}, as the text has {} different characters beside the {} special tokens",
                alphabet.len(),
                SPECIAL.len()
            ),
            found: config.vocab_size.to_string(),
            hint: Some(
                "raise it, or raise `tokenizer.min_frequency` to leave out rare characters".into(),
            ),
        });
    }
    Ok(alphabet)
}

/// The special tokens, with which every vocabulary begins.
fn special() -> Vec<String> {
    SPECIAL.map(str::to_owned).to_vec()
}

fn with_special(alphabet: &BTreeSet<char>) -> Vec<String> {
    special()
        .into_iter()
        .chain(alphabet.iter().map(char::to_string))
        .collect()
}
