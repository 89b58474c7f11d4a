//! Corpora as token ids.

use std::fmt;

use rayon::prelude::*;

use super::corpus::Corpus;
use crate::batch::TokenId;
use crate::error::{Error, Result};
use crate::text::Tokenizers;

/// A sentence pair as token ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedPair {
    /// The source, closed by `</s>`.
    pub src: Vec<TokenId>,
    /// The target, without `<s>` and `</s>`.
    pub tgt: Vec<TokenId>,
    /// The pair's line in the corpus, counted from 1.
    pub line: usize,
}

impl EncodedPair {
    /// Tokens of the source, with `</s>`.
    pub fn src_len(&self) -> usize {
        self.src.len()
    }

    /// Tokens that the decoder has to predict: the target and `</s>`.
    pub fn tgt_len(&self) -> usize {
        self.tgt.len() + 1
    }
}

/// What became of the pairs of a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeStats {
    /// Pairs that are kept.
    pub kept: usize,
    /// Pairs that were dropped because a side has too many tokens.
    pub dropped_long: usize,
    /// The most tokens that a side may have, with `</s>`.
    pub max_len: usize,
}

impl fmt::Display for EncodeStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kept,
            dropped_long,
            max_len,
        } = self;
        write!(f, "{kept} pairs encoded")?;
        match dropped_long {
            0 => Ok(()),
            _ => write!(
                f,
                ", {dropped_long} dropped with a side of more than {max_len} tokens"
            ),
        }
    }
}

/// Encodes both sides, in parallel. Pairs with a side of more than `max_len` tokens, `</s>` counted, are dropped.
///
/// # Errors
/// [`Error::Data`] if that leaves nothing, or if a tokenizer from another program cannot encode a text.
pub fn encode(
    corpus: &Corpus,
    tokenizers: &Tokenizers,
    max_len: usize,
) -> Result<(Vec<EncodedPair>, EncodeStats)> {
    let (src, tgt) = (tokenizers.src(), tokenizers.tgt());
    let eos = src.special().eos;
    let encoded: Vec<Option<EncodedPair>> = corpus
        .pairs
        .par_iter()
        .map(|pair| {
            let mut encoded = EncodedPair {
                src: src.encode(&pair.src)?,
                tgt: tgt.encode(&pair.tgt)?,
                line: pair.line,
            };
            // Without room for a sentence of twice the length.
            encoded.src.reserve_exact(1);
            encoded.src.push(eos);
            let fits = encoded.src_len().max(encoded.tgt_len()) <= max_len;
            Ok(fits.then_some(encoded))
        })
        .collect::<Result<_>>()?;
    let pairs: Vec<EncodedPair> = encoded.into_iter().flatten().collect();
    if pairs.is_empty() {
        return Err(Error::Data {
            problem: format!(
                "every one of {} sentence pairs has a side of more than {max_len} tokens",
                corpus.pairs.len()
            ),
            hint: Some("raise `data.max_len` and `model.max_len`".into()),
        });
    }
    let stats = EncodeStats {
        kept: pairs.len(),
        dropped_long: corpus.pairs.len() - pairs.len(),
        max_len,
    };
    Ok((pairs, stats))
}
