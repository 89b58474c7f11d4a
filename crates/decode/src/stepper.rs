//! The interface of a model for search.

use attentive_base::batch::{Padded, TokenId};
use attentive_kernels::threads::Threads;

use super::{Answer, Logits, NextToken, Question};

/// The interface of a model for search and sampling.
///
/// A state holds rows, each at its own position of its own sentence. Rows are admitted, repeated and dropped
/// between any two decoding steps, and the results of a row depend on that row only.
pub trait Stepper {
    /// The decoding state of the rows.
    type State;
    /// The output of the last layer, from which the next token of each row is predicted.
    type Last;

    /// Returns a state without rows.
    fn start(&self) -> Self::State;

    /// Returns a state without rows that also keeps the cross-attention of the last decoding step; `None` for
    /// a model without cross-attention.
    fn start_watched(&self) -> Option<Self::State>;

    /// Encodes the sentences of `src` and adds a row for each; a model without an encoder adds as many empty
    /// rows.
    fn admit(&self, src: &Padded, state: &mut Self::State);

    /// Reads the next token of each row.
    fn step(&self, next: &[TokenId], state: &mut Self::State) -> Self::Last;

    /// Reads several tokens of each row.
    ///
    /// # Panics
    /// If a row gets no token.
    fn read(&self, tokens: &Padded, state: &mut Self::State) -> Self::Last;

    /// Replaces row `i` by the previous row `rows[i]`; rows that are not named are dropped.
    fn select(&self, rows: &[usize], state: &mut Self::State);

    /// Returns the `count` most likely next tokens of each row, without those in `never`; see
    /// [`super::likeliest`]. An implementation need not compute the logits of all tokens at once.
    fn likeliest(&self, last: Self::Last, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>>;

    /// Returns the most likely next token of each row, without those in `never`; `None` where all logits are
    /// NaN. Faster than [`Stepper::likeliest`], since no probability is computed.
    fn most_likely(&self, last: Self::Last, never: &[TokenId]) -> Vec<Option<TokenId>> {
        let likeliest = self.likeliest(last, 1, never).into_iter();
        likeliest.map(|next| next.first().map(|next| next.token)).collect()
    }

    /// Returns the answer to the question about each row. As in [`Stepper::logits`], all tokens count.
    ///
    /// # Panics
    /// If a token of a question is unknown.
    fn answers(&self, last: Self::Last, questions: &[Question]) -> Vec<Answer> {
        let logits = self.logits(last);
        let rows = logits.rows().zip(questions);
        Threads::current().map(rows, |(row, question)| question.answer(row))
    }

    /// Returns the logits of the next token of each row.
    fn logits(&self, last: Self::Last) -> Logits;

    /// Returns the cross-attention of the last [`Stepper::step`]: for each row, the weights over the
    /// positions of its source, averaged over the heads of the top layer.
    ///
    /// # Panics
    /// If the state was not made by [`Stepper::start_watched`].
    fn cross_attention(&self, state: &Self::State) -> Vec<Vec<f32>>;

    /// Maximum number of tokens of a row, including the start token.
    fn max_len(&self) -> usize;
}
