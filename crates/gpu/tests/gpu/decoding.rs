use attentive_device::{CachedAttentionCall, CachedScores, Columns, LikeliestCall, SeenBlocks};

use super::*;

#[test]
fn rows_are_put_into_a_cache() {
    for (count, width, first) in [(3, 5, 1), (64, 200, 128), (1, 1, 0)] {
        agree(&format!("{count} of {width} columns"), |device| {
            let (x, mut cache) = (random(1, 7 * width), room(40 * count));
            let from = Columns {
                matrix: &x,
                width,
                first,
            };
            device.put_rows(
                count,
                from,
                &[[6, 0], [0, 39], [3, 17], [3, 18]],
                &mut cache,
            );
            device.put_rows(count, from, &[], &mut cache);
            vec![cache]
        });
    }
}

/// What four queries see: nothing, one position, a block and a half, and more positions than a workgroup has invocations.
const SEEN: [SeenBlocks; 4] = [
    SeenBlocks { first: 0, len: 0 },
    SeenBlocks { first: 1, len: 1 },
    SeenBlocks { first: 0, len: 25 },
    SeenBlocks { first: 2, len: 150 },
];

#[test]
fn attention_to_a_cache() {
    let blocks = [3, 1, 0, 2, 4, 5, 6, 7, 8, 9, 10, 11];
    for (n_heads, n_kv_heads, d_head, d_value) in [(1, 1, 8, 8), (4, 2, 5, 7), (2, 2, 64, 150)] {
        for kind in 0..3 {
            // The only head of additive attention.
            let (n_heads, n_kv_heads) = if kind == 2 {
                (1, 1)
            } else {
                (n_heads, n_kv_heads)
            };
            let all = |seen| CachedAttentionCall {
                n_heads,
                n_kv_heads,
                d_head,
                d_value,
                seen,
                blocks: &blocks,
            };
            let width = n_heads * d_head + 3;
            let contexts = |device: &dyn Device, seen, matrix: &Buffer| {
                let call = all(seen);
                let cache = random(2, 12 * 16 * call.cache_width());
                let (table, v) = (random(3, n_heads * 160), random(4, d_head));
                let scores = match kind {
                    0 => CachedScores::Dot {
                        scale: 0.7,
                        by_distance: None,
                    },
                    1 => CachedScores::Dot {
                        scale: 0.7,
                        by_distance: Some(&table),
                    },
                    _ => CachedScores::Additive(&v),
                };
                let queries = Columns {
                    matrix,
                    width,
                    first: 2,
                };
                let mut out = room(call.out_len());
                let mut weights: Buffer = vec![0.0; call.weights_len()].into();
                device.cached_attention(call, scores, queries, &cache, &mut out, &mut weights);
                vec![out, weights]
            };
            let what = format!("{n_heads} heads of {d_head} and {d_value}, kind {kind}");
            let found = agree(&what, |device| {
                let matrix = random(1, 4 * width);
                contexts(device, &SEEN, &matrix)
            });
            // A query alone gives the same bits.
            let alone = agree(&what, |device| {
                let matrix: Buffer = numbers(1, 4 * width)[2 * width..3 * width].to_vec().into();
                contexts(device, &SEEN[2..3], &matrix)
            });
            if let ([found, _], [alone, _]) = (&found[..], &alone[..]) {
                let d = n_heads * d_value;
                assert_eq!(found[2 * d..3 * d], alone[..], "{what}");
            }
        }
    }
}

#[test]
fn the_likeliest_tokens() {
    let Some(gpu) = gpu() else {
        return;
    };
    let vocab = 1000;
    let mut logits = numbers(1, 5 * vocab);
    // Ties within an invocation and across them, and numbers that are none.
    for place in [0, 7, 128, 135, 999] {
        logits[place] = 3.0;
    }
    logits[vocab + 4] = f32::NAN;
    logits[vocab + 5] = f32::NEG_INFINITY;
    logits[vocab + 600] = f32::INFINITY;
    logits[2 * vocab..3 * vocab].fill(f32::NAN);
    logits[3 * vocab..4 * vocab].fill(f32::NEG_INFINITY);
    let some = [2, 7, 128, 500, 998];
    let all: Vec<u32> = (0..vocab as u32).collect();
    let lists: [&[u32]; 5] = [&some, &all, &some, &[], &all[3..]];
    for (count, never, lists) in [
        (1, &[][..], None),
        (4, &[7, 600][..], None),
        (12, &[128][..], Some(&lists[..])),
    ] {
        let found = |device: &'static dyn Device| {
            on(device, || {
                let logits: Buffer = logits.clone().into();
                let call = LikeliestCall {
                    vocab,
                    count,
                    never,
                    lists,
                };
                caught(|| device.likeliest(call, &logits))
            })
        };
        let (found, expected) = (found(gpu), found(&PLAIN));
        assert_eq!(found.len(), 5);
        for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found.largest, expected.largest, "row {row}, {count}");
            let equal = found.log_sum == expected.log_sum;
            let close = (found.log_sum - expected.log_sum).abs() < 1e-5;
            assert!(equal || close, "row {row}: {found:?}, not {expected:?}");
        }
    }
}
