use attentive_device::{CachedAttentionCall, CachedScores, LikeliestCall, MatrixColumns, SeenBlocks};

use attentive_kernels::cached_attention::BLOCK;

use super::*;

/// A cache of 40 rows, into which columns of seven rows are put.
pub(super) fn put(
    device: &dyn Device,
    [count, width, first]: [usize; 3],
    pairs: &[[usize; 2]],
) -> Vec<Buffer> {
    let (x, mut cache) = (random(1, 7 * width), room(40 * count));
    let from = MatrixColumns { matrix: &x, width, first };
    device.put_rows(count, from, pairs, &mut cache);
    device.put_rows(count, from, &[], &mut cache);
    vec![cache]
}

#[test]
fn rows_are_put_into_a_cache() {
    for shape in [[3, 5, 1], [64, 200, 128], [1, 1, 0]] {
        agree(&format!("{shape:?}"), |device| put(device, shape, &[[6, 0], [0, 39], [3, 17], [3, 18]]));
    }
}

/// What four queries see: nothing, one position, a block and a half, and more positions than a workgroup has
/// invocations.
const SEEN: [SeenBlocks; 4] = [
    SeenBlocks { first: 0, len: 0 },
    SeenBlocks { first: 1, len: 1 },
    SeenBlocks { first: 0, len: 25 },
    SeenBlocks { first: 2, len: 150 },
];

/// The scores of attention to a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Dot,
    ByDistance,
    /// Of a single head.
    Additive,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Dot, Kind::ByDistance, Kind::Additive];

/// The contexts and the weights of queries, the rows of `matrix`, that have three columns more.
pub(super) fn contexts(
    device: &dyn Device,
    call: CachedAttentionCall<'_>,
    kind: Kind,
    matrix: &Buffer,
) -> Vec<Buffer> {
    let n_blocks = call.blocks.iter().max().map_or(0, |last| last + 1);
    let cache = random(2, n_blocks * BLOCK * call.cache_width());
    let distances = call.n_heads * (BLOCK * call.blocks.len() + 10);
    let (table, v) = (random(3, distances), random(4, call.d_head));
    let scores = match kind {
        Kind::Dot => CachedScores::Dot { scale: 0.7, by_distance: None },
        Kind::ByDistance => CachedScores::Dot { scale: 0.7, by_distance: Some(&table) },
        Kind::Additive => CachedScores::Additive(&v),
    };
    let queries = MatrixColumns { matrix, width: call.n_heads * call.d_head + 3, first: 2 };
    let mut out = room(call.out_len());
    let mut weights: Buffer = vec![0.0; call.weights_len()].into();
    device.cached_attention(call, scores, queries, &cache, &mut out, &mut weights);
    vec![out, weights]
}

#[test]
fn attention_to_a_cache() {
    let blocks = [3, 1, 0, 2, 4, 5, 6, 7, 8, 9, 10, 11];
    for (n_heads, n_kv_heads, d_head, d_value) in [(1, 1, 8, 8), (4, 2, 5, 7), (2, 2, 64, 150)] {
        for kind in KINDS {
            let (n_heads, n_kv_heads) = match kind {
                Kind::Additive => (1, 1),
                _ => (n_heads, n_kv_heads),
            };
            let of =
                |seen| CachedAttentionCall { n_heads, n_kv_heads, d_head, d_value, seen, blocks: &blocks };
            let width = n_heads * d_head + 3;
            let what = format!("{n_heads} heads of {d_head} and {d_value}, {kind:?}");
            let found = agree(&what, |device| contexts(device, of(&SEEN), kind, &random(1, 4 * width)));
            // A query alone gives the same bits.
            let alone = agree(&what, |device| {
                let matrix: Buffer = numbers(1, 4 * width)[2 * width..3 * width].to_vec().into();
                contexts(device, of(&SEEN[2..3]), kind, &matrix)
            });
            if let ([found, _], [alone, _]) = (&found[..], &alone[..]) {
                let d = n_heads * d_value;
                assert_eq!(found[2 * d..3 * d], alone[..], "{what}");
            }
        }
    }
}

/// Asserts that the GPU finds the likeliest tokens of rows of logits.
pub(super) fn assert_likeliest(call: LikeliestCall<'_>, logits: &[f32]) {
    let Some(gpu) = gpu() else {
        return;
    };
    let found = |device: &'static dyn Device| {
        on(device, || {
            let logits: Buffer = logits.to_vec().into();
            caught(|| device.likeliest(call, &logits))
        })
    };
    let (found, expected) = (found(gpu), found(&PLAIN));
    assert_eq!(found.len(), logits.len() / call.vocab);
    for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found.largest, expected.largest, "row {row}: {call:?}");
        let equal = found.log_sum == expected.log_sum;
        let close = (found.log_sum - expected.log_sum).abs() < 1e-5;
        assert!(equal || close, "row {row}: {found:?}, not {expected:?}");
    }
}

#[test]
fn the_likeliest_tokens() {
    let vocab = 1000;
    let mut logits = numbers(1, 5 * vocab);
    // Ties within an invocation and across them, and numbers that are none.
    for index in [0, 7, 128, 135, 999] {
        logits[index] = 3.0;
    }
    logits[vocab + 4] = f32::NAN;
    logits[vocab + 5] = f32::NEG_INFINITY;
    logits[vocab + 600] = f32::INFINITY;
    logits[2 * vocab..3 * vocab].fill(f32::NAN);
    logits[3 * vocab..4 * vocab].fill(f32::NEG_INFINITY);
    let some = [2, 7, 128, 500, 998];
    let all: Vec<u32> = (0..vocab as u32).collect();
    let lists: [&[u32]; 5] = [&some, &all, &some, &[], &all[3..]];
    for (count, never, lists) in
        [(1, &[][..], None), (4, &[7, 600][..], None), (12, &[128][..], Some(&lists[..]))]
    {
        let call = LikeliestCall { vocab, count, never, lists };
        assert_likeliest(call, &logits);
    }
}
