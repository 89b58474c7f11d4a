//! Operations of decoding.

use attentive_device::{CachedAttentionCall, LikeliestCall, RotaryCall, RowPositions, SeenBlocks};
use attentive_kernels::cached_attention::BLOCK;
use attentive_kernels::rotary::{RotaryTable, frequencies};

use super::*;
use crate::decoding::{KINDS, Kind, assert_likeliest, contexts, put};

pub(super) const ALL: [fn(&mut Random); 4] = [put_rows, rotary, cached_attention, likeliest];

/// Rows of a cache, of which each is written once.
fn put_rows(random: &mut Random) {
    let [count, before, behind] = [200, 100, 100].map(|end| below(random, end));
    let shape = [1 + count, 1 + count + before + behind, before];
    let mut pairs = Vec::new();
    for to in 0..40 {
        if one_of(random, &[true, false]) {
            pairs.push([below(random, 7), to]);
        }
    }
    agree(&format!("{shape:?}: {pairs:?}"), |device| put(device, shape, &pairs));
}

fn rotary(random: &mut Random) {
    let [half, heads, more, sequences, len] = [40, 4, 50, 4, 30].map(|end| below(random, end));
    let (d_head, rows) = (2 * (1 + half), sequences * (1 + len));
    let table = RotaryTable::new(frequencies(1e4, d_head), 64);
    let each: Vec<usize> = (0..rows).map(|_| below(random, 64)).collect();
    let all = [RowPositions::Sequences(1 + len), RowPositions::Each(&each)];
    let call =
        RotaryCall { table: &table, positions: one_of(random, &all), width: heads * d_head + more, heads };
    agree(&format!("{call:?}, {rows} rows"), |device| rows::turned(device, call, rows));
}

fn cached_attention(random: &mut Random) {
    let kind = one_of(random, &KINDS);
    let (groups, kv_heads) = match kind {
        Kind::Additive => (1, 1),
        _ => (1 + below(random, 3), 1 + below(random, 3)),
    };
    let [d_head, d_value, queries, n_blocks] = [80, 160, 12, 20].map(|end| 1 + below(random, end));
    let d_value = one_of(random, &[d_head, d_value]);
    let blocks: Vec<usize> = (0..n_blocks).map(|_| below(random, n_blocks)).collect();
    let seen = (0..queries).map(|_| {
        let first = below(random, n_blocks);
        SeenBlocks { first, len: below(random, (n_blocks - first) * BLOCK + 1) }
    });
    let seen: Vec<SeenBlocks> = seen.collect();
    let call = CachedAttentionCall {
        n_heads: groups * kv_heads,
        n_kv_heads: kv_heads,
        d_head,
        d_value,
        seen: &seen,
        blocks: &blocks,
    };
    let width = call.n_heads * d_head + 3;
    agree(&format!("{kind:?}, {call:?}"), |device| {
        contexts(device, call, kind, &crate::random(1, queries * width))
    });
}

fn likeliest(random: &mut Random) {
    let [rows, vocab] = [12, 3000].map(|end| 1 + below(random, end));
    let mut logits = numbers(5, rows * vocab);
    // Ties, and logits of all sizes.
    let step = one_of(random, &[0.0, 0.01, 0.5]);
    for logit in &mut logits {
        if step > 0.0 {
            *logit = (*logit / step).round();
        }
    }
    for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for _ in 0..below(random, 3) {
            logits[below(random, rows * vocab)] = special;
        }
    }
    let mut some = || -> Vec<u32> {
        let kept = random.uniform();
        (0..vocab as u32).filter(|_| random.uniform() < kept).collect()
    };
    let (never, lists) = (some(), (0..rows).map(|_| some()).collect::<Vec<_>>());
    let lists: Vec<&[u32]> = lists.iter().map(|list| &list[..]).collect();
    let call = LikeliestCall {
        vocab,
        count: 1 + below(random, 16),
        never: &never[..never.len().min(8)],
        lists: one_of(random, &[None, Some(&lists[..])]),
    };
    assert_likeliest(call, &logits);
}
