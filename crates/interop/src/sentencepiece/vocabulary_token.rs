//! Tokens of a vocabulary that consists of pieces.

use attentive_text::{UNKNOWN_SPELLING, UNREACHABLE};

use super::{Piece, Role};

/// A token of the new vocabulary.
#[derive(Clone, Debug)]
pub(super) struct VocabularyToken {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) role: Role,
}

impl VocabularyToken {
    /// Returns a token of the vocabulary that is not a piece: a special token, a language, or a piece of the
    /// other side, which stands for unknown text of this side that is spelled like it.
    pub(super) fn foreign(text: &str) -> Self {
        let between = |open, close| text.starts_with(open) && text.ends_with(close);
        let role = match text {
            _ if between(">>", "<<") => Role::Language,
            _ if between("<", ">") || between("__", "__") => Role::Control,
            _ => Role::Unused,
        };
        let text = match role {
            Role::Unused => format!("{UNKNOWN_SPELLING}{text}"),
            _ => text.to_owned(),
        };
        let score = 0.0;
        Self { text, score, role }
    }

    pub(super) fn of(piece: &Piece) -> Self {
        let text = match piece.role {
            Role::Unused => format!("{UNREACHABLE}{}", piece.text),
            _ => piece.text.clone(),
        };
        Self { text, score: piece.score, role: piece.role }
    }
}
