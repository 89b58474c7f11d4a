//! Corpora as token ids.

use std::fmt;

use rayon::prelude::*;

use super::corpus::{Corpus, Form, Pair};
use crate::batch::TokenId;
use crate::config::Task;
use crate::error::{Error, Result};
use crate::text::{SpecialTokens, Tokenizers};

/// A sentence pair, or what stands for one in another [`Form`], as the model reads it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Example {
    /// What the encoder reads: a source closed by `</s>`, or tokens.
    pub src: Vec<TokenId>,
    /// Vectors that the encoder reads in place of tokens, which then only tell how many they are.
    pub vectors: Vec<f32>,
    /// What the decoder reads: `<s>` and the target.
    pub tgt_in: Vec<TokenId>,
    /// What is to be predicted: the target closed by `</s>`, or tags.
    pub tgt_out: Vec<TokenId>,
    /// The line in the corpus, counted from 1.
    pub line: usize,
}

impl Example {
    /// A source without `</s>` and its translation without special tokens.
    pub fn translation(
        mut src: Vec<TokenId>,
        tgt: &[TokenId],
        special: SpecialTokens,
        line: usize,
    ) -> Self {
        src.push(special.eos);
        Self {
            src,
            line,
            ..Self::text(tgt, special, line)
        }
    }

    /// A text for a causal language model.
    pub fn text(tgt: &[TokenId], special: SpecialTokens, line: usize) -> Self {
        Self {
            tgt_in: [&[special.bos], tgt].concat(),
            tgt_out: [tgt, &[special.eos]].concat(),
            line,
            ..Self::default()
        }
    }

    /// A text for a masked language model, before anything is masked.
    pub fn whole(mut tgt: Vec<TokenId>, special: SpecialTokens, line: usize) -> Self {
        tgt.push(special.eos);
        Self {
            src: tgt.clone(),
            tgt_out: tgt,
            line,
            ..Self::default()
        }
    }

    /// Positions that the encoder reads.
    pub fn src_len(&self) -> usize {
        self.src.len()
    }

    /// Tokens to predict.
    pub fn tgt_len(&self) -> usize {
        self.tgt_out.len()
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
        write!(f, "{kept} lines encoded")?;
        match dropped_long {
            0 => Ok(()),
            _ => write!(
                f,
                ", {dropped_long} dropped with a side of more than {max_len} tokens"
            ),
        }
    }
}

/// Encodes all pairs, in parallel. Those with a side of more than `max_len` tokens, special ones counted, are dropped.
///
/// # Errors
/// [`Error::Data`] if that leaves nothing, if tags and what they label differ in number, if a tag is not in the
/// vocabulary, or if a tokenizer from another program cannot encode a text.
pub fn encode(
    corpus: &Corpus,
    form: Form,
    task: Task,
    tokenizers: &Tokenizers,
    max_len: usize,
) -> Result<(Vec<Example>, EncodeStats)> {
    let encoded: Vec<Option<Example>> = corpus
        .pairs
        .par_iter()
        .map(|pair| {
            let example = encode_pair(pair, form, task, tokenizers)?;
            let fits = example.src_len().max(example.tgt_len()) <= max_len;
            Ok(fits.then_some(example))
        })
        .collect::<Result<_>>()?;
    let examples: Vec<Example> = encoded.into_iter().flatten().collect();
    if examples.is_empty() {
        return Err(Error::Data {
            problem: format!(
                "every one of {} lines has a side of more than {max_len} tokens",
                corpus.pairs.len()
            ),
            hint: Some("raise `data.max_len` and `model.max_len`".into()),
        });
    }
    let stats = EncodeStats {
        kept: examples.len(),
        dropped_long: corpus.pairs.len() - examples.len(),
        max_len,
    };
    Ok((examples, stats))
}

/// A pair as the model reads it.
pub(super) fn encode_pair(
    pair: &Pair,
    form: Form,
    task: Task,
    tokenizers: &Tokenizers,
) -> Result<Example> {
    let tgt = tokenizers.tgt().encode(&pair.tgt)?;
    let special = tokenizers.tgt().special();
    match (form, task) {
        (Form::Translations, _) => {
            let src = tokenizers.src().encode(&pair.src)?;
            Ok(Example::translation(src, &tgt, special, pair.line))
        }
        (Form::TaggedTokens, _) => {
            let src = tokenizers.src().encode(&pair.src)?;
            tagged(src, Vec::new(), tgt, pair, special)
        }
        (Form::TaggedVectors(width), _) => {
            let places = vec![special.pad; pair.vectors.len() / width];
            tagged(places, pair.vectors.clone(), tgt, pair, special)
        }
        (Form::Lines | Form::Stream, Task::Fill) => Ok(Example::whole(tgt, special, pair.line)),
        (Form::Lines | Form::Stream, _) => Ok(Example::text(&tgt, special, pair.line)),
    }
}

fn tagged(
    src: Vec<TokenId>,
    vectors: Vec<f32>,
    tags: Vec<TokenId>,
    pair: &Pair,
    special: SpecialTokens,
) -> Result<Example> {
    let (line, n_src, n_tags) = (pair.line, src.len(), tags.len());
    if n_src != n_tags {
        return Err(Error::Data {
            problem: format!("line {line}: {n_tags} tags for {n_src} positions"),
            hint: Some("every token, or vector, has one tag; tags stand between blanks".into()),
        });
    }
    if let Some(place) = tags.iter().position(|&tag| tag == special.unk) {
        let tag = pair.tgt.split_whitespace().nth(place).unwrap_or_default();
        return Err(Error::Data {
            problem: format!("line {line}: unknown tag `{tag}`"),
            hint: Some("tags are learned from the training data: is it misspelled there or here, or rarer than `tokenizer.min_frequency`?".into()),
        });
    }
    Ok(Example {
        src,
        vectors,
        tgt_out: tags,
        line,
        ..Example::default()
    })
}
