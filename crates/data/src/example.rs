//! An encoded line.

use std::iter::repeat_n;

use attentive_base::batch::{IGNORE, TokenId};
use attentive_text::{Sides, SpecialTokens};

use super::budget::Lengths;

/// A line of a corpus, encoded for the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Example {
    /// Encoder input: a source or text closed by `</s>`, or tokens.
    pub src: Vec<TokenId>,
    /// Vectors that the encoder reads instead of tokens; `src` then only determines their number.
    pub vectors: Vec<f32>,
    /// The decoder's input: the start token, usually `<s>`, and the target.
    pub tgt_in: Vec<TokenId>,
    /// Expected output: the target closed by `</s>`, or tags, or one label.
    pub tgt_out: Vec<TokenId>,
    /// Line number in the corpus, starting at 1.
    pub line: usize,
}

impl Example {
    /// Returns the example of a source without `</s>` and its translation without special tokens.
    pub fn translation(
        src: Vec<TokenId>,
        tgt: &[TokenId],
        special: impl Into<Sides>,
        line: usize,
    ) -> Self {
        let special = special.into();
        let forced = special.tgt.forced.into_iter();
        let tgt: Vec<TokenId> = forced.chain(tgt.iter().copied()).collect();
        Self {
            src: special.src.framed(src),
            line,
            ..Self::text(&tgt, special.tgt, line)
        }
    }

    /// Returns the example of a text for a causal language model.
    pub fn text(tgt: &[TokenId], special: SpecialTokens, line: usize) -> Self {
        Self {
            tgt_in: [&[special.start], tgt].concat(),
            tgt_out: [tgt, &[special.eos]].concat(),
            line,
            ..Self::default()
        }
    }

    /// Returns the example of a text for a masked language model, before masking.
    pub fn whole(text: Vec<TokenId>, special: SpecialTokens, line: usize) -> Self {
        let text = special.framed(text);
        Self {
            src: text.clone(),
            tgt_out: text,
            line,
            ..Self::default()
        }
    }

    /// Returns the example of words to tag: the tokens of each word, framed by `special`. The first token of a word has the tag
    /// of the word in `tags`; other positions have none. If `tags` is empty, no position has a tag.
    pub fn in_pieces(
        words: &[Vec<TokenId>],
        tags: &[TokenId],
        special: SpecialTokens,
        line: usize,
    ) -> Self {
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
        Self {
            tgt_out,
            ..Self::tokens(special.framed(words.concat()), line)
        }
    }

    /// Returns the example of tokens to tag, without their tags.
    pub fn tokens(src: Vec<TokenId>, line: usize) -> Self {
        Self {
            src,
            line,
            ..Self::default()
        }
    }

    /// Returns the example of vectors to tag, with `width` numbers each and concatenated, without their tags.
    pub fn vectors(vectors: Vec<f32>, width: usize, special: SpecialTokens, line: usize) -> Self {
        Self {
            src: vec![special.pad; vectors.len() / width],
            vectors,
            line,
            ..Self::default()
        }
    }

    /// Returns the example of a text to classify, given without `</s>` and without its label.
    pub fn unlabeled(text: Vec<TokenId>, special: SpecialTokens, line: usize) -> Self {
        Self::tokens(special.framed(text), line)
    }

    /// Returns the length of the encoder input.
    pub fn src_len(&self) -> usize {
        self.src.len()
    }

    /// Returns the number of tokens to predict.
    pub fn tgt_len(&self) -> usize {
        self.tgt_out.len()
    }

    /// Both lengths.
    pub(super) fn lengths(&self) -> Lengths {
        Lengths {
            tgt: self.tgt_len(),
            src: self.src_len(),
        }
    }
}
