//! Decoding, one token at a time.

use burn::tensor::Tensor;

use super::{Model, TransformerState};
use crate::batch::{Padded, TokenId};
use crate::nn::{DecoderCache, RecurrentState};

/// What a search needs of a model. Greedy, beam and sampling are written once against it.
pub trait Stepper {
    /// What the model remembers of each hypothesis: a KV cache, or a recurrent state and the memory.
    type State;

    /// Reads the source sentences. The state has one hypothesis a sentence.
    fn start(&self, src: &Padded) -> Self::State;

    /// The logits `[rows, vocab]` of the token after `last`, one row a hypothesis.
    fn step(&self, last: &[TokenId], state: &mut Self::State) -> Tensor<2>;

    /// Reads several tokens of the only hypothesis: the logits `[1, vocab]` of the token behind them.
    ///
    /// # Panics
    /// If there are no tokens.
    fn read(&self, tokens: &[TokenId], state: &mut Self::State) -> Tensor<2> {
        let (&last, earlier) = tokens.split_last().expect("a token to read");
        for &token in earlier {
            self.step(&[token], state);
        }
        self.step(&[last], state)
    }

    /// Keeps, drops or repeats hypotheses: row `i` becomes what row `rows[i]` was.
    fn select(&self, state: &mut Self::State, rows: &[usize]);

    /// The most tokens that the model can decode, the start token included.
    fn max_len(&self) -> usize;
}

/// What a model of any family that decodes remembers.
// A search has one: its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum State {
    /// Of a Transformer.
    Transformer(TransformerState),
    /// Of a recurrent decoder.
    Recurrent(RecurrentState),
    /// Of a language model.
    DecoderOnly(DecoderCache),
}

/// # Panics
/// For families that do not decode, which [`crate::config::Task`] tells, and for a state of another family.
impl Stepper for Model {
    type State = State;

    fn start(&self, src: &Padded) -> State {
        match self {
            Self::Transformer(model) => State::Transformer(model.start(src)),
            Self::Seq2seq(model) => State::Recurrent(model.start(src)),
            Self::DecoderOnly(model) => State::DecoderOnly(model.start(src)),
            Self::EncoderOnly(_) | Self::Tagger(_) => does_not_decode(),
        }
    }

    fn step(&self, last: &[TokenId], state: &mut State) -> Tensor<2> {
        match (self, state) {
            (Self::Transformer(model), State::Transformer(state)) => model.step(last, state),
            (Self::Seq2seq(model), State::Recurrent(state)) => model.step(last, state),
            (Self::DecoderOnly(model), State::DecoderOnly(state)) => model.step(last, state),
            _ => does_not_decode(),
        }
    }

    fn read(&self, tokens: &[TokenId], state: &mut State) -> Tensor<2> {
        match (self, state) {
            (Self::Transformer(model), State::Transformer(state)) => model.read(tokens, state),
            (Self::Seq2seq(model), State::Recurrent(state)) => model.read(tokens, state),
            (Self::DecoderOnly(model), State::DecoderOnly(state)) => model.read(tokens, state),
            _ => does_not_decode(),
        }
    }

    fn select(&self, state: &mut State, rows: &[usize]) {
        match (self, state) {
            (Self::Transformer(model), State::Transformer(state)) => model.select(state, rows),
            (Self::Seq2seq(model), State::Recurrent(state)) => model.select(state, rows),
            (Self::DecoderOnly(model), State::DecoderOnly(state)) => model.select(state, rows),
            _ => does_not_decode(),
        }
    }

    fn max_len(&self) -> usize {
        match self {
            Self::Transformer(model) => model.max_len(),
            Self::Seq2seq(model) => model.max_len(),
            Self::DecoderOnly(model) => model.max_len(),
            Self::EncoderOnly(model) => model.max_len(),
            Self::Tagger(model) => model.max_len(),
        }
    }
}

fn does_not_decode() -> ! {
    panic!("a model that does not decode, or the state of another family")
}
