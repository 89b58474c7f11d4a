//! Rotary position embeddings (Su et al. 2021): each pair of features is rotated by an angle proportional to
//! the position.

use std::sync::Arc;

use crate::area::{area, assert_shape};
use crate::parallel::for_row_chunks;

/// Sines and cosines of the angles of all pairs, for positions 0, 1, ….
#[derive(Clone, Debug)]
pub struct RotaryTable {
    frequencies: Arc<[f64]>,
    /// `[positions, pairs]`
    cosines: Vec<f32>,
    /// `[positions, pairs]`
    sines: Vec<f32>,
}

/// Direction of rotation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// By the angles.
    Forward,
    /// By the negative angles, for gradients.
    Back,
}

/// The position of each row.
#[derive(Clone, Copy, Debug)]
pub enum RowPositions<'a> {
    /// Rows of sequences of this many tokens, each from position 0 on.
    Sequences(usize),
    /// One for each row.
    Each(&'a [usize]),
}

/// Operands and dimensions of a call.
#[derive(Clone, Copy, Debug)]
pub struct RotaryCall<'a> {
    /// The angles.
    pub table: &'a RotaryTable,
    /// The positions of the rows.
    pub positions: RowPositions<'a>,
    /// Columns per row.
    pub width: usize,
    /// Number of heads, from the start of a row, that are rotated; the columns after them are copied.
    pub heads: usize,
}

/// The frequencies `base`^(−2i / `d_head`) of the feature pairs i.
pub fn frequencies(base: f64, d_head: usize) -> Arc<[f64]> {
    (0..d_head / 2).map(|i| base.powf(-2.0 * i as f64 / d_head as f64)).collect()
}

impl RotaryTable {
    /// Computes the angles position · frequency of the first `positions` positions.
    pub fn new(frequencies: Arc<[f64]>, positions: usize) -> Self {
        let angles = || {
            let at = |position: usize| frequencies.iter().map(move |f| position as f64 * f);
            (0..positions).flat_map(at)
        };
        Self {
            cosines: angles().map(|angle| angle.cos() as f32).collect(),
            sines: angles().map(|angle| angle.sin() as f32).collect(),
            frequencies,
        }
    }

    /// The frequencies, one per feature pair of a head.
    pub fn frequencies(&self) -> &Arc<[f64]> {
        &self.frequencies
    }

    /// Number of positions in the table.
    pub fn positions(&self) -> usize {
        self.cosines.len().checked_div(self.pairs()).unwrap_or(usize::MAX)
    }

    /// Cosines and sines at `position`.
    pub fn at(&self, position: usize) -> (&[f32], &[f32]) {
        let part = position * self.pairs()..(position + 1) * self.pairs();
        (&self.cosines[part.clone()], &self.sines[part])
    }

    /// Feature pairs per head.
    pub fn pairs(&self) -> usize {
        self.frequencies.len()
    }
}

impl RowPositions<'_> {
    /// The position of row `row`.
    fn of(self, row: usize) -> usize {
        match self {
            Self::Sequences(len) => row % len,
            Self::Each(positions) => positions[row],
        }
    }

    /// The position after the last.
    fn end(self) -> usize {
        match self {
            Self::Sequences(len) => len,
            Self::Each(positions) => positions.iter().max().map_or(0, |last| last + 1),
        }
    }

    /// Whether these are the positions of `rows` rows.
    fn fits(self, rows: usize) -> bool {
        match self {
            Self::Sequences(len) => rows.is_multiple_of(len),
            Self::Each(positions) => positions.len() == rows,
        }
    }
}

/// `out` = `x`, both `[rows, width]`, with the first `heads` heads rotated; feature i of a head is paired
/// with feature i + d_head/2.
///
/// # Panics
/// If a slice does not fit, or the table is too short.
pub fn rotary(call: RotaryCall<'_>, turn: Turn, x: &[f32], out: &mut [f32]) {
    let RotaryCall { table, positions, width, heads } = call;
    let pairs = table.pairs();
    assert_shape("out", out, [x.len()]);
    assert!(2 * area(heads, pairs) <= width, "{heads} heads in {width} columns");
    if x.is_empty() {
        return;
    }
    let rows = x.len() / width;
    assert_shape("x", x, [rows, width]);
    assert!(positions.fits(rows), "{rows} rows at {positions:?}");
    let (needed, found) = (positions.end(), table.positions());
    assert!(needed <= found, "{needed} positions in a table of {found}");
    for_row_chunks(out, width, |first, out| {
        let x = x[first * width..].chunks_exact(width);
        for (row, (x, out)) in x.zip(out.chunks_exact_mut(width)).enumerate() {
            let (cosines, sines) = table.at(positions.of(first + row));
            turn_row(turn, 2 * pairs * heads, cosines, sines, x, out);
        }
    });
}

