//! Where queries, keys and values stand: columns of one matrix or of two, as the projections leave them.

use super::AttentionShape;
use crate::gemm::View;
use crate::tile::TileMut;

/// Queries, keys and values. A row of each holds the features of all heads, head after head.
#[derive(Clone, Copy, Debug)]
pub enum Operands<'a> {
    /// Attention within a sequence: rows of queries, keys and values side by side,
    /// `[batch, len, 3 * n_heads * d_head]`.
    Joined(&'a [f32]),
    /// Attention to another sequence.
    Apart {
        /// `[batch, tgt_len, n_heads * d_head]`
        queries: &'a [f32],
        /// Rows of keys and values side by side, `[batch, src_len, 2 * n_heads * d_head]`.
        keys_values: &'a [f32],
    },
}

/// Where the gradients of [`Operands`] of the same form go.
#[derive(Debug)]
pub enum OperandsMut<'a> {
    /// As [`Operands::Joined`].
    Joined(&'a mut [f32]),
    /// As [`Operands::Apart`].
    Apart {
        /// As the queries.
        queries: &'a mut [f32],
        /// As the keys and values.
        keys_values: &'a mut [f32],
    },
}

/// Queries, keys and values as matrices `[batch * len, n_heads * d_head]`.
#[derive(Clone, Copy)]
pub(super) struct Views<'a> {
    pub(super) q: View<'a>,
    pub(super) k: View<'a>,
    pub(super) v: View<'a>,
}

impl<'a> Operands<'a> {
    /// # Panics
    /// If a slice does not fit the shape.
    pub(super) fn views(self, shape: AttentionShape) -> Views<'a> {
        let width = shape.width();
        match self {
            Self::Joined(joined) => {
                check_joined(shape, joined.len());
                let columns = |part: usize| View::rows(joined, 3 * width).from(0, part * width);
                Views {
                    q: columns(0),
                    k: columns(1),
                    v: columns(2),
                }
            }
            Self::Apart {
                queries,
                keys_values,
            } => {
                check_apart(shape, queries.len(), keys_values.len());
                let columns =
                    |part: usize| View::rows(keys_values, 2 * width).from(0, part * width);
                Views {
                    q: View::rows(queries, width),
                    k: columns(0),
                    v: columns(1),
                }
            }
        }
    }
}

/// The matrices that receive the gradients, and the column at which each part starts.
pub(super) enum Targets<'a> {
    /// Queries, keys and values.
    Joined(TileMut<'a>),
    /// Queries; keys and values.
    Apart(TileMut<'a>, TileMut<'a>),
}

impl<'a> OperandsMut<'a> {
    /// # Panics
    /// If a slice does not fit the shape.
    pub(super) fn targets(self, shape: AttentionShape) -> Targets<'a> {
        let AttentionShape {
            batch,
            tgt_len,
            src_len,
            ..
        } = shape;
        let tile = |data, rows, cols| TileMut::new(data, rows, cols, cols);
        match self {
            Self::Joined(joined) => {
                check_joined(shape, joined.len());
                Targets::Joined(tile(joined, batch * tgt_len, 3 * shape.width()))
            }
            Self::Apart {
                queries,
                keys_values,
            } => {
                check_apart(shape, queries.len(), keys_values.len());
                Targets::Apart(
                    tile(queries, batch * tgt_len, shape.width()),
                    tile(keys_values, batch * src_len, 2 * shape.width()),
                )
            }
        }
    }
}

impl Targets<'_> {
    /// The gradients of queries, keys and values of one head of one sentence.
    ///
    /// # Safety
    /// While they are used, nothing else may touch their elements.
    pub(super) unsafe fn head(
        &self,
        shape: AttentionShape,
        sentence: usize,
        head: usize,
    ) -> [TileMut<'_>; 3] {
        let AttentionShape {
            tgt_len,
            src_len,
            d_head,
            ..
        } = shape;
        let column = |part: usize| part * shape.width() + head * d_head;
        let (query, key) = (sentence * tgt_len, sentence * src_len);
        // SAFETY: passed on to the caller; the three parts are disjoint.
        unsafe {
            match self {
                Self::Joined(all) => {
                    [0, 1, 2].map(|part| all.part(query, column(part), tgt_len, d_head))
                }
                Self::Apart(queries, keys_values) => [
                    queries.part(query, column(0), tgt_len, d_head),
                    keys_values.part(key, column(0), src_len, d_head),
                    keys_values.part(key, column(1), src_len, d_head),
                ],
            }
        }
    }
}

fn check_joined(shape: AttentionShape, found: usize) {
    assert_eq!(
        shape.tgt_len, shape.src_len,
        "joined operands are of one sequence"
    );
    let expected = shape.elements(shape.tgt_len, 3);
    assert_eq!(found, expected, "queries, keys and values of {shape:?}");
}

fn check_apart(shape: AttentionShape, queries: usize, keys_values: usize) {
    let expected = shape.elements(shape.tgt_len, 1);
    assert_eq!(queries, expected, "queries of {shape:?}");
    let expected = shape.elements(shape.src_len, 2);
    assert_eq!(keys_values, expected, "keys and values of {shape:?}");
}
