use super::*;
use crate::attention::{AttentionInputs, AttentionShape, Causality, QkvOperands, Scores, attention};
use crate::gemm::bf16;
use crate::testing::{bits, random};

fn heads(n_heads: usize, n_kv_heads: usize, d_head: usize) -> Heads {
    Heads { n_heads, n_kv_heads, d_head, scale: 0.3 }
}

/// The blocks of keys and values `[len, 2 * kv_width]`, with NaN after the last position.
fn blocks(layout: CacheLayout, keys_values: &[f32]) -> Vec<Vec<f32>> {
    let width = layout.heads.kv_width();
    let positions: Vec<&[f32]> = keys_values.chunks_exact(2 * width).collect();
    let block = |positions: &[&[f32]]| {
        let mut block = vec![f32::from_bits(u32::MAX); layout.block_len()];
        for (index, position) in positions.iter().enumerate() {
            let (keys, values) = position.split_at(width);
            layout.store(&mut block, index, keys, values);
        }
        block
    };
    positions.chunks(BLOCK).map(block).collect()
}

fn found(
    layout: CacheLayout,
    queries: Queries<'_>,
    n: usize,
    keys_values: &[f32],
    bias: Option<&DistanceBiasValues>,
) -> (Vec<f32>, Vec<f32>) {
    let blocks = blocks(layout, keys_values);
    let blocks: Vec<&[f32]> = blocks.iter().map(Vec::as_slice).collect();
    let blocks = SequenceBlocks { own: &blocks, next: &[] };
    let mut out = vec![f32::NAN; n * layout.heads.query_width()];
    let mut weights = vec![f32::NAN; n * queries.visible(n - 1)];
    let accumulation = Accumulation::AsInMatrixProducts;
    layout.attend(queries, blocks, bias, accumulation, &mut out, Some(&mut weights));
    // What is read next changes nothing.
    let blocks = SequenceBlocks { next: blocks.own.get(1..).unwrap_or_default(), ..blocks };
    let mut again = vec![f32::NAN; out.len()];
    layout.attend(queries, blocks, bias, accumulation, &mut again, None);
    assert_eq!(bits(&out), bits(&again));
    (out, weights)
}

const CASES: [(usize, usize, usize); 5] = [(1, 1, 6), (4, 2, 16), (2, 2, 32), (3, 1, 40), (1, 1, 300)];

/// Regression test: with an odd number of values in bfloat16, the last ones once were not copied.
#[test]
fn what_is_copied_is_all_of_the_places_before() {
    for (n_heads, n_kv_heads, d_head) in CASES.into_iter().chain([(1, 1, 1), (2, 1, 3), (3, 3, 5)]) {
        for numbers in [Float::F32, Float::Bf16] {
            let layout = heads(n_heads, n_kv_heads, d_head).stored_in(numbers);
            let width = layout.heads.kv_width();
            for len in 0..BLOCK {
                let all = random((len + 1) * 2 * width, 3);
                let (before, new) = all.split_at(len * 2 * width);
                let whole = blocks(layout, &all).remove(0);
                let mut copy = vec![f32::from_bits(u32::MAX); layout.block_len()];
                let from = blocks(layout, before).pop().unwrap_or_else(|| copy.clone());
                layout.copy(&from, &mut copy, len);
                let (keys, values) = new.split_at(width);
                layout.store(&mut copy, len, keys, values);
                assert_eq!(bits(&copy), bits(&whole), "{layout:?}, {len} positions");
            }
        }
    }
}

