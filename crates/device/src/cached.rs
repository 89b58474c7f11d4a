//! The operations that only decoding needs: rows that are put into caches, attention to what is cached, and
//! the likeliest tokens. Here they are computed on the host, one number after the other, for devices that
//! have no faster way and as what tests compare with; the engine of the CPU uses
//! [`attentive_kernels::cached_attention`] instead.

use attentive_kernels::cached_attention::BLOCK;
use attentive_kernels::top_k::{largest, log_sum_exp};

/// Rows that are copied: row `[from, to]` of one matrix to that of another one. No row is written twice.
pub type RowPairs<'a> = &'a [[usize; 2]];

/// Attention of single queries to the keys and values of positions in a cache.
///
/// A row of the cache has a position's keys `[n_kv_heads, d_head]`, then its values `[n_kv_heads, d_value]`.
/// Rows are in blocks of [`BLOCK`].
#[derive(Clone, Copy, Debug)]
pub struct CachedAttentionCall<'a> {
    /// The heads of queries.
    pub n_heads: usize,
    /// The heads of keys and values, each of which serves as many neighboring heads of queries.
    pub n_kv_heads: usize,
    /// The width of a query and of a key.
    pub d_head: usize,
    /// The width of a value.
    pub d_value: usize,
    /// The blocks that each query sees.
    pub seen: &'a [SeenBlocks],
    /// The blocks to which `seen` refers.
    pub blocks: &'a [usize],
}

/// The positions that a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenBlocks {
    /// The index of the first block in the list of blocks.
    pub first: usize,
    /// The number of positions; with none, the context is zeros.
    pub len: usize,
}

/// The scores of queries and keys.
#[derive(Clone, Copy, Debug)]
pub enum CachedScores<T> {
    /// scale · q · k
    Dot {
        /// The factor.
        scale: f32,
        /// `[n_heads, distances]`: what is added for each distance of the key from the last position that is
        /// seen.
        by_distance: Option<T>,
    },
    /// vᵀ tanh(q + k) with v `[d_head]`.
    Additive(T),
}

impl<T> CachedScores<T> {
    /// The same with other operands.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> CachedScores<U> {
        match self {
            Self::Dot { scale, by_distance } => CachedScores::Dot { scale, by_distance: by_distance.map(f) },
            Self::Additive(v) => CachedScores::Additive(f(v)),
        }
    }
}

impl CachedAttentionCall<'_> {
    /// The width of a row of the cache.
    pub fn cache_width(&self) -> usize {
        self.n_kv_heads * (self.d_head + self.d_value)
    }

    /// The most positions that a query sees: the width of a row of weights.
    pub fn longest(&self) -> usize {
        self.seen.iter().map(|seen| seen.len).max().unwrap_or(0)
    }

    /// The elements of the result, `[queries, n_heads, d_value]`.
    pub fn out_len(&self) -> usize {
        self.seen.len() * self.n_heads * self.d_value
    }

    /// The elements of the weights, `[queries, n_heads, longest]`.
    pub fn weights_len(&self) -> usize {
        self.seen.len() * self.n_heads * self.longest()
    }

    /// The row of the cache with position `position` of what a query sees.
    fn row(&self, seen: SeenBlocks, position: usize) -> usize {
        self.blocks[seen.first + position / BLOCK] * BLOCK + position % BLOCK
    }
}

/// A request for the largest logits of rows.
#[derive(Clone, Copy, Debug)]
pub struct LikeliestCall<'a> {
    /// The number of tokens.
    pub vocab: usize,
    /// How many of the largest logits of each row are wanted.
    pub count: usize,
    /// Tokens that are not among the largest, but count in the sum.
    pub never: &'a [u32],
    /// The only tokens of each row that count, in increasing order; all without lists.
    pub lists: Option<&'a [&'a [u32]]>,
}

/// The largest logits of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct LargestLogits {
    /// The logarithm of the sum of exponentials.
    pub log_sum: f64,
    /// The largest logits with their tokens, largest first; ties go to the lower token.
    pub largest: Vec<(f32, u32)>,
}

/// Copies columns of `from`, `count` from `first` on in rows of `width`, to rows of `to`, which are `count`
/// wide.
pub fn put_rows(
    count: usize,
    (from, width, first): (&[f32], usize, usize),
    pairs: RowPairs<'_>,
    to: &mut [f32],
) {
    for &[source, target] in pairs {
        let row = &from[source * width + first..][..count];
        to[target * count..][..count].copy_from_slice(row);
    }
}

/// The contexts and weights of queries, each `n_heads · d_head` wide, from `first` on in rows of `width`.
pub fn cached_attention(
    call: CachedAttentionCall<'_>,
    scores: CachedScores<&[f32]>,
    (queries, width, first): (&[f32], usize, usize),
    cache: &[f32],
    out: &mut [f32],
    weights: &mut [f32],
) {
    let (n_heads, d_head, d_value) = (call.n_heads, call.d_head, call.d_value);
    let (row_width, longest) = (call.cache_width(), call.longest());
    out.fill(0.0);
    for (query, &seen) in call.seen.iter().enumerate() {
        for head in 0..n_heads {
            let q = &queries[query * width + first + head * d_head..][..d_head];
            let kv = head / (n_heads / call.n_kv_heads);
            let number = query * n_heads + head;
            let of_head = &mut weights[number * longest..][..seen.len];
            for (position, weight) in of_head.iter_mut().enumerate() {
                let key = &cache[call.row(seen, position) * row_width + kv * d_head..][..d_head];
                let pairs = q.iter().zip(key);
                *weight = match scores {
                    CachedScores::Dot { scale, by_distance } => {
                        let product: f32 = pairs.map(|(q, k)| q * k).sum();
                        let distance = seen.len - 1 - position;
                        let each = |table: &[f32]| table[head * (table.len() / n_heads) + distance];
                        product * scale + by_distance.map_or(0.0, each)
                    }
                    CachedScores::Additive(v) => pairs.zip(v).map(|((q, k), v)| v * (q + k).tanh()).sum(),
                };
            }
            let top = of_head.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            of_head.iter_mut().for_each(|x| *x = (*x - top).exp());
            let total: f32 = of_head.iter().sum();
            let context = &mut out[number * d_value..][..d_value];
            for (position, weight) in of_head.iter_mut().enumerate() {
                *weight /= total;
                let row = &cache[call.row(seen, position) * row_width..][..row_width];
                let value = &row[call.n_kv_heads * d_head + kv * d_value..][..d_value];
                context.iter_mut().zip(value).for_each(|(sum, v)| *sum += *weight * v);
            }
        }
    }
}

/// What is wanted of `logits`, `[rows, vocab]`.
pub fn likeliest(call: LikeliestCall<'_>, logits: &[f32]) -> Vec<LargestLogits> {
    let of_row = |(number, row): (usize, &[f32])| match call.lists {
        None => LargestLogits { log_sum: log_sum_exp(row), largest: largest(row, call.count, call.never) },
        Some(lists) => {
            let listed: Vec<f32> = lists[number].iter().map(|&token| row[token as usize]).collect();
            let index = |token: &u32| lists[number].binary_search(token).ok();
            let never: Vec<u32> = call.never.iter().filter_map(index).map(|index| index as u32).collect();
            let token = |(logit, index): (f32, u32)| (logit, lists[number][index as usize]);
            LargestLogits {
                log_sum: log_sum_exp(&listed),
                largest: largest(&listed, call.count, &never).into_iter().map(token).collect(),
            }
        }
    };
    logits.chunks_exact(call.vocab).enumerate().map(of_row).collect()
}
