//! Rows and columns that are selected, added, looked up or rotated.

use std::borrow::Cow;
use std::ops::Range;

use attentive_device::{Buffer, Lengths, MatrixColumns, PositionRows, RotaryCall, RowPositions, Turn};
use attentive_kernels::gemm::Float;

use super::elementwise::fill;
use crate::bf16;
use crate::memory::numbers_of;
use crate::pipelines::{GpuKernel, kernels};
use crate::queue::Binding::{Host, Read, Weights, Write};
use crate::queue::{Recording, elements};
use crate::word::{all_words, words};

kernels!("../wgsl/rows.wgsl":
    COPY_COLUMNS = "copy_columns", SELECT = "select_rows", SCATTER = "scatter_rows", ADD_TO_EACH = "add_to_each",
    SUM_OF_EACH = "sum_of_each", ADD_GATHERED = "add_gathered", MEAN = "mean_rows", MEAN_BACKWARD = "mean_rows_backward",
    ROTARY = "rotary",
);

/// The lookup in tables of f32 and, as variant 1, of bf16.
fn embedding_source(variant: usize) -> Cow<'static, str> {
    let numbers = match variant {
        0 => Float::F32,
        _ => Float::Bf16,
    };
    let table = bf16::reader("table_number", 0, numbers);
    table + include_str!("../wgsl/embedding.wgsl")
}

pub(crate) fn copy_columns(
    recording: &mut Recording<'_>,
    count: usize,
    from: MatrixColumns<&Buffer>,
    to: MatrixColumns<&Buffer>,
) {
    if count == 0 || to.matrix.is_empty() {
        return;
    }
    let rows = to.matrix.len() / to.width;
    assert!(from.matrix.len() >= rows * from.width, "{rows} rows");
    let n = rows * count;
    let parameters = words![n, count, from.width, from.first, to.width, to.first];
    let bindings = [Read(from.matrix), Write(to.matrix)];
    recording.run(COPY_COLUMNS, &bindings, &parameters, elements(n));
}

/// `out[i]` = `x[rows[i]]`
pub(crate) fn select_rows(recording: &mut Recording<'_>, d: usize, x: &Buffer, rows: &[usize], out: &Buffer) {
    select(recording, d, x, rows, [d, 1], out);
}

/// Column i of `out` = `x[rows[i]]`
pub(crate) fn select_transposed(
    recording: &mut Recording<'_>,
    d: usize,
    x: &Buffer,
    rows: &[usize],
    out: &Buffer,
) {
    select(recording, d, x, rows, [1, rows.len()], out);
}

fn select(
    recording: &mut Recording<'_>,
    d: usize,
    x: &Buffer,
    rows: &[usize],
    [row, column]: [usize; 2],
    out: &Buffer,
) {
    check(d, rows, x);
    let n = rows.len() * d;
    assert_eq!(out.len(), n, "the selected rows");
    if n == 0 {
        return;
    }
    let selected = recording.upload(&all_words(rows.iter().copied()));
    let bindings = [Read(x), Host(&selected), Write(out)];
    recording.run(SELECT, &bindings, &words![n, d, row, column], elements(n));
}

/// `out[rows[i]]` = `x[i]`; no row occurs twice.
pub(crate) fn scatter_rows(
    recording: &mut Recording<'_>,
    d: usize,
    x: &Buffer,
    rows: &[usize],
    out: &Buffer,
) {
    check(d, rows, out);
    let n = rows.len() * d;
    if n == 0 {
        return;
    }
    let selected = recording.upload(&all_words(rows.iter().copied()));
    let bindings = [Read(x), Host(&selected), Write(out)];
    recording.run(SCATTER, &bindings, &words![n, d, 0u32, 0u32], elements(n));
}

/// `total[rows[i]]` += `x[i]`
pub(crate) fn add_rows(recording: &mut Recording<'_>, d: usize, x: &Buffer, rows: &[usize], total: &Buffer) {
    add_gathered(recording, d, x, [d, 1], 1.0, rows, total);
}

/// `total[rows[i]]` += column i of `x`
pub(crate) fn add_transposed(
    recording: &mut Recording<'_>,
    d: usize,
    x: &Buffer,
    rows: &[usize],
    total: &Buffer,
) {
    add_gathered(recording, d, x, [1, rows.len()], 1.0, rows, total);
}

/// The gradient of the table of [`embedding`].
pub(crate) fn embedding_backward(
    recording: &mut Recording<'_>,
    ids: &[u32],
    grad: &Buffer,
    d: usize,
    scale: f32,
    dtable: &Buffer,
) {
    fill(recording, dtable, 0.0);
    let rows: Vec<usize> = ids.iter().map(|&id| id as usize).collect();
    add_gathered(recording, d, grad, [d, 1], scale, &rows, dtable);
}

/// `total[rows[i]]` += `scale` · row i of `x`, whose rows and columns have these distances. The terms of a
/// row of `total` are collected on the host, so that each is added by one invocation in their order.
fn add_gathered(
    recording: &mut Recording<'_>,
    d: usize,
    x: &Buffer,
    [row, column]: [usize; 2],
    scale: f32,
    rows: &[usize],
    total: &Buffer,
) {
    check(d, rows, total);
    assert_eq!(x.len(), rows.len() * d, "the rows to add");
    // Stable: the terms of a row stay in order.
    let mut indices: Vec<usize> = (0..rows.len()).collect();
    indices.sort_by_key(|&index| rows[index]);
    let (mut targets, mut starts) = (Vec::new(), vec![0]);
    for terms in indices.chunk_by(|&a, &b| rows[a] == rows[b]) {
        targets.push(rows[terms[0]]);
        starts.push(starts.last().map_or(0, |start| start + terms.len()));
    }
    let n = targets.len() * d;
    if n == 0 {
        return;
    }
    let [targets, starts, indices] =
        [targets, starts, indices].map(|numbers| recording.upload(&all_words(numbers)));
    let bindings = [Read(x), Host(&targets), Host(&starts), Host(&indices), Write(total)];
    recording.run(ADD_GATHERED, &bindings, &words![n, d, row, column, scale], elements(n));
}

