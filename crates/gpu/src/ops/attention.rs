//! Multi-head attention.

use std::borrow::Cow;

use attentive_device::{AttentionInputs, AttentionShape, Buffer, Lengths, QkvOperands};
use attentive_kernels::attention::Causality;

use super::dropout::mask;
use super::elementwise::fill;
use crate::pipelines::GpuKernel;
use crate::queue::Binding::{Host, Read, ReadIf, Write};
use crate::queue::{Recording, Uploaded, grid};
use crate::word::{all_words, words};

/// Queries and keys of a block, and columns of a chunk.
const BLOCK: usize = 32;

/// The kernels for heads with this number of chunks of columns.
fn source(chunks: usize) -> Cow<'static, str> {
    let mut source = include_str!("../wgsl/dropout.wgsl").to_owned();
    for line in include_str!("../wgsl/attention.wgsl").lines() {
        match line.trim_start().strip_prefix("EACH ") {
            Some(line) => (0..chunks).for_each(|chunk| {
                source.push_str(&line.replace("CHUNK", &chunk.to_string()));
                source.push('\n');
            }),
            None => {
                source.push_str(line);
                source.push('\n');
            }
        }
    }
    source.into()
}

fn kernel(entry: &'static str, shape: AttentionShape) -> GpuKernel {
    GpuKernel { entry, source, variant: shape.d_head.div_ceil(BLOCK) }
}

/// One call: its operands and parameters.
struct Call<'a> {
    shape: AttentionShape,
    queries: &'a Buffer,
    keys_values: &'a Buffer,
    lengths: Uploaded,
    bias: Option<&'a Buffer>,
    parameters: Vec<u32>,
}

impl<'a> Call<'a> {
    fn new(
        recording: &mut Recording<'_>,
        shape: AttentionShape,
        inputs: &AttentionInputs<'_, &'a Buffer>,
    ) -> Self {
        let (width, kv_width) = (shape.query_width(), shape.kv_width());
        let (queries, keys_values, [q_row, first, kv_row]) = match inputs.operands {
            QkvOperands::Joined(all) => {
                let joined = shape.joined_width();
                (all, all, [joined, width, joined])
            }
            QkvOperands::Apart { queries, keys_values } => (queries, keys_values, [width, 0, 2 * kv_width]),
        };
        check(shape, queries, q_row, keys_values, kv_row);
        let lens = inputs.lengths.map_or(&[][..], Lengths::lens);
        let lengths = recording.upload(&all_words(lens.iter().copied()));
        let scores = inputs.scores;
        let numbers = words![
            shape.batch,
            shape.n_heads,
            shape.n_kv_heads,
            shape.tgt_len,
            shape.src_len,
            shape.d_head,
            scores.causality == Causality::Causal,
            scores.bias.is_some(),
            inputs.lengths.is_some(),
            inputs.dropout.is_some(),
            scores.scale,
            q_row,
            first,
            first + kv_width,
            kv_row,
            width,
        ];
        Self {
            shape,
            queries,
            keys_values,
            lengths,
            bias: scores.bias,
            parameters: [&mask(inputs.dropout)[..], &numbers].concat(),
        }
    }

    /// Runs a kernel with this many workgroups for each head of each sentence.
    fn run(
        &self,
        recording: &mut Recording<'_>,
        entry: &'static str,
        [grad, sums]: [Option<&Buffer>; 2],
        out: &Buffer,
        groups: usize,
    ) {
        let mut bindings =
            vec![Read(self.queries), Read(self.keys_values), Host(&self.lengths), ReadIf(self.bias)];
        bindings.extend(grad.map(Read));
        bindings.extend(sums.map(Read));
        bindings.push(Write(out));
        let kernel = kernel(entry, self.shape);
        recording.run(kernel, &bindings, &self.parameters, grid(groups));
    }

    /// The blocks of queries of all heads.
    fn query_blocks(&self) -> usize {
        let shape = self.shape;
        shape.batch * shape.n_heads * shape.tgt_len.div_ceil(BLOCK)
    }
}

fn check(shape: AttentionShape, queries: &Buffer, q_row: usize, keys_values: &Buffer, kv_row: usize) {
    let AttentionShape { batch, tgt_len, src_len, .. } = shape;
    assert_eq!(queries.len(), batch * tgt_len * q_row, "{shape:?}");
    assert_eq!(keys_values.len(), batch * src_len * kv_row, "{shape:?}");
    let weights = batch * shape.n_heads * tgt_len * src_len;
    assert!(u32::try_from(weights).is_ok(), "more than 2³² weights: {shape:?}");
}

pub(crate) fn attention(
    recording: &mut Recording<'_>,
    shape: AttentionShape,
    inputs: AttentionInputs<'_, &Buffer>,
    out: &Buffer,
) {
    if out.is_empty() {
        return;
    }
    let call = Call::new(recording, shape, &inputs);
    call.run(recording, "attention", [None; 2], out, call.query_blocks());
}

pub(crate) fn attention_backward(
    recording: &mut Recording<'_>,
    shape: AttentionShape,
    inputs: AttentionInputs<'_, &Buffer>,
    grad: &Buffer,
    gradients: QkvOperands<&mut Buffer>,
    dbias: Option<&mut Buffer>,
) {
    let (of_queries, of_keys_values) = match &gradients {
        QkvOperands::Joined(all) => (&**all, &**all),
        QkvOperands::Apart { queries, keys_values } => (&**queries, &**keys_values),
    };
    if grad.is_empty() || of_keys_values.is_empty() {
        fill(recording, of_queries, 0.0);
        fill(recording, of_keys_values, 0.0);
        if let Some(dbias) = dbias {
            fill(recording, dbias, 0.0);
        }
        return;
    }
    let call = Call::new(recording, shape, &inputs);
    let sums = recording.room(2 * shape.batch * shape.n_heads * shape.tgt_len);
    let queries = call.query_blocks();
    call.run(recording, "attention_sums", [Some(grad), None], &sums, queries);
    let inputs = [Some(grad), Some(&sums)];
    call.run(recording, "attention_queries", inputs, of_queries, queries);
    let of_keys = shape.src_len.div_ceil(BLOCK);
    let keys = shape.batch * shape.n_kv_heads * of_keys;
    call.run(recording, "attention_keys", inputs, of_keys_values, keys);
    if let Some(dbias) = dbias {
        let blocks = shape.n_heads * shape.tgt_len.div_ceil(BLOCK) * of_keys;
        call.run(recording, "attention_bias", inputs, dbias, blocks);
    }
}
