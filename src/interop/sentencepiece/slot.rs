//! Tokens of a vocabulary that is made from pieces.

use super::{Piece, Role};

/// Begins the names of tokens that no text contains, since it is no character.
const UNREACHABLE: char = '\u{10FFFF}';

/// A token of the new vocabulary.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) role: Role,
}

impl Slot {
    /// A token of the vocabulary that is no piece: a special one, that of a language, or a piece of the other side, which no text
    /// of this side contains.
    pub(super) fn foreign(text: &str) -> Self {
        let between = |open, close| text.starts_with(open) && text.ends_with(close);
        let role = match text {
            _ if between(">>", "<<") => Role::Language,
            _ if between("<", ">") || between("__", "__") => Role::Control,
            _ => Role::Unused,
        };
        Self::of(&Piece {
            text: text.to_owned(),
            score: 0.0,
            role,
        })
    }

    pub(super) fn of(piece: &Piece) -> Self {
        let text = match piece.role {
            Role::Unused => format!("{UNREACHABLE}{}", piece.text),
            _ => piece.text.clone(),
        };
        Self {
            text,
            score: piece.score,
            role: piece.role,
        }
    }
}
