//! What only decoding needs: rows that are put into caches, attention to what is cached, and the likeliest
//! tokens.

use std::borrow::Cow;

use attentive_device::{
    Buffer, CachedAttentionCall, CachedScores, LargestLogits, LikeliestCall, MatrixColumns, RowPairs,
};

use crate::gpu::Gpu;
use crate::pipelines::{GpuKernel, kernels};
use crate::queue::Binding::{Host, Read, ReadIf, Write};
use crate::queue::{Recording, elements, grid};
use crate::word::{all_words, words};

kernels!("../wgsl/rows.wgsl": PUT = "put_rows");

const ATTENTION: GpuKernel = GpuKernel::new("cached_attention", attention_source);
const LIKELIEST: GpuKernel = GpuKernel::new("likeliest", likeliest_source);

/// Tokens of a vocabulary at most: their numbers are written as numbers in single precision.
const TOKENS: usize = 1 << 24;

fn attention_source(_: usize) -> Cow<'static, str> {
    concat!(include_str!("../wgsl/reduce.wgsl"), include_str!("../wgsl/cached_attention.wgsl")).into()
}

fn likeliest_source(_: usize) -> Cow<'static, str> {
    concat!(include_str!("../wgsl/reduce.wgsl"), include_str!("../wgsl/likeliest.wgsl")).into()
}

pub(crate) fn put_rows(
    recording: &mut Recording<'_>,
    count: usize,
    from: MatrixColumns<&Buffer>,
    pairs: RowPairs<'_>,
    to: &Buffer,
) {
    let n = pairs.len() * count;
    if n == 0 {
        return;
    }
    for &[source, target] in pairs {
        assert!((source + 1) * from.width <= from.matrix.len(), "row {source}");
        assert!((target + 1) * count <= to.len(), "row {target} of a result");
    }
    let pairs = recording.upload(&all_words(pairs.iter().flatten().copied()));
    let bindings = [Read(from.matrix), Host(&pairs), Write(to)];
    let parameters = words![n, count, from.width, from.first];
    recording.run(PUT, &bindings, &parameters, elements(n));
}

pub(crate) fn cached_attention(
    recording: &mut Recording<'_>,
    call: CachedAttentionCall<'_>,
    scores: CachedScores<&Buffer>,
    queries: MatrixColumns<&Buffer>,
    cache: &Buffer,
    [out, weights]: [&Buffer; 2],
) {
    let rows = call.seen.len();
    assert_eq!(out.len(), call.out_len(), "{rows} contexts");
    assert!(weights.len() >= call.weights_len(), "{rows} rows of weights");
    if out.is_empty() {
        return;
    }
    let seen = call.seen.iter().flat_map(|seen| [2 * rows + seen.first, seen.len]);
    let seen: Vec<usize> = seen.chain(call.blocks.iter().copied()).collect();
    let seen = recording.upload(&all_words(seen));
    let (kind, scale, operand) = match scores {
        CachedScores::Dot { scale, by_distance } => (u32::from(by_distance.is_some()), scale, by_distance),
        CachedScores::Additive(v) => (2, 1.0, Some(v)),
    };
    let by_distance = operand.map_or(0, |operand| operand.len() / call.n_heads);
    let parameters = words![
        rows,
        call.n_heads,
        call.n_kv_heads,
        call.d_head,
        call.d_value,
        queries.width,
        queries.first,
        call.longest(),
        kind,
        scale,
        by_distance,
    ];
    let bindings =
        [Read(queries.matrix), Read(cache), Host(&seen), ReadIf(operand), Write(out), Write(weights)];
    recording.run(ATTENTION, &bindings, &parameters, grid(rows * call.n_heads));
}

/// The largest logits, for which the host waits.
pub(crate) fn likeliest(gpu: &Gpu, call: LikeliestCall<'_>, logits: &Buffer) -> Vec<LargestLogits> {
    let LikeliestCall { vocab, count, never, lists } = call;
    assert!(vocab <= TOKENS, "{vocab} tokens");
    let rows = logits.len() / vocab;
    let width = 2 + 2 * count;
    let mut recording = gpu.record();
    let found = recording.room(rows * width);
    if rows > 0 {
        let mut numbers = never.to_vec();
        if let Some(lists) = lists {
            let mut start = never.len() + 2 * rows;
            for list in lists {
                numbers.extend(words![start, list.len()]);
                start += list.len();
            }
            numbers.extend(lists.iter().flat_map(|list| list.iter()));
        }
        let numbers = recording.upload(&numbers);
        let parameters = words![rows, vocab, count, never.len(), lists.is_some()];
        let bindings = [Read(logits), Host(&numbers), Write(&found)];
        recording.run(LIKELIEST, &bindings, &parameters, grid(rows));
    }
    drop(recording);
    let words = gpu.read(&[&found]).concat();
    let of_row = |row: &[u32]| {
        let row: Vec<f32> = row.iter().copied().map(f32::from_bits).collect();
        let (top, sum) = (f64::from(row[0]), f64::from(row[1]));
        let largest = row[2..].chunks_exact(2).take_while(|pair| pair[1] >= 0.0);
        LargestLogits {
            log_sum: if sum > 0.0 { top + sum.ln() } else { f64::NEG_INFINITY },
            largest: largest.map(|pair| (pair[0], pair[1] as u32)).collect(),
        }
    };
    words.chunks_exact(width).map(of_row).collect()
}
