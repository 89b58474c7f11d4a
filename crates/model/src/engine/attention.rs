//! Multi-head attention.

use std::ops::Range;

use attentive_architecture::{self as architecture, RelativePositions};
use attentive_kernels::cached_attention::{BLOCK, DistanceBias, Heads, Products, Queries, Seen};
use attentive_kernels::rotary::{Positions, RotaryCall, RotaryTable, Turn, rotary};

use super::buffers::Buffers;
use super::linear::Linear;
use super::weights::Scope;

/// See [`crate::nn::MultiHeadAttention`].
#[derive(Debug)]
pub(super) struct Attention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    pub(super) heads: Heads,
    products: Products,
}

/// What the self-attention of all layers of a stack shares.
#[derive(Debug)]
pub(super) struct Relative {
    rotary: Option<RotaryTable>,
    pub(super) bias: Option<DistanceBias>,
}

/// Positions that are computed together.
#[derive(Clone, Copy)]
pub(super) struct Together<'a> {
    /// The position of each row.
    pub(super) positions: &'a [usize],
    /// The rows of each sequence, in order.
    pub(super) spans: &'a [Span],
    pub(super) buffers: &'a Buffers,
}

/// Rows of consecutive positions of one sequence.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) rows: Range<usize>,
    /// Position of the first row.
    pub(super) first: usize,
}

impl Relative {
    /// The relative positions of `attention` up to `max_len`. A decoder's queries see no later keys.
    pub(super) fn new(
        attention: &architecture::Attention,
        is_decoder: bool,
        max_len: usize,
        scope: &mut Scope<'_>,
    ) -> Self {
        let none = Self {
            rotary: None,
            bias: None,
        };
        match attention.positions {
            RelativePositions::None => none,
            RelativePositions::Rotary { .. } => Self {
                rotary: (attention.frequencies())
                    .map(|frequencies| RotaryTable::new(frequencies, max_len)),
                ..none
            },
            RelativePositions::Buckets {
                n_buckets,
                max_distance,
            } => {
                let n_heads = attention.n_heads;
                let table = scope.at("distance_bias").vector("table");
                let bucket = match is_decoder {
                    true => architecture::earlier_bucket,
                    false => architecture::bucket,
                };
                let of = |head, query, key| {
                    table[bucket(n_buckets, max_distance, query, key) * n_heads + head]
                };
                Self {
                    bias: Some(DistanceBias::new(n_heads, max_len, of)),
                    ..none
                }
            }
        }
    }

    /// No relative positions.
    pub(super) fn none() -> Self {
        Self {
            rotary: None,
            bias: None,
        }
    }
}

impl Attention {
    pub(super) fn new(
        attention: &architecture::Attention,
        products: Products,
        mut scope: Scope<'_>,
    ) -> Self {
        let bias = attention.bias;
        Self {
            query: scope.linear("query", bias),
            key: scope.linear("key", bias),
            value: scope.linear("value", bias),
            output: scope.linear("output", bias),
            heads: Heads {
                n_heads: attention.n_heads,
                n_kv_heads: attention.n_kv_heads,
                d_head: attention.d_head,
                scale: attention.scale(),
            },
            products,
        }
    }

    /// Attention of `queries` to keys and values; see [`Heads::attend`].
    pub(super) fn attend(
        &self,
        queries: Queries<'_>,
        blocks: &[&[f32]],
        bias: Option<&DistanceBias>,
        out: &mut [f32],
        attention: Option<&mut [f32]>,
    ) {
        let products = self.products;
        (self.heads).attend(queries, blocks, bias, products, out, attention);
    }

    /// Columns of queries, keys and values together.
    pub(super) fn joined_width(&self) -> usize {
        self.heads.query_width() + 2 * self.heads.kv_width()
    }

    /// Queries, keys and values of `rows` rows of `x` at `positions`, side by side.
    pub(super) fn project(
        &self,
        relative: &Relative,
        positions: &[usize],
        x: &[f32],
        out: &mut [f32],
        buffers: &Buffers,
    ) {
        let rows = positions.len();
        let maps = [&self.query, &self.key, &self.value];
        let Some(table) = &relative.rotary else {
            return Linear::side_by_side(maps, rows, x, out);
        };
        let mut plain = buffers.take(out.len());
        Linear::side_by_side(maps, rows, x, &mut plain);
        let call = RotaryCall {
            table,
            positions: Positions::Each(positions),
            width: self.joined_width(),
            heads: self.heads.n_heads + self.heads.n_kv_heads,
        };
        rotary(call, Turn::Forward, &plain, out);
    }

    /// The queries of cross-attention.
    pub(super) fn queries(&self, rows: usize, x: &[f32], out: &mut [f32]) {
        self.query.apply(rows, x, out);
    }

    /// Keys and values of `rows` rows of the memory `x`, side by side.
    pub(super) fn keys_values(&self, rows: usize, x: &[f32], out: &mut [f32]) {
        Linear::side_by_side([&self.key, &self.value], rows, x, out);
    }

    /// The output projection.
    pub(super) fn output(&self, rows: usize, x: &[f32], out: &mut [f32]) {
        self.output.apply(rows, x, out);
    }

    /// Self-attention of whole sequences that see all of themselves.
    pub(super) fn attend_itself(
        &self,
        relative: &Relative,
        together: Together<'_>,
        x: &[f32],
        out: &mut [f32],
    ) {
        let Together {
            positions,
            spans,
            buffers,
        } = together;
        let (rows, width, heads) = (positions.len(), self.joined_width(), self.heads);
        let mut joined = buffers.take(rows * width);
        self.project(relative, positions, x, &mut joined, buffers);
        let d = heads.query_width();
        let mut contexts = buffers.take(rows * d);
        for Span { rows, first } in spans {
            let joined = &joined[rows.start * width..rows.end * width];
            let mut blocks = buffers.take(blocks_len(heads, rows.len()));
            store_all(heads, joined, width, d, &mut blocks);
            let blocks: Vec<&[f32]> = blocks.chunks_exact(heads.block_len()).collect();
            let queries = Queries {
                rows: joined,
                stride: width,
                first: *first,
                seen: Seen::All(rows.len()),
            };
            let out = &mut contexts[rows.start * d..rows.end * d];
            self.attend(queries, &blocks, relative.bias.as_ref(), out, None);
        }
        self.output(rows, &contexts, out);
    }
}

/// Elements of the blocks of `positions` positions.
pub(super) fn blocks_len(heads: Heads, positions: usize) -> usize {
    positions.div_ceil(BLOCK) * heads.block_len()
}

/// Fills `blocks` with the keys and values in `rows`, which are `width` wide and have them from `column` on.
pub(super) fn store_all(
    heads: Heads,
    rows: &[f32],
    width: usize,
    column: usize,
    blocks: &mut [f32],
) {
    let blocks = blocks.chunks_exact_mut(heads.block_len());
    for (rows, block) in rows.chunks(BLOCK * width).zip(blocks) {
        for (place, row) in rows.chunks_exact(width).enumerate() {
            let (keys, values) = row[column..].split_at(heads.kv_width());
            heads.store(block, place, keys, &values[..heads.kv_width()]);
        }
    }
}
