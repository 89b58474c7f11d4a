//! Shortlists in text format, compressed or not. Each line has a target token, a source token, and the
//! probability of the former given the latter.

use std::path::Path;
use std::str::FromStr;

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_data::{Line, Lines};
use attentive_model::shortlist::Shortlist;
use attentive_text::{Tokenizer, Tokenizers};

use crate::keys::not_understood;

/// The maximum length of a line, in bytes.
const LONGEST: usize = 1 << 16;
/// The word that stands for no alignment.
const NONE: &str = "NULL";

/// A candidate, the source token that may need it, and its probability.
#[derive(Clone, Copy, Debug)]
struct Pair {
    src: TokenId,
    tgt: TokenId,
    probability: f32,
}

/// Limits of the candidates, as in the option `shortlist`: path, first, best, prune.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// The number of the most frequent target tokens that are candidates of every sentence.
    first: usize,
    /// The maximum number of candidates of a source token.
    best: usize,
    /// The probability that candidates must exceed.
    threshold: f32,
}

impl Limits {
    /// Reads the limits in `words`; missing ones are Marian's defaults.
    fn of(words: &[String]) -> Option<Self> {
        Some(Self {
            first: parsed(words.first(), 100)?,
            best: parsed(words.get(1), 100)?,
            threshold: parsed(words.get(2), 0.0)?,
        })
    }
}

/// The value of a word, or `usual` if it is missing.
fn parsed<T: FromStr>(word: Option<&String>, usual: T) -> Option<T> {
    match word {
        Some(word) => word.parse().ok(),
        None => Some(usual),
    }
}

/// See [`super::read`].
pub(super) fn read(
    path: &Path,
    limits: &[String],
    [src_vocab, tgt_vocab]: [usize; 2],
    shared: bool,
    tokenizers: &Tokenizers,
) -> Result<Shortlist> {
    let limits = Limits::of(limits).ok_or_else(|| {
        let problem = format!("its limits are {limits:?}, not three numbers: first, best, prune");
        not_understood(path, problem)
    })?;
    let id = |tokenizer: &Tokenizer, vocab: usize, word: &str| {
        let known = tokenizer.id(word).filter(|&id| (id as usize) < vocab - 1);
        known.unwrap_or(tokenizer.special().unk)
    };
    regular_file::require(path).map_err(Error::io("read", path))?;
    let mut lines = Lines::open(path, LONGEST)?;
    let mut pairs = Vec::new();
    while let Some(line) = lines.next_line()? {
        let words: Vec<&str> = match line {
            Line::Text(text) => text.split_ascii_whitespace().collect(),
            Line::TooLong => Vec::new(),
        };
        let read = match words[..] {
            [tgt, src, probability] => Some((tgt, src)).zip(probability.parse().ok()),
            _ => None,
        };
        let Some(((tgt, src), probability)) = read else {
            return Err(Error::Line {
                path: path.to_path_buf(),
                line: lines.count(),
                problem: format!(
                    "expected a target token, a source token and a probability, in at most {LONGEST} bytes"
                ),
            });
        };
        if tgt != NONE && src != NONE {
            pairs.push(Pair {
                src: id(tokenizers.src(), src_vocab, src),
                tgt: id(tokenizers.tgt(), tgt_vocab, tgt),
                probability,
            });
        }
    }
    let (mut ends, mut all) = (Vec::with_capacity(src_vocab), Vec::new());
    let mut by_token = best(pairs, limits).into_iter().peekable();
    for token in 0..src_vocab as TokenId {
        while let Some(pair) = by_token.next_if(|pair| pair.src == token) {
            all.push(pair.tgt);
        }
        let has_copy = shared && (token as usize) < tgt_vocab - 1;
        all.extend(has_copy.then_some(token));
        ends.push(all.len() as u32);
    }
    let frequent = limits.first.min(tgt_vocab - 1) as TokenId;
    let eos = tokenizers.tgt().special().eos;
    let always = (0..frequent).chain((eos >= frequent).then_some(eos));
    let list = Shortlist::new(ends, all, always.collect(), tgt_vocab);
    // All but the added token.
    let padded = list.and_then(|list| list.padded(frequent..tgt_vocab as TokenId - 1));
    padded.map_err(|problem| not_understood(path, problem))
}

/// Selects the candidates within the limits, sorted by source token and then by probability. If a pair has
/// several probabilities, the last one is used.
fn best(mut pairs: Vec<Pair>, limits: Limits) -> Vec<Pair> {
    pairs.reverse();
    pairs.sort_by_key(|pair| (pair.src, pair.tgt));
    pairs.dedup_by_key(|pair| (pair.src, pair.tgt));
    pairs.retain(|pair| pair.probability > limits.threshold);
    pairs.sort_by(|one, other| {
        let by_probability = other.probability.total_cmp(&one.probability);
        { one.src.cmp(&other.src) }.then(by_probability).then(other.tgt.cmp(&one.tgt))
    });
    let mut n_of_token = 0;
    let mut token = None;
    pairs.retain(|pair| {
        n_of_token = if token == Some(pair.src) { n_of_token + 1 } else { 1 };
        token = Some(pair.src);
        n_of_token <= limits.best
    });
    pairs
}
