//! Products of 8-bit integers with packed weights.
//!
//! Sums are exact, so every instruction set, tile and number of threads gives the same bits. A sum times the scales of its row and
//! its column, plus the bias, is the result; each operation is rounded on its own.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
mod quantise;
mod tile;

pub(crate) use quantise::quantise;

use rayon::prelude::*;

pub(crate) use super::isa::IntegerIsa;
use super::{Activation, Epilogue};
use crate::packed::{PANEL, PackedInt8};
use crate::tile::TileMut;
use tile::{Room, Tile, TileShape};

/// Rows of the left operand are stored in multiples of this.
const ROWS: usize = 16;
/// Bytes of a row are stored in multiples of this.
const DEPTH: usize = 64;

/// The left operand `[rows, k]`, quantised row by row.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    isa: IntegerIsa,
    /// Signed bytes, or unsigned ones that are larger by 128 if [`is_offset`].
    bytes: &'a [i8],
    stride: usize,
    scales: &'a [f32],
}

/// Whether the instructions multiply unsigned by signed bytes, so that 128 is added to those of the left operand.
fn is_offset(isa: IntegerIsa) -> bool {
    matches!(isa, IntegerIsa::AvxVnni(_) | IntegerIsa::Avx512Vnni(_))
}

/// The distance of rows of the left operand in bytes: an odd number of cache lines, so that rows fall into different sets of a
/// cache.
fn stride(k: usize) -> usize {
    (k.div_ceil(DEPTH) | 1) * DEPTH
}

/// The number of bytes that [`prepare`] needs.
pub(crate) fn left_len(rows: usize, k: usize) -> usize {
    crate::area::area(rows.next_multiple_of(ROWS), stride(k))
}

/// Quantises `x` `[rows, k]` into `bytes`, whose length is [`left_len`], and `scales`, `[rows]`; on several threads if
/// `parallel`.
pub(crate) fn prepare<'a>(
    isa: IntegerIsa,
    k: usize,
    x: &[f32],
    bytes: &'a mut [i8],
    scales: &'a mut [f32],
    parallel: bool,
) -> Left<'a> {
    let stride = stride(k);
    let quantise_row = |(row, (bytes, scale)): (usize, (&mut [i8], &mut f32))| {
        let (values, rest) = bytes.split_at_mut(k);
        *scale = quantise(&x[row * k..][..k], values);
        rest.fill(0);
        if is_offset(isa) {
            quantise::offset(bytes);
        }
    };
    if parallel {
        let rows = bytes.par_chunks_exact_mut(stride).zip(&mut *scales);
        rows.enumerate().with_min_len(8).for_each(quantise_row);
    } else {
        let rows = bytes.chunks_exact_mut(stride).zip(&mut *scales);
        rows.enumerate().for_each(quantise_row);
    }
    Left {
        isa,
        bytes,
        stride,
        scales,
    }
}

/// `out` from rows `row..` of the left operand and columns `col..` of the weight. `row` is a multiple of 16 unless all rows are
/// wanted, and `col` is a multiple of the panel.
pub(crate) fn product(
    left: Left<'_>,
    row: usize,
    weight: PackedInt8<'_>,
    col: usize,
    out: &mut TileMut<'_>,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    assert!(
        row.is_multiple_of(ROWS) && col.is_multiple_of(PANEL),
        "whole blocks"
    );
    let groups = weight.k().div_ceil(4);
    let panel = groups * 4 * PANEL;
    let right = &weight.values()[col / PANEL * panel..];
    let (scales, sums) = (&weight.scales()[col..], &weight.sums()[col..]);
    let left_rows = &left.bytes[row * left.stride..];
    assert!(
        m == 0 || left_rows.len() >= m.next_multiple_of(ROWS) * left.stride,
        "rows"
    );
    let shape = TileShape::new(left.isa, m);
    let unit = tile::Unit::new(left.isa);
    let mut room = Room::new();
    for col in (0..n).step_by(shape.cols()) {
        let cols = shape.cols().min(n - col);
        let panels = cols.div_ceil(PANEL);
        for row_in_part in (0..m).step_by(shape.rows) {
            let rows = shape.rows.min(m - row_in_part);
            if is_offset(left.isa) {
                room.start(shape, rows, &sums[col..][..cols]);
            } else {
                room.clear(shape, rows);
            }
            let tile = Tile {
                left: &left_rows[row_in_part * left.stride..],
                stride: left.stride,
                right: &right[col / PANEL * panel..][..panels * panel],
                panel,
                groups,
            };
            unit.add_product(shape, rows, &tile, &mut room);
            let first = row + row_in_part;
            let factors = Factors {
                rows: &left.scales[first..][..rows],
                cols: &scales[col..][..cols],
                bias: epilogue.bias.map(|bias| &bias[col..][..cols]),
                activation: epilogue.activation,
            };
            let place = Place {
                row: row_in_part,
                col,
            };
            finish(room.sums(shape), shape.cols(), factors, out, place);
        }
    }
}

/// What turns the sums of a tile into its results.
#[derive(Clone, Copy)]
struct Factors<'a> {
    /// Scales of the rows.
    rows: &'a [f32],
    /// Scales of the columns.
    cols: &'a [f32],
    bias: Option<&'a [f32]>,
    activation: Activation,
}

/// The first element of a tile in the output.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    col: usize,
}

vectorised! {
    /// Writes the results of a tile, whose sums have the distance `stride` between rows.
    fn finish(sums: &[i32], stride: usize, factors: Factors<'_>, out: &mut TileMut<'_>, place: Place) {
        let Factors { rows, cols, bias, activation } = factors;
        for (row, (&row_scale, sums)) in rows.iter().zip(sums.chunks_exact(stride)).enumerate() {
            let out = &mut out.row_mut(place.row + row)[place.col..][..cols.len()];
            for ((out, &sum), &col_scale) in out.iter_mut().zip(sums).zip(cols) {
                *out = sum as f32 * (row_scale * col_scale);
            }
            if let Some(bias) = bias {
                for (out, &bias) in out.iter_mut().zip(bias) {
                    *out += bias;
                }
            }
            if activation == Activation::Relu {
                for out in out {
                    *out = if *out < 0.0 { 0.0 } else { *out };
                }
            }
        }
    }
}
