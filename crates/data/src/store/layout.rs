//! The parts of an example that are stored.

use attentive_base::batch::TokenId;
use attentive_base::body::Body;
use serde::{Deserialize, Serialize};

use crate::batching::budget::ExampleLengths;
use crate::encoding::example::{EncoderInput, Example};

/// The parts of an example that are stored. The others follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExampleLayout {
    /// A target, from which the decoder's input follows, and its source, if there is one.
    Decoded,
    /// A text whose tokens will be masked.
    Masked,
}

impl ExampleLayout {
    /// The stored tokens of each side.
    pub(super) fn stored(self, example: &Example) -> [&[TokenId]; 2] {
        match self {
            Self::Decoded => [example.src(), &example.tgt_out],
            Self::Masked => [&[], &example.tgt_out],
        }
    }

    /// The example with these stored tokens. The decoder's input begins with `start`.
    pub(super) fn example(
        self,
        src: Vec<TokenId>,
        tgt: Vec<TokenId>,
        start: TokenId,
        line: usize,
    ) -> Example {
        let kept = tgt.len().saturating_sub(1);
        let tgt_in = || [&[start], &tgt[..kept]].concat();
        let inputs = match self {
            // A source has at least `</s>`.
            Self::Decoded if src.is_empty() => Body::Decoder(tgt_in()),
            Self::Decoded => Body::EncoderDecoder(EncoderInput::Tokens(src), tgt_in()),
            Self::Masked => Body::Encoder(EncoderInput::Tokens(tgt.clone())),
        };
        Example { inputs, tgt_out: tgt, line, weight: 1.0 }
    }

    /// The lengths of an example with these numbers of stored tokens.
    pub(super) fn lengths(self, src: usize, tgt: usize) -> ExampleLengths {
        match self {
            Self::Decoded => ExampleLengths { tgt, src },
            Self::Masked => ExampleLengths { tgt, src: tgt },
        }
    }
}

/// The size of a stored token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Two,
    Four,
}

impl Width {
    /// The smallest width for a vocabulary.
    pub(super) fn of_vocabulary(size: usize) -> Self {
        match size {
            0..=0x1_0000 => Self::Two,
            _ => Self::Four,
        }
    }

    pub(super) fn of_bytes(bytes: u32) -> Option<Self> {
        match bytes {
            2 => Some(Self::Two),
            4 => Some(Self::Four),
            _ => None,
        }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    pub(super) fn write(self, tokens: &[TokenId], to: &mut Vec<u8>) {
        match self {
            Self::Two => to.extend(tokens.iter().flat_map(|&token| (token as u16).to_le_bytes())),
            Self::Four => to.extend(tokens.iter().flat_map(|token| token.to_le_bytes())),
        }
    }

    pub(super) fn read(self, bytes: &[u8]) -> Vec<TokenId> {
        match self {
            Self::Two => {
                let (tokens, _) = bytes.as_chunks();
                let token = |&bytes: &[u8; 2]| u16::from_le_bytes(bytes).into();
                tokens.iter().map(token).collect()
            }
            Self::Four => {
                let (tokens, _) = bytes.as_chunks();
                let token = |&bytes: &[u8; 4]| u32::from_le_bytes(bytes);
                tokens.iter().map(token).collect()
            }
        }
    }
}
