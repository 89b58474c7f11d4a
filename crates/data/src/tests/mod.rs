mod batching;
mod dropped;
mod files;
mod formats;
mod labeled;
mod lines;
mod masking;
mod reading;
mod stream;
mod tagged;
mod variation;

use attentive_text::SpecialTokens;

/// The special tokens of a vocabulary.
pub(crate) const SPECIAL: SpecialTokens = SpecialTokens {
    pad: 0,
    unk: 1,
    bos: 2,
    eos: 3,
    mask: None,
    start: 2,
    first: None,
    forced: None,
    last: None,
};
