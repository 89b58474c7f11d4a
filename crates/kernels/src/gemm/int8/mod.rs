//! Products of 8-bit integers with packed weights.
//!
//! Sums are exact, so every instruction set, tile and number of threads gives the same bits. A sum times the
//! scales of its row and its column, plus the bias, is the result; each operation is rounded on its own.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx_vnni;
mod dequantize;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod quantize;
#[cfg(target_feature = "simd128")]
mod simd128;
mod tile;

use std::ops::Range;

pub(crate) use quantize::quantize;

use attentive_base::platform::HAS_THREADS;
use rayon::prelude::*;

use super::Epilogue;
pub(crate) use super::isa::IntegerIsa;
use crate::packed::{PANEL, PackedInt8};
use crate::prefetch::is_far;
use crate::tile::TileMut;
use dequantize::{Dequantization, NO_BIAS, write};
use tile::{Int8TileKernel, Tile, TileShape, TileSums, with_tile_sums};

/// Rows of the left operand are stored in multiples of this.
const ROWS: usize = 16;
/// Bytes of a row are stored in multiples of this.
const DEPTH: usize = 64;

/// The left operand `[rows, k]`, quantized row by row.
#[derive(Clone, Copy)]
pub(crate) struct Int8LeftOperand<'a> {
    isa: IntegerIsa,
    /// Signed bytes, or unsigned ones that are larger by 128 if [`is_offset`]; for `smmla` in its order.
    bytes: &'a [i8],
    stride: usize,
    scales: &'a [f32],
}

/// Whether the instructions multiply unsigned by signed bytes, so that 128 is added to those of the left
/// operand.
fn is_offset(isa: IntegerIsa) -> bool {
    match isa {
        #[cfg(target_arch = "x86_64")]
        IntegerIsa::AvxVnni(_) | IntegerIsa::Avx512Vnni(_) => true,
        _ => false,
    }
}

/// The distance of rows of the left operand in bytes: an odd number of cache lines, so that rows fall into
/// different sets of a cache.
fn stride(k: usize) -> usize {
    (k.div_ceil(DEPTH) | 1) * DEPTH
}

/// The number of bytes that [`prepare`] needs.
pub(crate) fn left_len(rows: usize, k: usize) -> usize {
    crate::area::area(rows.next_multiple_of(ROWS), stride(k))
}

/// Quantizes `x` `[rows, k]` into `bytes`, whose length is [`left_len`], and `scales`, `[rows]`; on several
/// threads if `parallel`.
pub(crate) fn prepare<'a>(
    isa: IntegerIsa,
    k: usize,
    x: &[f32],
    bytes: &'a mut [i8],
    scales: &'a mut [f32],
    parallel: bool,
) -> Int8LeftOperand<'a> {
    let stride = stride(k);
    let quantize_row = |row: usize, bytes: &mut [i8]| {
        let (values, rest) = bytes.split_at_mut(k);
        let scale = quantize(&x[row * k..][..k], values);
        // Zeros behind the row, also where unsigned bytes are multiplied, keep whatever the weight has there
        // out of the sums.
        rest.fill(0);
        if is_offset(isa) {
            quantize::offset(values);
        }
        scale
    };
    // Two rows, since `smmla` reads them together.
    let quantize_pair = |(pair, (bytes, scales)): (usize, (&mut [i8], &mut [f32]))| {
        for (row, (bytes, scale)) in bytes.chunks_exact_mut(stride).zip(scales).enumerate() {
            *scale = quantize_row(2 * pair + row, bytes);
        }
        #[cfg(target_arch = "aarch64")]
        if matches!(isa, IntegerIsa::I8mm(_)) {
            neon::interleave(bytes, stride);
        }
    };
    if HAS_THREADS && parallel {
        let pairs = bytes.par_chunks_exact_mut(2 * stride).zip(scales.par_chunks_mut(2));
        pairs.enumerate().with_min_len(4).for_each(quantize_pair);
    } else {
        let pairs = bytes.chunks_exact_mut(2 * stride).zip(scales.chunks_mut(2));
        pairs.enumerate().for_each(quantize_pair);
    }
    Int8LeftOperand { isa, bytes, stride, scales }
}

