//! Decoding, one token at a time.

use burn::tensor::Tensor;

use crate::batch::{Padded, TokenId};

/// What a search needs of a model. Greedy, beam and sampling are written once against it.
pub trait Stepper {
    /// What the model remembers of each hypothesis: a KV cache, or a recurrent state and the memory.
    type State;

    /// Reads the source sentences. The state has one hypothesis a sentence.
    fn start(&self, src: &Padded) -> Self::State;

    /// The logits `[rows, vocab]` of the token after `last`, one row a hypothesis.
    fn step(&self, last: &[TokenId], state: &mut Self::State) -> Tensor<2>;

    /// Keeps, drops or repeats hypotheses: row `i` becomes what row `rows[i]` was.
    fn select(&self, state: &mut Self::State, rows: &[usize]);

    /// The most tokens that the model can decode, the start token included.
    fn max_len(&self) -> usize;
}