#[test]
fn it_equals_attention_to_the_bit() {
    for (n_heads, n_kv_heads, d_head) in CASES {
        let heads = heads(n_heads, n_kv_heads, d_head);
        for (tgt_len, src_len) in [(1, 1), (1, 15), (2, 16), (3, 17), (5, 70), (6, 33), (9, 530)] {
            let q = random(tgt_len * heads.query_width(), 1);
            let kv = random(src_len * 2 * heads.kv_width(), 2);
            let inputs = AttentionInputs {
                operands: QkvOperands::Apart { queries: &q[..], keys_values: &kv[..] },
                lengths: None,
                scores: Scores { scale: heads.scale, causality: Causality::Full, bias: None },
                dropout: None,
            };
            let mut expected = vec![0.0; q.len()];
            let shape = AttentionShape { batch: 1, n_heads, n_kv_heads, tgt_len, src_len, d_head };
            attention(shape, inputs, &mut expected);
            let queries =
                Queries { rows: &q, stride: heads.query_width(), first: 0, seen: VisibleKeys::All(src_len) };
            let (out, weights) = found(heads.stored_in(Float::F32), queries, tgt_len, &kv, None);
            assert_eq!(bits(&out), bits(&expected), "{heads:?} {tgt_len} {src_len}");
            for row in weights.chunks(src_len) {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn later_keys_are_hidden_and_distances_biased_as_in_attention() {
    for (n_heads, n_kv_heads, d_head) in CASES {
        let heads = heads(n_heads, n_kv_heads, d_head);
        let of =
            |head: usize, query: usize, key: usize| ((head * 7 + query * 3) as f32 - key as f32 * 3.0).sin();
        let of = |head: usize, query: usize, key: usize| {
            of(head, 40 + query.saturating_sub(key), 40 + key.saturating_sub(query))
        };
        for (first, n) in [(0, 1), (0, 6), (20, 1), (31, 3)] {
            let len = first + n;
            let q = random(n * heads.query_width(), 1);
            let kv = random(len * 2 * heads.kv_width(), 2);
            let all = |head| (first..len).flat_map(move |q| (0..len).map(move |k| of(head, q, k)));
            let bias: Vec<f32> = (0..n_heads).flat_map(all).collect();
            let inputs = AttentionInputs {
                operands: QkvOperands::Apart { queries: &q[..], keys_values: &kv[..] },
                lengths: None,
                scores: Scores { scale: heads.scale, causality: Causality::Causal, bias: Some(&bias[..]) },
                dropout: None,
            };
            let mut expected = vec![0.0; q.len()];
            let shape = AttentionShape { batch: 1, n_heads, n_kv_heads, tgt_len: n, src_len: len, d_head };
            attention(shape, inputs, &mut expected);
            let queries =
                Queries { rows: &q, stride: heads.query_width(), first, seen: VisibleKeys::Earlier };
            let bias = DistanceBiasValues::new(n_heads, 50, of);
            let (out, _) = found(heads.stored_in(Float::F32), queries, n, &kv, Some(&bias));
            assert_eq!(bits(&out), bits(&expected), "{heads:?} {first} {n}");
        }
    }
}

#[test]
fn without_keys_the_result_is_zero() {
    let heads = heads(2, 1, 8);
    let q = random(heads.query_width(), 1);
    let queries = Queries { rows: &q, stride: q.len(), first: 0, seen: VisibleKeys::All(0) };
    let (out, _) = found(heads.stored_in(Float::F32), queries, 1, &[], None);
    assert_eq!(out, vec![0.0; q.len()]);
}

#[test]
fn in_bfloat16_it_equals_attention_to_the_rounded_keys_and_values() {
    for (n_heads, n_kv_heads, d_head) in CASES {
        let heads = heads(n_heads, n_kv_heads, d_head);
        for (n, len) in [(1, 1), (1, 15), (2, 16), (3, 17), (5, 70), (8, 33), (9, 530)] {
            let q = random(n * heads.query_width(), 1);
            let kv = random(len * 2 * heads.kv_width(), 2);
            let rounded: Vec<f32> = kv.iter().map(|&x| bf16::round(x)).collect();
            assert_ne!(kv, rounded);
            for seen in [VisibleKeys::All(len), VisibleKeys::Earlier] {
                let queries =
                    Queries { rows: &q, stride: heads.query_width(), first: len - n.min(len), seen };
                if queries.visible(n - 1) > len {
                    continue;
                }
                let (out, weights) = found(heads.stored_in(Float::Bf16), queries, n, &kv, None);
                let plain = found(heads.stored_in(Float::F32), queries, n, &rounded, None);
                assert_eq!(bits(&out), bits(&plain.0), "{heads:?} {n} {len} {seen:?}");
                assert_eq!(bits(&weights), bits(&plain.1));
            }
        }
    }
}

#[test]
fn a_block_in_bfloat16_has_half_the_words() {
    let heads = heads(3, 1, 5);
    let [single, half] = [Float::F32, Float::Bf16].map(|numbers| heads.stored_in(numbers));
    assert_eq!(single.block_len(), 2 * BLOCK * 5);
    assert_eq!(2 * half.block_len(), single.block_len());
}
