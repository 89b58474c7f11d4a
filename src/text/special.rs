//! The special tokens that stand at the front of every vocabulary.

use crate::batch::TokenId;

/// The special tokens in the order of their ids: `<pad>`, `<unk>`, `<s>`, `</s>`.
pub(super) const SPECIAL: [&str; 4] = ["<pad>", "<unk>", "<s>", "</s>"];

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
}

impl SpecialTokens {
    /// Asks `id_of` for the ids and checks that they are 0 to 3; else says what is wrong.
    pub(super) fn read(id_of: impl Fn(&str) -> Option<TokenId>) -> Result<Self, String> {
        let mut ids = [0; SPECIAL.len()];
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
        Ok(Self { pad, unk, bos, eos })
    }
}
