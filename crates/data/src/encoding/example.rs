//! An encoded line.

use std::iter::repeat_n;

use attentive_base::batch::{IGNORE, TokenId};
use attentive_base::body::Body;
use attentive_text::{Sides, SpecialTokens};

use crate::batching::budget::ExampleLengths;

/// A line of a corpus, encoded for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The inputs of each part of the model. The decoder reads the start token, usually `<s>`, and the
    /// target.
    pub inputs: Body<EncoderInput, Vec<TokenId>>,
    /// Expected output: the target closed by `</s>`, or tags, or one label; empty if it is not known.
    pub tgt_out: Vec<TokenId>,
    /// Line number in the corpus, starting at 1.
    pub line: usize,
    /// The factor of its loss in training.
    pub weight: f32,
}

/// The input of an encoder.
#[derive(Clone, Debug, PartialEq)]
pub enum EncoderInput {
    /// A source or text closed by `</s>`, or tokens.
    Tokens(Vec<TokenId>),
    /// Vectors in place of tokens.
    Vectors {
        /// The components of all vectors, one vector after another.
        values: Vec<f32>,
        /// The number of components of each vector.
        width: usize,
    },
}

impl EncoderInput {
    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        match self {
            Self::Tokens(tokens) => tokens.len(),
            Self::Vectors { values, width } => values.len() / width,
        }
    }

    /// Returns true if there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the tokens; none for vectors.
    pub fn tokens(&self) -> &[TokenId] {
        match self {
            Self::Tokens(tokens) => tokens,
            Self::Vectors { .. } => &[],
        }
    }
}

impl Example {
    /// Returns the example of a source without `</s>` and its translation without special tokens.
    pub fn translation(src: Vec<TokenId>, tgt: &[TokenId], special: impl Into<Sides>, line: usize) -> Self {
        let special = special.into();
        let forced = special.tgt.forced.into_iter();
        let tgt: Vec<TokenId> = forced.chain(tgt.iter().copied()).collect();
        Self::pair(special.src.framed(src), &tgt, special.tgt, line)
    }

    /// Returns the example of a source, as the encoder reads it, and a target without special tokens.
    pub fn pair(src: Vec<TokenId>, tgt: &[TokenId], special: SpecialTokens, line: usize) -> Self {
        let text = Self::text(tgt, special, line);
        Self {
            inputs: Body::EncoderDecoder(EncoderInput::Tokens(src), [&[special.start], tgt].concat()),
            ..text
        }
    }

    /// Returns the example of a text for a causal language model.
    pub fn text(tgt: &[TokenId], special: SpecialTokens, line: usize) -> Self {
        Self {
            inputs: Body::Decoder([&[special.start], tgt].concat()),
            tgt_out: [tgt, &[special.eos]].concat(),
            line,
            weight: 1.0,
        }
    }

    /// Returns the example of a text for a masked language model, before masking.
    pub fn whole(text: Vec<TokenId>, special: SpecialTokens, line: usize) -> Self {
        let text = special.framed(text);
        Self { tgt_out: text.clone(), ..Self::tokens(text, line) }
    }

    /// Returns the example of words to tag: the tokens of each word, framed by `special`. The first token of
    /// a word has the tag of the word in `tags`; other positions have none. If `tags` is empty, no position
    /// has a tag.
    pub fn in_pieces(words: &[Vec<TokenId>], tags: &[TokenId], special: SpecialTokens, line: usize) -> Self {
        let none = |n: usize| repeat_n(IGNORE, n);
        let tagged = |(word, &tag): (&Vec<TokenId>, &TokenId)| {
            [tag].into_iter().chain(none(word.len().saturating_sub(1)))
        };
        let tags = words.iter().zip(tags).flat_map(tagged);
        let mut tgt_out: Vec<TokenId> = none(special.n_first()).chain(tags).collect();
        tgt_out.extend(none(special.n_last()));
        if tgt_out.iter().all(|&tag| tag == IGNORE) {
            tgt_out.clear();
        }
        Self { tgt_out, ..Self::tokens(special.framed(words.concat()), line) }
    }

    /// Returns the example of tokens for an encoder, without expected output.
    pub fn tokens(src: Vec<TokenId>, line: usize) -> Self {
        Self::read(EncoderInput::Tokens(src), line)
    }

    /// Returns the example of vectors to tag, with `width` numbers each and concatenated, without their tags.
    pub fn vectors(values: Vec<f32>, width: usize, line: usize) -> Self {
        Self::read(EncoderInput::Vectors { values, width }, line)
    }

    fn read(src: EncoderInput, line: usize) -> Self {
        Self { inputs: Body::Encoder(src), tgt_out: Vec::new(), line, weight: 1.0 }
    }

    /// Returns the example of a text to classify, given without `</s>` and without its label.
    pub fn unlabeled(text: Vec<TokenId>, special: SpecialTokens, line: usize) -> Self {
        Self::tokens(special.framed(text), line)
    }

    /// Replaces the tokens that the decoder is expected to predict, and with them those that it reads.
    pub(crate) fn set_target(&mut self, tgt_out: Vec<TokenId>) {
        if let Body::Decoder(tgt_in) | Body::EncoderDecoder(_, tgt_in) = &mut self.inputs {
            tgt_in.truncate(1);
            tgt_in.extend_from_slice(&tgt_out[..tgt_out.len().saturating_sub(1)]);
        }
        self.tgt_out = tgt_out;
    }

    /// Keeps at most the first `len` tokens that the decoder reads, and that it is expected to predict.
    pub fn truncate_target(&mut self, len: usize) {
        match &mut self.inputs {
            Body::Decoder(tgt_in) | Body::EncoderDecoder(_, tgt_in) => tgt_in.truncate(len),
            Body::Encoder(_) => {}
        }
        self.tgt_out.truncate(len);
    }

    /// Returns the tokens that the encoder reads; none without an encoder, and for vectors.
    pub fn src(&self) -> &[TokenId] {
        self.inputs.encoder().map_or(&[], EncoderInput::tokens)
    }

    /// Returns the tokens that the decoder reads; none without a decoder.
    pub fn tgt_in(&self) -> &[TokenId] {
        self.inputs.decoder().map_or(&[], Vec::as_slice)
    }

    /// True if no part of the model reads vectors.
    pub(crate) fn is_text(&self) -> bool {
        !matches!(self.inputs.encoder(), Some(EncoderInput::Vectors { .. }))
    }

    /// Returns the length of the encoder input.
    pub fn src_len(&self) -> usize {
        self.inputs.encoder().map_or(0, EncoderInput::len)
    }

    /// Returns the number of tokens to predict.
    pub fn tgt_len(&self) -> usize {
        self.tgt_out.len()
    }

    /// Both lengths.
    pub(crate) fn lengths(&self) -> ExampleLengths {
        ExampleLengths { tgt: self.tgt_len(), src: self.src_len() }
    }

    /// An upper bound of the RAM that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        /// Allocator overhead of a small block.
        const BLOCK: usize = 16;
        let src = match self.inputs.encoder() {
            Some(EncoderInput::Tokens(tokens)) => tokens.capacity(),
            Some(EncoderInput::Vectors { values, .. }) => values.capacity(),
            None => 0,
        };
        let numbers = src + self.inputs.decoder().map_or(0, Vec::capacity) + self.tgt_out.capacity();
        numbers * size_of::<TokenId>() + size_of::<Self>() + 3 * BLOCK
    }
}