/// `out` from rows `row..` of the left operand and columns `col..` of the weight; both are multiples of 16.
pub(crate) fn product(
    left: Int8LeftOperand<'_>,
    row: usize,
    weight: PackedInt8<'_>,
    col: usize,
    out: &mut TileMut<'_>,
    epilogue: Epilogue<'_>,
) {
    let m = out.rows();
    let part = Part::new(left, row, m, weight, col);
    // Their kernels write results.
    #[cfg(target_arch = "x86_64")]
    let shape = TileShape::new(left.isa, m);
    #[cfg(target_arch = "x86_64")]
    match left.isa {
        IntegerIsa::Avx512Vnni(proof) => {
            return part.for_each_tile(shape, 0..m, out.cols(), epilogue, |tile, dequantization| {
                avx512::product(proof, shape.panels, tile, dequantization, out);
            });
        }
        IntegerIsa::Avx2(proof) => {
            let mut negatives = None;
            return part.for_each_tile(shape, 0..m, out.cols(), epilogue, |tile, dequantization| {
                if m > shape.rows && dequantization.row == 0 {
                    negatives = Some(avx2::Negatives::new(proof, tile));
                }
                avx2::product(proof, shape.panels, tile, negatives.as_ref(), dequantization, out);
            });
        }
        _ => {}
    }
    let kernel = Int8TileKernel::new(left.isa);
    // So few rows fill only one tile of AMX; they go through it with more columns.
    #[cfg(target_arch = "x86_64")]
    let apart = match m % (2 * ROWS) {
        rest @ 1..=ROWS if m > ROWS && matches!(left.isa, IntegerIsa::Amx(_)) => rest,
        _ => 0,
    };
    #[cfg(not(target_arch = "x86_64"))]
    let apart = 0;
    with_tile_sums(|sums| {
        part.product(&kernel, sums, 0..m - apart, out, epilogue);
        if apart > 0 {
            part.product(&kernel, sums, m - apart..m, out, epilogue);
        }
    });
}

/// The operands of a part of a product.
struct Part<'a> {
    isa: IntegerIsa,
    left: &'a [i8],
    stride: usize,
    row_scales: &'a [f32],
    right: &'a [i8],
    /// Bytes of a panel.
    panel: usize,
    /// Whether the weight may come from RAM.
    is_far: bool,
    col_scales: &'a [f32],
    col_sums: &'a [i32],
}

impl<'a> Part<'a> {
    fn new(left: Int8LeftOperand<'a>, row: usize, rows: usize, weight: PackedInt8<'a>, col: usize) -> Self {
        assert!(
            row.is_multiple_of(ROWS) && col.is_multiple_of(PANEL),
            "row {row} and column {col} do not start blocks"
        );
        let panel = weight.k().next_multiple_of(4) * PANEL;
        let Int8LeftOperand { isa, stride, .. } = left;
        Self {
            isa,
            left: &left.bytes[row * stride..][..rows.next_multiple_of(ROWS) * stride],
            stride,
            row_scales: &left.scales[row..][..rows],
            right: &weight.values()[col / PANEL * panel..],
            panel,
            is_far: is_far(size_of_val(weight.values())),
            col_scales: &weight.scales()[col..],
            col_sums: &weight.sums()[col..],
        }
    }

    /// Rows `rows` of the output. The results of a tile are written while the kernel computes the next one.
    fn product(
        &self,
        kernel: &Int8TileKernel,
        sums: &mut [TileSums; 2],
        rows: Range<usize>,
        out: &mut TileMut<'_>,
        epilogue: Epilogue<'_>,
    ) {
        let shape = TileShape::new(self.isa, rows.len());
        let [mut current, mut other] = sums.each_mut();
        let mut pending = None;
        self.for_each_tile(shape, rows, out.cols(), epilogue, |tile, dequantization| {
            kernel.product(shape, dequantization.row_scales.len(), tile, current);
            if let Some(before) = pending.replace(dequantization) {
                write(other.sums(shape), shape.cols(), before, out);
            }
            std::mem::swap(&mut current, &mut other);
        });
        if let Some(last) = pending {
            write(other.sums(shape), shape.cols(), last, out);
        }
    }

    /// Calls `multiply` for each tile of rows `rows` and `n` columns.
    fn for_each_tile<'p>(
        &'p self,
        shape: TileShape,
        rows: Range<usize>,
        n: usize,
        epilogue: Epilogue<'p>,
        mut multiply: impl FnMut(&Tile<'p>, Dequantization<'p>),
    ) {
        for col in (0..n).step_by(shape.cols()) {
            let cols = shape.cols().min(n - col);
            let right = &self.right[col / PANEL * self.panel..];
            let right_len = cols.div_ceil(PANEL) * self.panel;
            let next = right.as_ptr().wrapping_add(right_len);
            for row in rows.clone().step_by(shape.rows) {
                let tile = Tile {
                    left: &self.left[row * self.stride..],
                    stride: self.stride,
                    right: &right[..right_len],
                    panel: self.panel,
                    next: (row == rows.start && self.is_far).then_some(next),
                    column_sums: &self.col_sums[col..][..cols],
                };
                let rows = shape.rows.min(rows.end - row);
                let dequantization = Dequantization {
                    row,
                    col,
                    row_scales: &self.row_scales[row..][..rows],
                    col_scales: &self.col_scales[col..][..cols],
                    bias: &epilogue.bias.map_or(&NO_BIAS[..], |bias| &bias[col..])[..cols],
                    activation: epilogue.activation,
                };
                multiply(&tile, dequantization);
            }
        }
    }
}
