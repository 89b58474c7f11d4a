//! Matrix products: packed, blocked and computed in register tiles.
//!
//! An output element is the sum over blocks of `KC` of the products' running sum in each block, from the first to the
//! last. Nothing else enters its value, so it is the same however many rows, columns and threads there are.

mod bf16;
mod micro;
mod pack;

use std::ops::Range;

use crate::linear::Activation;
use crate::parallel::for_each;
use crate::scratch::with_scratch;
use crate::tile::TileMut;
use micro::{Isa, MR, NR};

/// Products that are summed up in registers before they are added to the output.
const KC: usize = 256;
/// Rows of `a` that stay in the second-level cache; a multiple of `MR`.
const MC: usize = 144;
/// Largest rectangle of the output that is one task.
const TASK_ROWS: usize = 4 * MC;
const TASK_COLS: usize = 512;
/// Smallest one.
const MIN_TASK_ROWS: usize = 8 * MR;
const MIN_TASK_COLS: usize = 4 * NR;
/// Multiply-adds that are worth a task of their own.
const TASK_WORK: usize = 1 << 18;
/// Multiply-adds that take as long as packing one element of `b`.
const PACK_WORK: usize = 8;

/// A matrix to read: element (i, j) is `data[i * row_stride + j * col_stride]`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The numbers.
    pub data: &'a [f32],
    /// Distance of neighbouring rows.
    pub row_stride: usize,
    /// Distance of neighbouring columns.
    pub col_stride: usize,
}

impl<'a> View<'a> {
    /// A row-major matrix with `cols` columns.
    pub fn rows(data: &'a [f32], cols: usize) -> Self {
        Self {
            data,
            row_stride: cols,
            col_stride: 1,
        }
    }

    /// The transpose of a row-major matrix with `cols` columns.
    pub fn transposed(data: &'a [f32], cols: usize) -> Self {
        Self {
            data,
            row_stride: 1,
            col_stride: cols,
        }
    }

    /// The part that starts at (`row`, `col`).
    pub(crate) fn from(self, row: usize, col: usize) -> Self {
        let start = row * self.row_stride + col * self.col_stride;
        Self {
            data: self.data.get(start..).unwrap_or_default(),
            ..self
        }
    }

    /// The transpose.
    pub(crate) fn t(self) -> Self {
        Self {
            data: self.data,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }

    fn assert_holds(self, name: &str, rows: usize, cols: usize) {
        if rows > 0 && cols > 0 {
            let last = (rows - 1) * self.row_stride + (cols - 1) * self.col_stride;
            assert!(
                last < self.data.len(),
                "`{name}` needs {} numbers, it has {}",
                last + 1,
                self.data.len()
            );
        }
    }
}

/// What becomes of what the output holds already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accumulate {
    /// It is replaced.
    Overwrite,
    /// The product is added to it.
    Add,
}

/// How exactly the operands enter a product. Sums are always of `f32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// As they are.
    F32,
    /// Rounded to bfloat16, which some CPUs multiply much faster; on others the rounded operands are multiplied as `f32`.
    Bf16,
}

impl Precision {
    /// The faster of the two on this CPU.
    pub fn fastest() -> Self {
        Self::F32
    }
}

/// The sizes of a product of `[m, k]` and `[k, n]`.
#[derive(Clone, Copy, Debug)]
pub struct GemmShape {
    /// Rows of the first operand and of the output.
    pub m: usize,
    /// Columns of the second operand and of the output.
    pub n: usize,
    /// Products in each sum.
    pub k: usize,
}

/// What is done to an output element after its last product.
#[derive(Clone, Copy)]
pub(crate) struct Epilogue<'a> {
    /// Added to each row, `[n]`.
    pub(crate) bias: Option<&'a [f32]>,
    /// Applied last.
    pub(crate) activation: Activation,
}

impl Epilogue<'_> {
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        bias: None,
        activation: Activation::Identity,
    };
}

/// `out` `[m, n]` = `a` `[m, k]` · `b` `[k, n]`, added to `out` if `accumulate` says so.
///
/// # Panics
/// If a slice is too short for its shape.
pub fn gemm(
    shape: GemmShape,
    a: View<'_>,
    b: View<'_>,
    out: &mut [f32],
    accumulate: Accumulate,
    precision: Precision,
) {
    let GemmShape { m, n, k } = shape;
    assert_eq!(out.len(), m * n, "`out` is [{m}, {n}]");
    let mut out = TileMut::new(out, m, n, n);
    gemm_into(k, a, b, &mut out, accumulate, precision, Epilogue::NONE);
}

/// [`gemm`] into a rectangle.
pub(crate) fn gemm_into(
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    precision: Precision,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    a.assert_holds("a", m, k);
    b.assert_holds("b", k, n);
    match precision {
        Precision::F32 => gemm_parallel(k, a, b, out, accumulate, epilogue),
        Precision::Bf16 => with_scratch((m + n) * k, |room| {
            let (room_a, room_b) = room.split_at_mut(m * k);
            let (a, b) = (
                bf16::rounded(a, m, k, room_a),
                bf16::rounded(b, k, n, room_b),
            );
            gemm_parallel(k, a, b, out, accumulate, epilogue);
        }),
    }
}

