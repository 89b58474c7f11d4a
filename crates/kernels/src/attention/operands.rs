//! Layout of queries, keys and values: columns of one matrix or of two, as the projections produce them.

use super::AttentionShape;
use crate::gemm::View;
use crate::tile::TileMut;

/// Queries, keys and values, or their gradients. Each row holds the features of all heads, head after head.
#[derive(Clone, Copy, Debug)]
pub enum QkvOperands<T> {
    /// Self-attention: rows of concatenated queries, keys and values,
    /// `[batch, len, (n_heads + 2 * n_kv_heads) * d_head]`.
    Joined(T),
    /// Cross-attention.
    Apart {
        /// `[batch, tgt_len, n_heads * d_head]`
        queries: T,
        /// Concatenated keys and values, `[batch, src_len, 2 * n_kv_heads * d_head]`.
        keys_values: T,
    },
}

impl<T> QkvOperands<T> {
    /// Applies `f` to each operand.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> QkvOperands<U> {
        match self {
            Self::Joined(joined) => QkvOperands::Joined(f(joined)),
            Self::Apart { queries, keys_values } => {
                QkvOperands::Apart { queries: f(queries), keys_values: f(keys_values) }
            }
        }
    }
}

/// Queries, keys and values as matrices `[batch * len, heads * d_head]`.
#[derive(Clone, Copy)]
pub(super) struct Views<'a> {
    pub(super) q: View<'a>,
    pub(super) k: View<'a>,
    pub(super) v: View<'a>,
}

impl<'a> QkvOperands<&'a [f32]> {
    /// # Panics
    /// If a slice does not fit the shape.
    pub(super) fn views(self, shape: AttentionShape) -> Views<'a> {
        let (width, kv_width) = (shape.query_width(), shape.kv_width());
        match self {
            Self::Joined(joined) => {
                check_joined(shape, joined.len());
                let columns = |first: usize| View::rows(joined, shape.joined_width()).from(0, first);
                Views { q: columns(0), k: columns(width), v: columns(width + kv_width) }
            }
            Self::Apart { queries, keys_values } => {
                check_apart(shape, queries.len(), keys_values.len());
                let columns = |first: usize| View::rows(keys_values, 2 * kv_width).from(0, first);
                Views { q: View::rows(queries, width), k: columns(0), v: columns(kv_width) }
            }
        }
    }
}

/// The matrices that receive the gradients.
pub(super) enum Targets<'a> {
    /// Queries, keys and values.
    Joined(TileMut<'a>),
    /// Queries; keys and values.
    Apart(TileMut<'a>, TileMut<'a>),
}

impl<'a> QkvOperands<&'a mut [f32]> {
    /// # Panics
    /// If a slice does not fit the shape.
    pub(super) fn targets(self, shape: AttentionShape) -> Targets<'a> {
        let AttentionShape { batch, tgt_len, src_len, .. } = shape;
        let tile = |data, rows, cols| TileMut::new(data, rows, cols, cols);
        match self {
            Self::Joined(joined) => {
                check_joined(shape, joined.len());
                Targets::Joined(tile(joined, batch * tgt_len, shape.joined_width()))
            }
            Self::Apart { queries, keys_values } => {
                check_apart(shape, queries.len(), keys_values.len());
                Targets::Apart(
                    tile(queries, batch * tgt_len, shape.query_width()),
                    tile(keys_values, batch * src_len, 2 * shape.kv_width()),
                )
            }
        }
    }
}

impl Targets<'_> {
    /// The gradient of the queries of one head of one sentence.
    ///
    /// # Safety
    /// Nothing else may access these elements while it is in use.
    pub(super) unsafe fn queries(&self, shape: AttentionShape, sentence: usize, head: usize) -> TileMut<'_> {
        let AttentionShape { tgt_len, d_head, .. } = shape;
        let (Self::Joined(matrix) | Self::Apart(matrix, _)) = self;
        // SAFETY: the caller upholds the contract.
        unsafe { matrix.part(sentence * tgt_len, head * d_head, tgt_len, d_head) }
    }

    /// The gradients of the keys and values of one key/value head of one sentence.
    ///
    /// # Safety
    /// Nothing else may access these elements while they are in use.
    pub(super) unsafe fn keys_values(
        &self,
        shape: AttentionShape,
        sentence: usize,
        kv_head: usize,
    ) -> [TileMut<'_>; 2] {
        let AttentionShape { src_len, d_head, .. } = shape;
        let (matrix, first) = match self {
            Self::Joined(all) => (all, shape.query_width()),
            Self::Apart(_, keys_values) => (keys_values, 0),
        };
        [0, 1].map(|part| {
            let column = first + part * shape.kv_width() + kv_head * d_head;
            // SAFETY: the caller upholds the contract; the two parts are disjoint.
            unsafe { matrix.part(sentence * src_len, column, src_len, d_head) }
        })
    }
}

fn check_joined(shape: AttentionShape, found: usize) {
    assert_eq!(shape.tgt_len, shape.src_len, "joined operands need equal source and target lengths");
    let expected = shape.elements(shape.tgt_len, shape.joined_width());
    assert_eq!(found, expected, "queries, keys and values of {shape:?}");
}

fn check_apart(shape: AttentionShape, queries: usize, keys_values: usize) {
    let expected = shape.elements(shape.tgt_len, shape.query_width());
    assert_eq!(queries, expected, "queries of {shape:?}");
    let expected = shape.elements(shape.src_len, 2 * shape.kv_width());
    assert_eq!(keys_values, expected, "keys and values of {shape:?}");
}
