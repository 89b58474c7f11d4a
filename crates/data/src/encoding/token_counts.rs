//! Counts of tokens and of unknown ones.

use std::iter::Sum;

use attentive_base::batch::TokenId;
use attentive_text::SpecialTokens;
use serde::{Deserialize, Serialize};

/// The number of tokens of texts, and how many of them are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    /// Tokens, without special ones other than the unknown token.
    pub tokens: usize,
    /// Unknown tokens: `<unk>`.
    pub unknown: usize,
}

impl TokenCounts {
    /// Counts these tokens. If the unknown token has another meaning, too, none is counted as unknown.
    pub fn of(ids: &[TokenId], special: SpecialTokens) -> Self {
        let SpecialTokens { unk, pad, bos, eos, start, .. } = special;
        let tokens = ids.iter().filter(|&&id| id == unk || !special.contains(id));
        Self {
            tokens: tokens.count(),
            unknown: if [pad, bos, eos, start].contains(&unk) {
                0
            } else {
                ids.iter().filter(|&&id| id == unk).count()
            },
        }
    }

    /// The share of unknown tokens, from 0 to 1.
    pub fn unknown_share(self) -> f64 {
        self.unknown as f64 / self.tokens.max(1) as f64
    }
}

impl Sum for TokenCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, one| Self {
            tokens: sum.tokens + one.tokens,
            unknown: sum.unknown + one.unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::SPECIAL;

    #[test]
    fn unknown_tokens_are_counted_unless_the_token_has_another_meaning() {
        let counts = TokenCounts::of(&[2, 7, 1, 8, 1, 3], SPECIAL);
        assert_eq!((counts.tokens, counts.unknown), (4, 2));
        assert_eq!(counts.unknown_share(), 0.5);
        let also_end = SpecialTokens { unk: 3, ..SPECIAL };
        assert_eq!(TokenCounts::of(&[7, 3], also_end).unknown, 0);
        assert_eq!(TokenCounts::default().unknown_share(), 0.0);
    }
}
