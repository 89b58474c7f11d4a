//! Random segmentations of texts that are already encoded, to see a word in other pieces in each epoch.

mod merges;
mod pieces;

use attentive_base::batch::TokenId;
use attentive_base::random::Random;
use serde::Deserialize;

use self::merges::Merges;
use self::pieces::Pieces;
use crate::tokenizer::Tokenizer;
use crate::word_marks::WordMarks;

/// Draws other segmentations of tokens, word by word. It needs the tokens alone, not their text.
#[derive(Clone, Debug)]
pub struct SubwordSampler {
    words: WordMarks,
    method: Method,
}

#[derive(Clone, Debug)]
enum Method {
    Merges(Merges),
    Pieces(Pieces),
}

/// How words are segmented anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SubwordSampling {
    /// BPE-dropout (Provilkov et al. 2020, algorithm 1): at each step, each of the possible merges is left
    /// out with this probability.
    BpeDropout(f64),
    /// Sampling from all segmentations, each with its probability under the unigram model to the power of
    /// this exponent (Kudo 2018, section 3.2).
    UnigramAlpha(f64),
}

/// A tokenizer file with a `model` section of some kind.
#[derive(Deserialize)]
struct WithModel<M> {
    model: M,
}

impl SubwordSampler {
    /// Returns the sampler for the tokens of `tokenizer`. Describes the problem if it has no merges, or no
    /// pieces with probabilities.
    pub fn new(tokenizer: &Tokenizer, sampling: SubwordSampling) -> Result<Self, String> {
        let json = tokenizer.to_json();
        let tokens: Vec<String> = (0..tokenizer.vocab_size() as TokenId)
            .map(|id| tokenizer.token(id).unwrap_or_default())
            .collect();
        let words = WordMarks::of(tokenizer)?;
        let method = match sampling {
            SubwordSampling::BpeDropout(dropout) => {
                let WithModel { model } =
                    read::<merges::MergesSection>(json).map_err(|_| "it has no merges")?;
                Method::Merges(Merges::new(model, &tokens, words.prefix(), dropout))
            }
            SubwordSampling::UnigramAlpha(alpha) => {
                let WithModel { model } = read(json).map_err(|_| "its pieces have no probabilities")?;
                let is_special = |id| tokenizer.is_special(id) || tokenizer.is_byte(id);
                Method::Pieces(Pieces::new(model, &tokens, is_special, alpha)?)
            }
        };
        Ok(Self { words, method })
    }

    /// Returns another segmentation of the text of `ids`. Special tokens stay as they are.
    pub fn sample(&self, ids: &[TokenId], random: &mut Random) -> Vec<TokenId> {
        let mut sampled = Vec::with_capacity(ids.len() + ids.len() / 2);
        for word in self.words.divided(ids) {
            match &self.method {
                Method::Merges(merges) => merges.sample(word, random, &mut sampled),
                Method::Pieces(pieces) => pieces.sample(word, random, &mut sampled),
            }
        }
        sampled
    }
}

fn read<'a, M: Deserialize<'a>>(json: &'a [u8]) -> Result<WithModel<M>, String> {
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
