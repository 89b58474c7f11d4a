//! The special tokens at the start of every vocabulary.

use crate::batch::TokenId;

/// The special tokens in the order of their ids. The last one is only used by masked language models.
const ALL: [&str; 5] = ["<pad>", "<unk>", "<s>", "</s>", MASK];

/// The special tokens of every vocabulary.
pub(super) const SPECIAL: &[&str] = ALL.split_at(4).0;

/// The special tokens of a masked language model's vocabulary.
pub(super) const SPECIAL_AND_MASK: &[&str] = &ALL;

/// The placeholder of a masked token.
pub const MASK: &str = "<mask>";

/// The id of `<unk>`.
pub(super) const UNK: TokenId = 1;

/// Ids of the special tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialTokens {
    /// Padding: `<pad>`.
    pub pad: TokenId,
    /// Unknown text: `<unk>`.
    pub unk: TokenId,
    /// Start of the decoder's input: `<s>`.
    pub bos: TokenId,
    /// End of a sequence: `</s>`.
    pub eos: TokenId,
    /// A masked token: `<mask>`.
    pub mask: Option<TokenId>,
}

impl SpecialTokens {
    /// Whether `id` is a special token.
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

    /// Looks up the ids with `id_of` and checks that they are 0 to 3, and 4 for `<mask>`; otherwise describes the
    /// problem.
    pub(super) fn read(id_of: impl Fn(&str) -> Option<TokenId>) -> Result<Self, String> {
        let mut ids = [0; 4];
        for (expected, (token, id)) in (0..).zip(SPECIAL.iter().zip(&mut ids)) {
            *id = match id_of(token) {
                Some(found) if found == expected => found,
                Some(found) => {
                    return Err(format!(
                        "special token `{token}` has id {found}, expected {expected}"
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
