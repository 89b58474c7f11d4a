//! Incremental decoding: what the engines of the CPU and of other devices share.
//!
//! A [`State`] has rows that come and go between any two steps. What earlier positions and sources left, each
//! engine keeps in a [`StateStore`] of its own, and computes by the operations of [`Incremental`].

pub(crate) mod blocks;
mod state;

pub(crate) use state::{Candidates, Row};
pub use state::{State, StateStore};

use attentive_kernels::cached_attention::Heads;

use crate::nn::{
    AdditiveAttention, AdditiveScores, Attention, Backend, Decode, MultiplicativeAttention, RecurrentLayer,
    RelativeOf,
};
use crate::profile::{self, ProfileSection};

/// Operations on the next positions of the rows of a [`State`].
pub trait Incremental: Backend {
    /// Rotates the queries and keys in `joined`, which are followed by the values, by their positions if
    /// those are rotary.
    fn rotate(
        &mut self,
        joined: Self::Value,
        attention: &Attention<Self::Storage>,
        relative: &RelativeOf<Self>,
    ) -> Self::Value;

    /// Stores the keys and values in `joined`, which follow the queries, and returns the contexts of the
    /// queries, which see themselves and earlier positions of their row.
    fn attend_cache(
        &mut self,
        joined: &Self::Value,
        attention: &Attention<Self::Storage>,
        relative: &RelativeOf<Self>,
    ) -> Self::Value;

    /// Returns the contexts of `queries`, which see what layer `layer` has of the source of their row.
    ///
    /// # Panics
    /// Without a source.
    fn attend_source(&mut self, queries: &Self::Value, heads: Heads, layer: usize) -> Self::Value;

    /// Returns `x` times `factor`.
    fn scaled(&mut self, x: &Self::Value, factor: f32) -> Self::Value;

    /// See [`Decode::attend_states_additively`].
    fn attend_source_additively(
        &mut self,
        h: &Self::Value,
        scores: &AdditiveScores<Self::Storage>,
    ) -> Self::Value;

    /// Returns the states of layer `number`, `[rows, width]`, of which each row has one position.
    fn kept(&mut self, number: usize) -> Self::Value;

    /// Replaces the states of layer `number`.
    fn keep(&mut self, states: &Self::Value, number: usize);

    /// See [`Decode::advance`].
    fn advance_cells(
        &mut self,
        x: &Self::Value,
        layer: &RecurrentLayer<Self::Storage>,
        number: usize,
    ) -> Self::Value;

    /// See [`Decode::advance_attentive`].
    fn advance_attentive_cells(
        &mut self,
        x: &Self::Value,
        layer: &RecurrentLayer<Self::Storage>,
        attention: &AdditiveAttention<Self::Storage>,
    ) -> [Self::Value; 2];
}

impl<B: Incremental> Decode for B {
    fn attend_earlier(
        &mut self,
        x: &B::Value,
        attention: &Attention<B::Storage>,
        relative: &RelativeOf<B>,
    ) -> B::Value {
        profile::time(ProfileSection::SelfAttention, || {
            let joined = self.linear(x, &[&attention.query, &attention.key, &attention.value]);
            let joined = self.rotate(joined, attention, relative);
            self.attend_cache(&joined, attention, relative)
        })
    }

    fn attend_memory(&mut self, x: &B::Value, attention: &Attention<B::Storage>) -> B::Value {
        profile::time(ProfileSection::CrossAttention, || {
            let queries = self.linear(x, &[&attention.query]);
            self.attend_source(&queries, attention.heads, attention.place.layer)
        })
    }

    fn advance(&mut self, x: &B::Value, layer: &RecurrentLayer<B::Storage>, number: usize) -> B::Value {
        profile::time(ProfileSection::Cells, || self.advance_cells(x, layer, number))
    }

    fn advance_attentive(
        &mut self,
        x: &B::Value,
        layer: &RecurrentLayer<B::Storage>,
        attention: &AdditiveAttention<B::Storage>,
    ) -> [B::Value; 2] {
        profile::time(ProfileSection::Cells, || self.advance_attentive_cells(x, layer, attention))
    }

    fn attend_states(&mut self, h: &B::Value, attention: &MultiplicativeAttention<B::Storage>) -> B::Value {
        profile::time(ProfileSection::CrossAttention, || {
            let factor = attention.factor();
            let queries = match &attention.query {
                Some(query) => {
                    let queries = self.linear(h, &[query]);
                    self.scaled(&queries, factor)
                }
                None => self.scaled(h, factor),
            };
            self.attend_source(&queries, attention.heads(), 0)
        })
    }

    fn attend_states_additively(&mut self, h: &B::Value, scores: &AdditiveScores<B::Storage>) -> B::Value {
        profile::time(ProfileSection::CrossAttention, || self.attend_source_additively(h, scores))
    }

    fn fed(&mut self, number: usize) -> B::Value {
        self.kept(number)
    }

    fn feed(&mut self, value: &B::Value, number: usize) {
        self.keep(value, number);
    }
}
