//! Shortlists: the target tokens that are considered for a source sentence.

mod learn;
#[cfg(test)]
mod tests;

pub use learn::{ShortlistLimits, learn};

use std::ops::Range;

use attentive_base::batch::TokenId;

/// The likely translations of each source token, and the target tokens that any sentence may need. The output
/// projection of a sentence is computed only for the candidates of its tokens, which is faster, but changes
/// the output if the best token is not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortlist {
    /// The candidates of source token i are `candidates[ends[i - 1]..ends[i]]`.
    ends: Vec<u32>,
    candidates: Vec<TokenId>,
    /// The candidates of every sentence.
    always: Vec<TokenId>,
    /// The tokens of which the first ones that are no candidates make the number of candidates of a sentence
    /// a multiple of [`MULTIPLE`].
    padding: Range<TokenId>,
    tgt_vocab: usize,
}

/// The number of candidates of a sentence, if it is padded, is a multiple of this, as in Marian.
const MULTIPLE: usize = 8;

impl Shortlist {
    /// Creates a shortlist with the candidates `candidates[ends[i - 1]..ends[i]]` for source token i, and
    /// `always` for every sentence, for a target vocabulary of `tgt_vocab` tokens.
    ///
    /// # Errors
    /// Describes the problem if the ends do not divide the candidates, or if a candidate is not in the
    /// vocabulary.
    pub fn new(
        ends: Vec<u32>,
        candidates: Vec<TokenId>,
        always: Vec<TokenId>,
        tgt_vocab: usize,
    ) -> Result<Self, String> {
        let total = ends.last().copied().unwrap_or(0) as usize;
        if !ends.is_sorted() || total != candidates.len() {
            return Err("its candidates do not belong to its source tokens".into());
        }
        let mut all = candidates.iter().chain(&always);
        if let Some(token) = all.find(|&&token| token as usize >= tgt_vocab) {
            return Err(format!(
                "its candidate {token} is not in the target vocabulary of {tgt_vocab} tokens"
            ));
        }
        Ok(Self { ends, candidates, always, padding: 0..0, tgt_vocab })
    }

    /// The same list, in which the first of `tokens` that are no candidates make the number of candidates of
    /// a sentence a multiple of 8, as in Marian.
    ///
    /// # Errors
    /// Describes tokens that are not in the target vocabulary.
    pub fn padded(self, tokens: Range<TokenId>) -> Result<Self, String> {
        if tokens.end as usize > self.tgt_vocab {
            return Err(format!("its padding ends at token {}, which does not exist", tokens.end));
        }
        Ok(Self { padding: tokens, ..self })
    }

    /// Returns the tokens of [`Shortlist::padded`]; none if the list is not padded.
    pub fn padding(&self) -> Range<TokenId> {
        self.padding.clone()
    }

    /// Returns the number of source tokens.
    pub fn src_vocab(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of target tokens.
    pub fn tgt_vocab(&self) -> usize {
        self.tgt_vocab
    }

    /// Returns the ends, the candidates and the candidates of every sentence, as in [`Shortlist::new`].
    pub fn parts(&self) -> [&[u32]; 3] {
        [&self.ends, &self.candidates, &self.always]
    }

    /// Returns the distinct candidates of every sentence, in increasing order.
    pub fn always(&self) -> Vec<TokenId> {
        let mut always = self.always.clone();
        always.sort_unstable();
        always.dedup();
        always
    }

    /// Returns the candidates of source token `token`, likeliest first; none if it is unknown.
    pub fn of(&self, token: TokenId) -> &[TokenId] {
        let token = token as usize;
        let Some(&end) = self.ends.get(token) else {
            return &[];
        };
        let start = token.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.candidates[start as usize..end as usize]
    }

    /// Returns the distinct candidates of the sentence `src`, in increasing order.
    pub fn candidates(&self, src: &[TokenId]) -> Vec<TokenId> {
        let of_tokens = src.iter().flat_map(|&token| self.of(token));
        let mut all: Vec<TokenId> = of_tokens.chain(&self.always).copied().collect();
        all.sort_unstable();
        all.dedup();
        if self.padding.is_empty() {
            return all;
        }
        let missing = all.len().next_multiple_of(MULTIPLE) - all.len();
        let others = self.padding().filter(|token| all.binary_search(token).is_err());
        let padding: Vec<TokenId> = others.take(missing).collect();
        all.extend(padding);
        all.sort_unstable();
        all
    }
}
