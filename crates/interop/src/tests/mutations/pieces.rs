//! Models of SentencePiece with few pieces.

use std::fs;

use super::writers::fixtures;

/// A model of SentencePiece with few pieces.
pub(super) struct Pieces {
    pub(super) file: Vec<u8>,
    pub(super) texts: Vec<String>,
}

impl Pieces {
    /// The special pieces, the bytes, and the pieces of a few letters of the fixture `name`.
    pub(super) fn of(name: &str) -> Self {
        let path = fixtures().join("sentencepiece").join(format!("{name}.model"));
        let whole = fs::read(path).unwrap();
        let (mut file, mut texts) = (Vec::new(), Vec::new());
        let mut rest = &whole[..];
        // A piece is a message of less than 128 bytes that begins with its text.
        while let [0x0a, len, behind @ ..] = rest {
            let (message, behind) = behind.split_at(usize::from(*len));
            let text = std::str::from_utf8(&message[2..2 + usize::from(message[1])]).unwrap();
            let few = |letter| "▁thesandog".contains(letter);
            if text.starts_with('<') || text.chars().all(few) {
                file.extend(&rest[..2 + message.len()]);
                texts.push(text.to_owned());
            }
            rest = behind;
        }
        file.extend(rest);
        Self { file, texts }
    }
}
