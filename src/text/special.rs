//! The special tokens that stand at the front of every vocabulary.

use crate::batch::TokenId;

/// The special tokens in the order of their ids. Only masked language models have the last.
const ALL: [&str; 5] = ["<pad>", "<unk>", "<s>", "</s>", MASK];

/// The special tokens of every vocabulary.
pub(super) const SPECIAL: &[&str] = ALL.split_at(4).0;

/// Those of a masked language model's vocabulary.
pub(super) const SPECIAL_AND_MASK: &[&str] = &ALL;

/// Stands for a hidden token.
pub const MASK: &str = "<mask>";

/// The id of `<unk>`.
pub(super) const UNK: TokenId = 1;

/// The ids of the special tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialTokens {
    /// Fills rows up: `<pad>`.
    pub pad: TokenId,
    /// Stands for what the vocabulary does not know: `<unk>`.
    pub unk: TokenId,
    /// Begins what the decoder reads: `<s>`.
    pub bos: TokenId,
    /// Ends a sentence: `</s>`.
    pub eos: TokenId,
    /// Hides a token from a masked language model: `<mask>`.
    pub mask: Option<TokenId>,
}

impl SpecialTokens {
    /// Whether `id` is one of them.
    pub fn contains(self, id: TokenId) -> bool {
        let Self {
            pad,
            unk,
            bos,
            eos,
            mask,
        } = self;
        [pad, unk, bos, eos].contains(&id) || mask == Some(id)
    }

    /// Asks `id_of` for the ids and checks that they are 0 to 3, and 4 for `<mask>`; else says what is wrong.
    pub(super) fn read(id_of: impl Fn(&str) -> Option<TokenId>) -> Result<Self, String> {
        let mut ids = [0; 4];
        for (expected, (token, id)) in (0..).zip(SPECIAL.iter().zip(&mut ids)) {
            *id = match id_of(token) {
                Some(found) if found == expected => found,
                Some(found) => {
                    return Err(format!(
                        "special token `{token}` has id {found}, not {expected}"
                    ));
                }
                None => return Err(format!("special token `{token}` is missing")),
            };
        }
        let [pad, unk, bos, eos] = ids;
        let mask = id_of(MASK).filter(|&id| id as usize == SPECIAL.len());
        Ok(Self {
            pad,
            unk,
            bos,
            eos,
            mask,
        })
    }
}
