//! The special tokens of a vocabulary.

use attentive_base::batch::TokenId;
use attentive_config::SpecialNames;

/// The special tokens of learned vocabularies in the order of their ids. Only masked language models have the
/// last.
const ALL: [&str; 5] = ["<pad>", "<unk>", "<s>", "</s>", MASK];

/// The special tokens of every vocabulary; learned vocabularies begin with them.
pub(super) const SPECIAL: &[&str] = ALL.split_at(4).0;

/// The special tokens of a masked language model's vocabulary.
pub(super) const SPECIAL_AND_MASK: &[&str] = &ALL;

/// The placeholder of a masked token.
pub const MASK: &str = "<mask>";

/// The id of `<unk>` in learned vocabularies.
pub(super) const UNK: TokenId = 1;

/// Ids of the special tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialTokens {
    /// Padding: `<pad>`.
    pub pad: TokenId,
    /// Unknown text: `<unk>`.
    pub unk: TokenId,
    /// Begins a sentence: `<s>`.
    pub bos: TokenId,
    /// End of a sequence: `</s>`.
    pub eos: TokenId,
    /// A masked token: `<mask>`.
    pub mask: Option<TokenId>,
    /// The token that a decoder reads first: `<s>`, unless `model.decoder_start_token` names another one.
    pub start: TokenId,
    /// The token that an encoder reads before every text: `model.source_first`.
    pub first: Option<TokenId>,
    /// The token with which every translation begins: `model.forced_bos_token`.
    pub forced: Option<TokenId>,
    /// The token that an encoder reads after the end of every text: `model.source_last`.
    pub last: Option<TokenId>,
}

impl SpecialTokens {
    /// Returns true if `id` is one of [`SpecialTokens::ids`].
    pub fn contains(self, id: TokenId) -> bool {
        self.ids().any(|special| special == id)
    }

    /// The number of tokens of a vocabulary of `vocab_size` tokens that are not special.
    pub fn n_ordinary(self, vocab_size: usize) -> usize {
        vocab_size - self.ids().count()
    }

    /// The `n`-th token that is not special, counted from 0 in the order of ids.
    pub fn ordinary(self, n: usize) -> TokenId {
        let mut special: Vec<TokenId> = self.ids().collect();
        special.sort_unstable();
        let after = |id: TokenId, special: &TokenId| id + TokenId::from(*special <= id);
        special.iter().fold(n as TokenId, after)
    }

    /// Returns the ids of the special tokens. The tokens of the model's configuration
    /// ([`SpecialTokens::start`] and those after it) may be any tokens, and are not included.
    pub fn ids(self) -> impl Iterator<Item = TokenId> {
        let Self { pad, unk, bos, eos, mask, start: _, first: _, forced: _, last: _ } = self;
        [pad, unk, bos, eos].into_iter().chain(mask)
    }

    /// Frames `text`, a source without special tokens, with the tokens that an encoder reads around it.
    pub fn framed(self, mut text: Vec<TokenId>) -> Vec<TokenId> {
        // Avoids reserving twice the length of the text.
        text.reserve_exact(self.n_frame());
        if let Some(first) = self.first {
            text.insert(0, first);
        }
        text.push(self.eos);
        text.extend(self.last);
        text
    }

    /// Returns the number of tokens that [`SpecialTokens::framed`] adds.
    pub fn n_frame(self) -> usize {
        self.n_first() + self.n_last()
    }

    /// Returns the number of tokens that [`SpecialTokens::framed`] adds before the text.
    pub fn n_first(self) -> usize {
        usize::from(self.first.is_some())
    }

    /// Returns the number of tokens that [`SpecialTokens::framed`] adds after the text.
    pub fn n_last(self) -> usize {
        1 + usize::from(self.last.is_some())
    }

    /// Looks up the ids of the tokens `names` with `id_of`; on failure, describes the problem.
    pub(super) fn read(
        names: &SpecialNames,
        id_of: impl Fn(&str) -> Option<TokenId>,
    ) -> Result<Self, String> {
        let id = |token: &str| id_of(token).ok_or_else(|| format!("special token `{token}` is missing"));
        let bos = id(&names.bos)?;
        Ok(Self {
            pad: id(&names.pad)?,
            unk: id(&names.unk)?,
            bos,
            eos: id(&names.eos)?,
            mask: id_of(&names.mask),
            start: bos,
            first: None,
            forced: None,
            last: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_tokens_are_counted_around_the_special_ones() {
        let special = SpecialTokens {
            pad: 9,
            unk: 1,
            bos: 2,
            eos: 0,
            mask: Some(5),
            start: 3,
            first: None,
            forced: None,
            last: None,
        };
        let all: Vec<TokenId> = (0..10).filter(|&id| !special.contains(id)).collect();
        assert_eq!(special.n_ordinary(10), all.len());
        let counted: Vec<TokenId> = (0..all.len()).map(|n| special.ordinary(n)).collect();
        assert_eq!(counted, all);
    }
}
