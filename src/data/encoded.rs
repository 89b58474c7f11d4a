//! Corpora as token ids.

use std::fmt;

use rayon::prelude::*;

use super::corpus::{Corpus, Form, Pair};
use super::masking::can_be_hidden;
use crate::batch::TokenId;
use crate::config::Task;
use crate::count::count;
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
        // Without room for a sentence of twice the length.
        src.reserve_exact(1);
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
        tgt.reserve_exact(1);
        tgt.push(special.eos);
        Self {
            src: tgt.clone(),
            tgt_out: tgt,
            line,
            ..Self::default()
        }
    }

    /// Tokens to label, without their tags.
    pub fn tokens(src: Vec<TokenId>, line: usize) -> Self {
        Self {
            src,
            line,
            ..Self::default()
        }
    }

    /// Vectors of `width` numbers to label, one behind the other, without their tags.
    pub fn vectors(vectors: Vec<f32>, width: usize, special: SpecialTokens, line: usize) -> Self {
        Self {
            src: vec![special.pad; vectors.len() / width],
            vectors,
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
    /// Texts for a masked language model that were dropped because it could be asked for none of their tokens.
    pub dropped_unknown: usize,
    /// The most tokens that a side may have, with `</s>`.
    pub max_len: usize,
}

impl EncodeStats {
    /// Pairs that were dropped for whatever reason.
    pub fn dropped(&self) -> usize {
        self.dropped_long + self.dropped_unknown
    }

    /// What to say where no pair is kept.
    fn nothing_left(&self) -> Error {
        let (lines, max_len) = (self.dropped(), self.max_len);
        let (problem, hint) = match self.dropped_unknown {
            0 => (
                format!("every one of {lines} lines has a side of more than {max_len} tokens"),
                "raise `data.max_len` and `model.max_len`",
            ),
            _ => (
                format!(
                    "no line of {lines} has both a token that the vocabulary knows and at most {max_len} tokens"
                ),
                "give a text in the language that the tokenizer learned",
            ),
        };
        Error::Data {
            problem,
            hint: Some(hint.into()),
        }
    }
}

impl fmt::Display for EncodeStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kept,
            dropped_long,
            dropped_unknown,
            max_len,
        } = self;
        write!(f, "{} encoded", count(*kept, "line"))?;
        if *dropped_long > 0 {
            write!(
                f,
                ", {dropped_long} dropped with a side of more than {max_len} tokens"
            )?;
        }
        if *dropped_unknown > 0 {
            write!(f, ", {dropped_unknown} dropped without a known token")?;
        }
        Ok(())
    }
}

/// Encodes all pairs, in parallel. Those with a side of more than `max_len` tokens, special ones counted, are dropped, and
/// texts for a masked language model that hold nothing to hide ([`can_be_hidden`]).
///
/// # Errors
/// [`Error::Data`] if that leaves nothing, or if a tokenizer from another program cannot encode a text; [`Error::Line`] if
/// a tag is not in the vocabulary.
pub fn encode(
    corpus: &Corpus,
    form: Form,
    task: Task,
    tokenizers: &Tokenizers,
    max_len: usize,
) -> Result<(Vec<Example>, EncodeStats)> {
    let special = tokenizers.tgt().special();
    let asks = |example: &Example| {
        let mut tokens = example.tgt_out.iter();
        task != Task::Fill || tokens.any(|&token| can_be_hidden(token, special))
    };
    let encoded: Vec<Option<Example>> = corpus
        .pairs
        .par_iter()
        .map(|pair| {
            let example = encode_pair(pair, form, task, tokenizers)?;
            if task == Task::Tag {
                check_known(&example.tgt_out, pair, corpus, tokenizers)?;
            }
            let fits = example.src_len().max(example.tgt_len()) <= max_len;
            Ok(fits.then_some(example))
        })
        .collect::<Result<_>>()?;
    let mut examples: Vec<Example> = encoded.into_iter().flatten().collect();
    let fitting = examples.len();
    examples.retain(asks);
    let stats = EncodeStats {
        kept: examples.len(),
        dropped_long: corpus.pairs.len() - fitting,
        dropped_unknown: fitting - examples.len(),
        max_len,
    };
    if examples.is_empty() {
        return Err(stats.nothing_left());
    }
    Ok((examples, stats))
}

/// A pair as the model reads it.
fn encode_pair(pair: &Pair, form: Form, task: Task, tokenizers: &Tokenizers) -> Result<Example> {
    let (src, tgt) = (tokenizers.src(), tokenizers.tgt());
    let special = tgt.special();
    let line = pair.line;
    Ok(match (form, task) {
        (Form::Translations, _) => {
            let (src, tgt) = (src.encode(&pair.src)?, tgt.encode(&pair.tgt)?);
            Example::translation(src, &tgt, special, line)
        }
        (Form::TaggedTokens, _) => Example {
            tgt_out: tgt.encode_words(&pair.tgt)?,
            ..Example::tokens(src.encode_words(&pair.src)?, line)
        },
        (Form::TaggedVectors(width), _) => Example {
            tgt_out: tgt.encode_words(&pair.tgt)?,
            ..Example::vectors(pair.vectors.clone(), width, special, line)
        },
        (Form::Lines | Form::Stream, Task::Fill) => {
            Example::whole(tgt.encode(&pair.tgt)?, special, line)
        }
        (Form::Lines | Form::Stream, _) => Example::text(&tgt.encode(&pair.tgt)?, special, line),
    })
}

/// Refuses a tag that is not in the vocabulary.
fn check_known(
    tags: &[TokenId],
    pair: &Pair,
    corpus: &Corpus,
    tokenizers: &Tokenizers,
) -> Result<()> {
    let special = tokenizers.tgt().special();
    let Some(place) = tags.iter().position(|&tag| tag == special.unk) else {
        return Ok(());
    };
    let tag = pair.tgt.split_whitespace().nth(place).unwrap_or_default();
    let problem = format!(
        "the tag `{tag}` is none of those in the training data, as far as `tokenizer.vocab_size` has room for them"
    );
    Err(corpus.error(pair.line, problem))
}
