//! Additive attention with one query per sentence: a step of sequences of one position, with the kernels of
//! [`super::attentive_recurrent`].

use attentive_device::{AdditiveAttentionGradients, AdditiveAttentionInputs, AdditiveAttentionShape, Buffer};

use super::attentive_recurrent::{ATTEND, BACKWARD, KEYS, VALUES};
use super::elementwise::fill;
use super::sums::ColumnSums;
use crate::queue::Binding::{Host, Read, Write};
use crate::queue::{Recording, Uploaded, elements, grid};
use crate::word::{all_words, words};

/// The schedule of the sentences, each of which has one position: its number, its length and its keys; then
/// the rows of the steps in a tape.
fn schedule(
    recording: &mut Recording<'_>,
    shape: AdditiveAttentionShape,
    inputs: &AdditiveAttentionInputs<'_, &Buffer>,
) -> Uploaded {
    let AdditiveAttentionShape { rows, src_len, d_key, d_value } = shape;
    assert_eq!(inputs.queries.len(), rows * d_key, "{shape:?}");
    assert_eq!(inputs.keys.len(), rows * src_len * d_key, "{shape:?}");
    assert_eq!(inputs.values.len(), rows * src_len * d_value, "{shape:?}");
    assert_eq!(inputs.v.len(), d_key, "{shape:?}");
    if let Some(lengths) = inputs.lengths {
        assert_eq!([lengths.rows(), lengths.width()], [rows, src_len], "{shape:?}");
    }
    let keys = |row: usize| inputs.lengths.map_or(src_len, |lengths| lengths.lens()[row]);
    let of_ranks = (0..rows).flat_map(|row| [row, 1, keys(row)]);
    recording.upload(&all_words(of_ranks.chain([0, rows])))
}

/// The parameters of the kernels at the only step.
fn parameters(shape: AdditiveAttentionShape) -> [u32; 11] {
    let AdditiveAttentionShape { rows, src_len, d_key, d_value } = shape;
    let [columns_before, len, step, tape_first] = [0_usize, 1, 0, 0];
    let (is_backward, keeps) = (false, true);
    words![src_len, d_key, d_value, d_value, columns_before, len, is_backward, rows, step, tape_first, keeps,]
}

pub(crate) fn additive_attention(
    recording: &mut Recording<'_>,
    shape: AdditiveAttentionShape,
    inputs: AdditiveAttentionInputs<'_, &Buffer>,
    out: &Buffer,
    weights: &Buffer,
) {
    let schedule = schedule(recording, shape, &inputs);
    fill(recording, weights, 0.0);
    let by_rank = recording.room(shape.rows * shape.d_value);
    let bindings = [
        Read(inputs.queries),
        Read(inputs.keys),
        Read(inputs.values),
        Read(inputs.v),
        Host(&schedule),
        Write(out),
        Write(&by_rank),
        Write(weights),
    ];
    recording.run(ATTEND, &bindings, &parameters(shape), grid(shape.rows));
}

pub(crate) fn additive_attention_backward(
    recording: &mut Recording<'_>,
    shape: AdditiveAttentionShape,
    inputs: AdditiveAttentionInputs<'_, &Buffer>,
    weights: &Buffer,
    grad: &Buffer,
    gradients: AdditiveAttentionGradients<&Buffer>,
) {
    let AdditiveAttentionShape { rows, src_len, d_key, d_value } = shape;
    let AdditiveAttentionGradients { queries, keys, values, v } = gradients;
    let schedule = schedule(recording, shape, &inputs);
    let parameters = parameters(shape);
    // No gradient comes through gates.
    let through_gates = recording.room(rows * d_value);
    fill(recording, &through_gates, 0.0);
    let attended = recording.room(rows * (d_value + src_len));
    let bindings = [
        Read(grad),
        Read(&through_gates),
        Read(inputs.queries),
        Read(inputs.keys),
        Read(inputs.values),
        Host(&schedule),
        Read(inputs.v),
        Read(weights),
        Write(&attended),
        Write(queries),
    ];
    recording.run(BACKWARD, &bindings, &parameters, grid(rows));
    let terms = recording.room(keys.len());
    let bindings = [
        Read(&attended),
        Read(inputs.queries),
        Read(inputs.keys),
        Read(inputs.v),
        Host(&schedule),
        Write(keys),
        Write(&terms),
    ];
    recording.run(KEYS, &bindings, &parameters, elements(keys.len()));
    let sums = ColumnSums { rows: rows * src_len, columns: d_key, matrix: &terms, first: 0, width: d_key };
    sums.write(recording, v, false);
    let bindings = [Read(&attended), Read(weights), Host(&schedule), Write(values)];
    recording.run(VALUES, &bindings, &parameters, elements(values.len()));
}
