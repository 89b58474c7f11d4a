//! Embedding lookup with optional position embeddings, and its gradient.

use rayon::prelude::*;

use crate::area::assert_shape;
use crate::parallel::{for_row_chunks, is_large};
use crate::threads::Threads;

/// Position embeddings for a batch of sequences, from position 0 on.
#[derive(Clone, Copy, Debug)]
pub struct PositionRows<'a> {
    /// `[positions, d]`
    pub table: &'a [f32],
    /// Tokens per sequence.
    pub len: usize,
}

impl PositionRows<'_> {
    fn check(&self, n: usize, d: usize) {
        let Self { table, len } = self;
        let whole = n == 0 || n.is_multiple_of(*len);
        assert!(whole, "{n} tokens in sequences of {len}");
        let found = rows_of(table, d);
        assert!(n == 0 || d == 0 || *len <= found, "{len} positions in a table of {found}");
    }
}

/// `out[i]` = `scale` · `table[ids[i]]` + the position embedding of token i, with `table` `[vocab, d]` and
/// `out` `[ids.len(), d]`.
///
/// # Panics
/// If an id is out of range, or a slice does not fit.
pub fn embedding(
    ids: &[u32],
    table: &[f32],
    d: usize,
    scale: f32,
    positions: Option<PositionRows<'_>>,
    out: &mut [f32],
) {
    let n = ids.len();
    assert_shape("out", out, [n, d]);
    if let Some(positions) = positions {
        positions.check(n, d);
    }
    let vocab = rows_of(table, d);
    for_row_chunks(out, d, |first, out| {
        for (row, out) in out.chunks_exact_mut(d.max(1)).enumerate() {
            let id = ids[first + row] as usize;
            assert!(id < vocab, "token id {id} in a table of {vocab} rows");
            scale_row(&table[id * d..][..d], scale, out);
            if let Some(PositionRows { table, len }) = positions {
                let position = (first + row) % len;
                add_scaled_row(&table[position * d..][..d], 1.0, out);
            }
        }
    });
}

/// The gradient of the table, `[vocab, d]`: zero plus `scale` · `grad_out[i]` at row `ids[i]`, for each i in
/// order.
///
/// # Panics
/// If an id is out of range, or a slice does not fit.
pub fn embedding_backward(ids: &[u32], grad_out: &[f32], d: usize, scale: f32, dtable: &mut [f32]) {
    let n = ids.len();
    assert_shape("grad_out", grad_out, [n, d]);
    let vocab = rows_of(dtable, d);
    if let Some(id) = ids.iter().find(|&&id| id as usize >= vocab) {
        panic!("token id {id} in a table of {vocab} rows");
    }
    if vocab == 0 || d == 0 {
        return;
    }
    // Each task owns some rows of the table and scans all ids, so every row is summed in the order of the
    // ids.
    let task = |(first, rows): (usize, &mut [f32])| {
        rows.fill(0.0);
        let owned = rows.len() / d;
        for (&id, grad) in ids.iter().zip(grad_out.chunks_exact(d)) {
            let row = (id as usize).wrapping_sub(first);
            if row < owned {
                add_scaled_row(grad, scale, &mut rows[row * d..][..d]);
            }
        }
    };
    if is_large(dtable.len()) {
        let owned = vocab.div_ceil(4 * Threads::current().count());
        dtable.par_chunks_mut(owned * d).enumerate().for_each(|(chunk, rows)| task((chunk * owned, rows)));
    } else {
        task((0, dtable));
    }
}

/// The number of rows of a table with `d` columns.
fn rows_of(table: &[f32], d: usize) -> usize {
    let rows = table.len().checked_div(d).unwrap_or(0);
    assert_shape("table", table, [rows, d]);
    rows
}

vectorized! {
    fn scale_row(x: &[f32], scale: f32, out: &mut [f32]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = x * scale;
        }
    }
}

vectorized! {
    fn add_scaled_row(x: &[f32], scale: f32, out: &mut [f32]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out += x * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::{assert_close, assert_same_on_all_pools, random, random_below, wide};

    #[test]
    fn forward_and_backward_match_the_reference() {
        for (n, vocab, d) in [(1, 1, 1), (9, 4, 17), (200, 50, 8), (0, 3, 5)] {
            let (ids, table, grad) =
                (random_below(n, vocab, 1), random(vocab as usize * d, 2), random(n * d, 3));
            let (mut out, mut dtable) = (vec![f32::NAN; n * d], vec![f32::NAN; table.len()]);
            let scale = f64::from(1.7f32);
            // Sequences of one token, and one sequence of all tokens.
            let positions = random((n + 9) * d, 4);
            for len in [None, Some(1), Some(n.max(1))] {
                let rows = len.map(|len| PositionRows { table: &positions, len });
                embedding(&ids, &table, d, 1.7, rows, &mut out);
                let positions = len.map(|len| wide(&positions[..len * d]));
                let twin = reference::embedding(&ids, &wide(&table), d, scale, positions.as_deref());
                assert_close(&out, &twin, 1e-6, &format!("rows, positions: {len:?}"));
            }
            embedding_backward(&ids, &grad, d, 1.7, &mut dtable);
            let twin = reference::embedding_backward(&ids, &wide(&grad), vocab as usize, d, scale);
            assert_close(&dtable, &twin, 1e-5, "table gradient");
        }
    }

    #[test]
    fn positions_repeat_for_every_sequence() {
        let (table, positions) = ([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        let mut out = [0.0; 12];
        embedding(
            &[0, 1, 0, 1, 1, 0],
            &table,
            2,
            2.0,
            Some(PositionRows { table: &positions, len: 3 }),
            &mut out,
        );
        let expected = [12.0, 24.0, 36.0, 48.0, 52.0, 64.0, 16.0, 28.0, 36.0, 48.0, 52.0, 64.0];
        assert_eq!(out, expected);
    }

    #[test]
    fn the_thread_count_changes_nothing() {
        let (ids, table, grad) = (random_below(1000, 400, 1), random(400 * 200, 2), random(1000 * 200, 3));
        assert_same_on_all_pools(|| {
            let (mut out, mut dtable) = (grad.clone(), table.clone());
            embedding(&ids, &table, 200, 2.0, None, &mut out);
            embedding_backward(&ids, &grad, 200, 2.0, &mut dtable);
            [out, dtable].concat()
        });
    }

    #[test]
    #[should_panic(expected = "token id 3 in a table of 3")]
    fn an_unknown_id_is_refused() {
        embedding(&[3], &[0.0; 6], 2, 1.0, None, &mut [0.0; 2]);
    }
}