/// [`gemm_into`] in `f32`, on several threads where that pays.
fn gemm_parallel(
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    let (rows, cols) = task_shape(m, n, k);
    let tasks_across = n.div_ceil(cols);
    let tasks = m.div_ceil(rows) * tasks_across;
    if tasks <= 1 {
        return gemm_tile(k, a, b, out, accumulate, epilogue);
    }
    let out = &*out;
    for_each(tasks, true, |task| {
        let (row, col) = (task / tasks_across * rows, task % tasks_across * cols);
        // SAFETY: the tasks' rectangles are disjoint, and the caller lent all of `out`.
        let mut part = unsafe { out.part(row, col, rows.min(m - row), cols.min(n - col)) };
        let epilogue = Epilogue {
            bias: epilogue.bias.map(|bias| &bias[col..]),
            ..epilogue
        };
        gemm_tile(
            k,
            a.from(row, 0),
            b.from(0, col),
            &mut part,
            accumulate,
            epilogue,
        );
    });
}

/// The rectangle of the output that makes one task.
fn task_shape(m: usize, n: usize, k: usize) -> (usize, usize) {
    let threads = rayon::current_num_threads();
    let work = (m + PACK_WORK) * n * k;
    let wanted = if threads == 1 {
        1
    } else {
        (4 * threads).min(work / TASK_WORK)
    };
    if wanted <= 2 {
        return (m.max(1), n.max(1));
    }
    let mut rows = m.min(TASK_ROWS);
    let mut cols = n.min(TASK_COLS);
    while m.div_ceil(rows) * n.div_ceil(cols) < wanted {
        if cols > MIN_TASK_COLS && (cols >= rows || rows <= MIN_TASK_ROWS) {
            cols = (cols / 2).next_multiple_of(NR);
        } else if rows > MIN_TASK_ROWS {
            rows = (rows / 2).next_multiple_of(MR);
        } else {
            break;
        }
    }
    (rows, cols)
}

/// [`gemm`] into a rectangle, on the calling thread.
pub(crate) fn gemm_tile(
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    a.assert_holds("a", m, k);
    b.assert_holds("b", k, n);
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        if accumulate == Accumulate::Overwrite {
            (0..m).for_each(|row| out.row_mut(row).fill(0.0));
        }
        return finish(out, 0..m, epilogue);
    }
    // Columns are taken in turns so that the packed part of `b` stays bounded.
    let isa = Isa::detect();
    for col in (0..n).step_by(TASK_COLS) {
        let cols = TASK_COLS.min(n - col);
        // SAFETY: `out` is borrowed mutably and the column blocks are disjoint.
        let mut part = unsafe { out.part(0, col, m, cols) };
        let epilogue = Epilogue {
            bias: epilogue.bias.map(|bias| &bias[col..]),
            ..epilogue
        };
        column_block(isa, k, a, b.from(0, col), &mut part, accumulate, epilogue);
    }
}

/// [`gemm_tile`] for at most `TASK_COLS` columns.
fn column_block(
    isa: Isa,
    k: usize,
    a: View<'_>,
    b: View<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    let block = k.min(KC);
    let b_len = n.next_multiple_of(NR) * block;
    let a_len = if a.col_stride == 1 { 0 } else { MC * block };
    with_scratch(b_len + a_len, |scratch| {
        let (packed_b, packed_a) = scratch.split_at_mut(b_len);
        for start in (0..k).step_by(KC) {
            let depth = KC.min(k - start);
            pack::pack_b(isa, b.from(start, 0), depth, n, packed_b);
            let add = start > 0 || accumulate == Accumulate::Add;
            for row in (0..m).step_by(MC) {
                let rows = MC.min(m - row);
                let a = a.from(row, start);
                let left = if a.col_stride == 1 {
                    micro::Left {
                        data: a.data,
                        panel: MR * a.row_stride,
                        row: a.row_stride,
                        col: 1,
                    }
                } else {
                    pack::pack_a(a, rows, depth, packed_a);
                    micro::Left {
                        data: packed_a,
                        panel: MR * depth,
                        row: 1,
                        col: MR,
                    }
                };
                micro::block_product(isa, depth, left, packed_b, out, row..row + rows, add);
                if start + depth == k {
                    finish(out, row..row + rows, epilogue);
                }
            }
        }
    });
}

/// Adds the bias and applies the activation.
fn finish(out: &mut TileMut<'_>, rows: Range<usize>, epilogue: Epilogue<'_>) {
    if epilogue.bias.is_none() && epilogue.activation == Activation::Identity {
        return;
    }
    for row in rows {
        finish_row(out.row_mut(row), epilogue);
    }
}

vectorised! {
    fn finish_row(row: &mut [f32], epilogue: Epilogue<'_>) {
        if let Some(bias) = epilogue.bias {
            for (x, &bias) in row.iter_mut().zip(bias) {
                *x += bias;
            }
        }
        if epilogue.activation == Activation::Relu {
            for x in row {
                *x = if *x < 0.0 { 0.0 } else { *x };
            }
        }
    }
}

#[cfg(test)]
mod tests;
