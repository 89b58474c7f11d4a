use attentive_device::{MatrixColumns, PositionRows, RotaryCall, RowPositions, Turn};
use attentive_kernels::rotary::{RotaryTable, frequencies};

use super::*;

#[test]
fn elements() {
    for len in [0, 1, 255, 256, 257, 70_000] {
        agree(&format!("{len} elements"), |device| {
            let (x, mut total, factor) = (random(1, len), random(2, len), random(3, 1));
            let [mut copy, mut filled] = [len; 2].map(room);
            device.copy(&x, &mut copy);
            device.fill(&mut filled, -0.75);
            device.add(&mut total, &x);
            device.scale(&mut copy, 1.5);
            let mut scaled = x.clone();
            device.scale_by(&mut scaled, &factor);
            vec![x, total, copy, filled, scaled]
        });
    }
}

#[test]
fn columns() {
    for (rows, from, to, count) in [(3, 5, 7, 2), (1, 1, 1, 1), (100, 33, 40, 30), (4, 3, 3, 0)] {
        agree(&format!("{count} columns of {from}"), |device| {
            let (x, mut out) = (random(1, rows * from), room(rows * to));
            let first = from - count;
            let from = MatrixColumns { matrix: &x, width: from, first };
            let to = MatrixColumns { matrix: &mut out, width: to, first: 0 };
            device.copy_columns(count, from, to);
            vec![out]
        });
    }
}

#[test]
fn rows_selected_and_added() {
    for (d, rows) in [(1, &[0][..]), (5, &[2, 0, 2, 3, 2]), (300, &[3, 1]), (4, &[])] {
        agree(&format!("rows {rows:?} of {d}"), |device| {
            let x = random(1, 4 * d);
            let [mut selected, mut transposed] = [rows.len() * d; 2].map(room);
            device.select_rows(d, &x, rows, &mut selected);
            device.select_transposed(d, &x, rows, &mut transposed);
            let terms = random(2, rows.len() * d);
            let [mut added, mut of_columns] = [random(3, 4 * d), random(4, 4 * d)];
            device.add_rows(d, &terms, rows, &mut added);
            device.add_transposed(d, &terms, rows, &mut of_columns);
            vec![selected, transposed, added, of_columns]
        });
    }
}

#[test]
fn tables_added_to_sequences() {
    for (table, part, sequences) in [(10, 2..8, 3), (5, 0..5, 1), (700, 1..600, 4), (3, 0..3, 0)] {
        agree(&format!("{part:?} of {table}"), |device| {
            let (from, mut to) = (random(1, table), random(2, sequences * part.len()));
            device.add_to_each(&from, part.clone(), &mut to);
            let mut sum = room(table);
            device.sum_of_each(&to, part.clone(), &mut sum);
            vec![to, sum]
        });
    }
}

/// The vectors with these numbers in a table `[vocab, d]`, and the gradient of the table.
pub(super) fn embedded(
    device: &dyn Device,
    ids: &[u32],
    [vocab, d]: [usize; 2],
    stored: Float,
    positions: Option<PositionRows<'_>>,
) -> Vec<Buffer> {
    let (table, grad) = (weights(stored, 1, vocab * d), random(2, ids.len() * d));
    let (mut out, mut dtable) = (room(ids.len() * d), room(vocab * d));
    device.embedding(ids, &table, d, 2.5, positions, &mut out);
    device.embedding_backward(ids, &grad, d, 2.5, &mut dtable);
    vec![out, dtable]
}

#[test]
fn embeddings() {
    let table = numbers(9, 5 * 300);
    for d in [1, 5, 300] {
        for ids in [&[][..], &[0], &[3, 0, 3, 5, 5, 3], &[9, 9, 9, 9, 2, 0, 1, 9]] {
            for len in [None, Some(2), Some(1)] {
                let fits = |len: &usize| ids.len().is_multiple_of(*len);
                let rows = len.filter(fits).map(|len| PositionRows { table: &table, len });
                for stored in [Float::F32, Float::Bf16] {
                    agree(&format!("{ids:?}, {d}, {len:?}, {stored:?}"), |device| {
                        embedded(device, ids, [10, d], stored, rows)
                    });
                }
            }
        }
    }
}

/// Rows, turned and turned back.
pub(super) fn turned(device: &dyn Device, call: RotaryCall<'_>, rows: usize) -> Vec<Buffer> {
    let len = rows * call.width;
    let (x, [mut out, mut back]) = (random(1, len), [len; 2].map(room));
    device.rotary(call, Turn::Forward, &x, &mut out);
    device.rotary(call, Turn::Back, &x, &mut back);
    vec![out, back]
}

#[test]
fn rotations() {
    for (d_head, width, heads) in [(4, 11, 2), (2, 2, 1), (64, 300, 3), (6, 8, 0)] {
        let table = RotaryTable::new(frequencies(1e4, d_head), 40);
        for positions in
            [RowPositions::Sequences(2), RowPositions::Sequences(6), RowPositions::Each(&[0, 39, 7, 7, 1, 3])]
        {
            let call = RotaryCall { table: &table, positions, width, heads };
            agree(&format!("{positions:?}, {width}"), |device| turned(device, call, 6));
        }
    }
}
