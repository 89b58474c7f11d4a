//! What layers are written in terms of.
//!
//! A layer is a struct over a [`Storage`], which says how its weights are kept, and computes with a
//! [`Backend`] of that storage, which says how operations are done. [`Sequences`](super::Sequences) are whole
//! padded batches on the tape; the rows of the [engine](crate::engine), and of that of
//! [other devices](crate::device_engine), come and go while they are decoded. They differ in where attention
//! and recurrent cells find what came before; everything else is done for each row by itself.

use std::fmt::Debug;

use attentive_architecture::{self as architecture, ActivationKind};
use attentive_base::batch::TokenId;
use attentive_tape::Causality;

use super::{
    AdditiveAttention, AdditiveScores, Attention, Dropout, Input, Linear, MultiplicativeAttention, Norm,
    RecurrentLayer,
};

/// A way to keep the weights of layers.
pub trait Storage: Clone + Debug + 'static {
    /// A matrix `[d_out, d_in]` of a linear map or an embedding.
    type Matrix: Clone + Debug;
    /// Any other weights, such as a bias.
    type Vector: Clone + Debug;
    /// The relative positions of a stack's self-attention; by default, there are none.
    type Relative: Clone + Debug + Default;

    /// Returns the relative positions of `attention` up to `max_len`, with the `table` of its buckets of
    /// distances, `[n_buckets, n_heads]`.
    fn relative(
        attention: &architecture::AttentionSpec,
        causality: Causality,
        max_len: usize,
        table: Option<Self::Vector>,
    ) -> Self::Relative;
}

/// Operations on the rows of sequences, `[rows, d]`.
pub trait Backend {
    /// How the weights are kept.
    type Storage: Storage;
    /// A matrix of activations.
    type Value;

    /// Prepares for the layers of a stack, whose self-attention has the positions `relative`.
    fn enter(&mut self, _relative: &RelativeOf<Self>) {}

    /// Returns scale · embedding + position of each token, with `dropout`.
    fn embed(
        &mut self,
        ids: &[TokenId],
        table: &MatrixOf<Self>,
        input: &Input<Self::Storage>,
        dropout: Option<Dropout>,
    ) -> Self::Value;

    /// Returns the results of linear maps of `x` side by side, `[rows, Σ d_out]`.
    fn linear(&mut self, x: &Self::Value, maps: &[&Linear<Self::Storage>]) -> Self::Value;

    /// Returns dropout(activation(map(x))).
    fn activated(
        &mut self,
        x: &Self::Value,
        map: &Linear<Self::Storage>,
        activation: ActivationKind,
        dropout: Option<Dropout>,
    ) -> Self::Value;

    /// Returns dropout(activation(a) ∘ b) of rows `[a; b]`.
    fn gated(&mut self, both: Self::Value, activation: ActivationKind, dropout: Dropout) -> Self::Value;

    /// Returns the norm of each row.
    fn norm(&mut self, x: &Self::Value, norm: &Norm<Self::Storage>) -> Self::Value;

    /// Returns the norm of x + dropout(y).
    fn residual_norm(
        &mut self,
        x: Self::Value,
        y: Self::Value,
        dropout: Option<Dropout>,
        norm: &Norm<Self::Storage>,
    ) -> Self::Value;

    /// Returns x + dropout(y).
    fn add(&mut self, x: Self::Value, y: Self::Value, dropout: Option<Dropout>) -> Self::Value;

    /// Returns dropout(x).
    fn dropout(&mut self, x: Self::Value, dropout: Dropout) -> Self::Value;

    /// Returns tanh(x).
    fn tanh(&mut self, x: Self::Value) -> Self::Value;

    /// Returns the matrices side by side.
    fn join(&mut self, parts: Vec<Self::Value>) -> Self::Value;

    /// Shows the output of the layer `name()` to whoever watches, and returns it.
    fn observe(&mut self, _name: impl FnOnce() -> String, output: Self::Value) -> Self::Value {
        output
    }
}

/// The matrices of a backend.
pub type MatrixOf<B> = <<B as Backend>::Storage as Storage>::Matrix;
/// The relative positions of a backend.
pub type RelativeOf<B> = <<B as Backend>::Storage as Storage>::Relative;

/// Operations across the positions of whole sequences.
pub trait Encode: Backend {
    /// Returns the contexts of self-attention in which every position sees the whole sequence,
    /// `[rows, n_heads · d_head]`.
    fn attend_whole(
        &mut self,
        x: &Self::Value,
        attention: &Attention<Self::Storage>,
        relative: &RelativeOf<Self>,
    ) -> Self::Value;

    /// Returns what a recurrent layer makes of the sequences, from zeros on.
    fn read(
        &mut self,
        x: &Self::Value,
        layer: &RecurrentLayer<Self::Storage>,
    ) -> RecurrentStates<Self::Value>;

    /// Returns what the forward and the backward layer of the same width make of the sequences, from zeros
    /// on, side by side: h of each position, and h of both final states before c of both.
    fn read_both(
        &mut self,
        x: &Self::Value,
        layers: [&RecurrentLayer<Self::Storage>; 2],
    ) -> RecurrentStates<Self::Value>;
}

/// The states of a recurrent layer.
#[derive(Clone, Debug)]
pub struct RecurrentStates<V> {
    /// h at every position, `[rows, d]`; zeros at padding.
    pub hidden: V,
    /// The final state of each sequence, h followed by c for cells that have one: `[sequences, states · d]`.
    pub last: V,
}

/// Operations that see earlier positions and the memory.
pub trait Decode: Backend {
    /// Returns the contexts of causal self-attention, `[rows, n_heads · d_head]`.
    fn attend_earlier(
        &mut self,
        x: &Self::Value,
        attention: &Attention<Self::Storage>,
        relative: &RelativeOf<Self>,
    ) -> Self::Value;

    /// Returns the contexts of attention to the memory, `[rows, n_heads · d_head]`.
    ///
    /// # Panics
    /// Without a memory.
    fn attend_memory(&mut self, x: &Self::Value, attention: &Attention<Self::Storage>) -> Self::Value;

    /// Returns h of recurrent layer `number` at every position, which goes on from the states of earlier
    /// positions.
    fn advance(
        &mut self,
        x: &Self::Value,
        layer: &RecurrentLayer<Self::Storage>,
        number: usize,
    ) -> Self::Value;

    /// Returns h and the context at every position of the bottom layer, whose gates read the context.
    ///
    /// # Panics
    /// Without a memory.
    fn advance_attentive(
        &mut self,
        x: &Self::Value,
        layer: &RecurrentLayer<Self::Storage>,
        attention: &AdditiveAttention<Self::Storage>,
    ) -> [Self::Value; 2];

    /// Returns the context of every state in `h`.
    ///
    /// # Panics
    /// Without a memory.
    fn attend_states(
        &mut self,
        h: &Self::Value,
        attention: &MultiplicativeAttention<Self::Storage>,
    ) -> Self::Value;

    /// Like [`Decode::attend_states`], with additive scores.
    ///
    /// # Panics
    /// Without a memory.
    fn attend_states_additively(
        &mut self,
        h: &Self::Value,
        scores: &AdditiveScores<Self::Storage>,
    ) -> Self::Value;

    /// Returns what the position before [fed](Decode::feed) to the only position of each sequence, zeros at
    /// the first; it is kept as the state of layer `number` is.
    fn fed(&mut self, number: usize) -> Self::Value;

    /// Feeds `value` of the only position of each sequence to the next.
    fn feed(&mut self, value: &Self::Value, number: usize);
}