vectorized! {
    /// Rotates the first `turned` columns of one row.
    fn turn_row(
        turn: Turn,
        turned: usize,
        cosines: &[f32],
        sines: &[f32],
        x: &[f32],
        out: &mut [f32],
    ) {
        let pairs = cosines.len();
        out[turned..].copy_from_slice(&x[turned..]);
        if pairs == 0 {
            return;
        }
        let x = x[..turned].chunks_exact(2 * pairs);
        for (x, out) in x.zip(out[..turned].chunks_exact_mut(2 * pairs)) {
            let (a, b) = x.split_at(pairs);
            let (to_a, to_b) = out.split_at_mut(pairs);
            match turn {
                Turn::Forward => {
                    turn_part(a, b, cosines, sines, to_a, |a, b| a - b);
                    turn_part(b, a, cosines, sines, to_b, |b, a| b + a);
                }
                Turn::Back => {
                    turn_part(a, b, cosines, sines, to_a, |a, b| a + b);
                    turn_part(b, a, cosines, sines, to_b, |b, a| b - a);
                }
            }
        }
    }
}

/// `out` = `with(a · cos, b · sin)`
#[inline(always)]
fn turn_part(
    a: &[f32],
    b: &[f32],
    cosines: &[f32],
    sines: &[f32],
    out: &mut [f32],
    with: impl Fn(f32, f32) -> f32,
) {
    for ((((out, &a), &b), &cos), &sin) in out.iter_mut().zip(a).zip(b).zip(cosines).zip(sines) {
        *out = with(a * cos, b * sin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, assert_same_on_all_pools, bits, random};

    const D_HEAD: usize = 6;

    fn table(positions: usize) -> RotaryTable {
        RotaryTable::new(frequencies(1e4, D_HEAD), positions)
    }

    fn turned(positions: RowPositions<'_>, x: &[f32], turn: Turn) -> Vec<f32> {
        let call = RotaryCall { table: &table(40), positions, width: 20, heads: 2 };
        let mut out = vec![f32::NAN; x.len()];
        rotary(call, turn, x, &mut out);
        out
    }

    #[test]
    fn pairs_rotate_like_complex_numbers() {
        let x = random(6 * 20, 1);
        let positions = [5, 6, 7, 30, 31, 32];
        let mut twin: Vec<f64> = x.iter().map(|&x| x.into()).collect();
        for (row, position) in positions.into_iter().enumerate() {
            for (head, i) in (0..6).map(|n| (n / 3, n % 3)) {
                let angle = position as f64 * 1e4f64.powf(-2.0 * i as f64 / 6.0);
                let (a, b) = (row * 20 + head * 6 + i, row * 20 + head * 6 + 3 + i);
                let (re, im) = (twin[a], twin[b]);
                twin[a] = re * angle.cos() - im * angle.sin();
                twin[b] = im * angle.cos() + re * angle.sin();
            }
        }
        let found = turned(RowPositions::Each(&positions), &x, Turn::Forward);
        assert_close(&found, &twin, 1e-6, "turned");
        for (x, found) in x.chunks(20).zip(found.chunks(20)) {
            assert_eq!(bits(&x[12..]), bits(&found[12..]), "after the heads");
        }
        let back = turned(RowPositions::Each(&positions), &found, Turn::Back);
        let x: Vec<f64> = x.iter().map(|&x| x.into()).collect();
        assert_close(&back, &x, 1e-6, "rotated back");
    }

    #[test]
    fn a_row_depends_only_on_its_position() {
        let x = random(4 * 20, 1);
        let sequences = turned(RowPositions::Sequences(2), &x, Turn::Forward);
        let each = turned(RowPositions::Each(&[0, 1, 0, 1]), &x, Turn::Forward);
        assert_eq!(bits(&sequences), bits(&each));
    }

    #[test]
    fn the_thread_count_changes_nothing() {
        let x = random(4000 * 20, 1);
        assert_same_on_all_pools(|| turned(RowPositions::Sequences(10), &x, Turn::Forward));
    }

    #[test]
    #[should_panic(expected = "41 positions in a table of 40")]
    fn a_short_table_is_refused() {
        turned(RowPositions::Each(&[39, 40]), &[0.0; 40], Turn::Forward);
    }
}