/// Checks that `x` has these rows of width `d`.
fn check(d: usize, rows: &[usize], x: &Buffer) {
    let end = rows.iter().max().map_or(0, |last| last + 1);
    assert!(end * d <= x.len(), "{end} rows of {d} in {} elements", x.len());
}

pub(crate) fn add_to_each(
    recording: &mut Recording<'_>,
    table: &Buffer,
    part: Range<usize>,
    sequences: &Buffer,
) {
    each(recording, ADD_TO_EACH, table, part, sequences, sequences.len());
}

pub(crate) fn sum_of_each(
    recording: &mut Recording<'_>,
    sequences: &Buffer,
    part: Range<usize>,
    table: &Buffer,
) {
    each(recording, SUM_OF_EACH, sequences, part, table, sequences.len());
}

fn each(
    recording: &mut Recording<'_>,
    kernel: GpuKernel,
    from: &Buffer,
    part: Range<usize>,
    to: &Buffer,
    all: usize,
) {
    if !to.is_empty() {
        let sequences = all.checked_div(part.len()).unwrap_or(0);
        let parameters = words![to.len(), part.start, part.len().max(1), sequences];
        let bindings = [Read(from), Write(to)];
        recording.run(kernel, &bindings, &parameters, elements(to.len()));
    }
}

pub(crate) fn mean_rows(
    recording: &mut Recording<'_>,
    lengths: &Lengths,
    d: usize,
    x: &Buffer,
    out: &Buffer,
) {
    assert_eq!(x.len(), lengths.positions() * d, "the rows of {lengths:?}");
    assert_eq!(out.len(), lengths.rows() * d, "the means of {lengths:?}");
    means(recording, MEAN, lengths, d, x, out);
}

pub(crate) fn mean_rows_backward(
    recording: &mut Recording<'_>,
    lengths: &Lengths,
    d: usize,
    grad: &Buffer,
    dx: &Buffer,
) {
    assert_eq!(dx.len(), lengths.positions() * d, "the rows of {lengths:?}");
    assert_eq!(grad.len(), lengths.rows() * d, "the means of {lengths:?}");
    means(recording, MEAN_BACKWARD, lengths, d, grad, dx);
}

fn means(
    recording: &mut Recording<'_>,
    kernel: GpuKernel,
    lengths: &Lengths,
    d: usize,
    from: &Buffer,
    to: &Buffer,
) {
    if to.is_empty() {
        return;
    }
    let lens = recording.upload(&all_words(lengths.lens().iter().copied()));
    let bindings = [Read(from), Host(&lens), Write(to)];
    let parameters = words![to.len(), d, lengths.width()];
    recording.run(kernel, &bindings, &parameters, elements(to.len()));
}

pub(crate) fn embedding(
    recording: &mut Recording<'_>,
    ids: &[u32],
    table: &Buffer,
    d: usize,
    scale: f32,
    positions: Option<PositionRows<'_>>,
    out: &Buffer,
) {
    let vocab = table.len().checked_div(d).unwrap_or(0);
    let unknown = ids.iter().find(|&&id| id as usize >= vocab);
    assert!(unknown.is_none() || d == 0, "{unknown:?} in a table of {vocab} rows");
    assert_eq!(out.len(), ids.len() * d, "the vectors of {} tokens", ids.len());
    if out.is_empty() {
        return;
    }
    let ids = recording.upload(ids);
    let len = positions.map_or(1, |positions| positions.len);
    let rows = positions.map_or(&[][..], |positions| &positions.table[..len * d]);
    let rows = recording.upload(&all_words(rows.iter().copied()));
    let bindings = [Weights(table), Host(&ids), Host(&rows), Write(out)];
    let parameters = words![out.len(), d, len, scale, positions.is_some()];
    let kernel = GpuKernel {
        entry: "embedding",
        source: embedding_source,
        variant: usize::from(numbers_of(table) == Float::Bf16),
    };
    recording.run(kernel, &bindings, &parameters, elements(out.len()));
}

pub(crate) fn rotary(
    recording: &mut Recording<'_>,
    call: RotaryCall<'_>,
    turn: Turn,
    x: &Buffer,
    out: &Buffer,
) {
    assert_eq!(x.len(), out.len(), "an operand and its result");
    if out.is_empty() {
        return;
    }
    let (len, each) = match call.positions {
        RowPositions::Sequences(len) => (len, &[][..]),
        RowPositions::Each(positions) => (0, positions),
    };
    let end = each.iter().max().map_or(len, |last| last + 1);
    let angles = (0..end).flat_map(|position| {
        let (cosines, sines) = call.table.at(position);
        cosines.iter().chain(sines).copied()
    });
    let angles = recording.upload(&all_words(angles));
    let each = recording.upload(&all_words(each.iter().copied()));
    let bindings = [Read(x), Host(&angles), Host(&each), Write(out)];
    let (pairs, back) = (call.table.pairs(), turn == Turn::Back);
    let parameters = words![out.len(), call.width, pairs, call.heads, len, back];
    recording.run(ROTARY, &bindings, &parameters, elements(out.len()));
}
