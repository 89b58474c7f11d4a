//! Linear layers with packed weights.

use std::ops::Range;

use super::left::{Kernel, Kind};
use super::lines::{Line, PANEL, lines_in};
use super::{Left, PackedWeight};
use crate::area::area;
use crate::gemm::{
    Accumulate, Activation, Epilogue, Grain, Precision, Right, Single, View, for_each_rectangle,
    int8, wanted_tasks, without_products,
};
use crate::parallel::is_large;
use crate::scratch::{with_scratch, with_scratches};
use crate::team;
use crate::tile::TileMut;

/// The largest output rectangle per task.
const TASK_ROWS: usize = 256;
const TASK_COLS: usize = 512;
/// Minimum work per task: see [`work`].
const TASK_WORK: usize = 1 << 22;
const FEW_ROWS: usize = 16;
/// Minimum work that is shared by the team.
const TEAM_WORK: usize = 1 << 18;

/// Weight and bias of one layer.
#[derive(Clone, Copy, Debug)]
pub struct PackedAffine<'a> {
    /// `[n, k]`
    pub weight: PackedWeight<'a>,
    /// `[n]`
    pub bias: Option<&'a [f32]>,
}

/// `out` `[rows, n]` = `activation`(`x` `[rows, k]` · Wᵀ + `bias` `[n]`), on several threads if that is faster.
///
/// For `f32` and bfloat16 the result is equal, to the bit, to that of [`mod@crate::linear`] at the same precision. For 8-bit
/// integers it is (Σ q p) · (s t) + b for a row with integers q and scale s and a row of the weight with p and t; it is NaN where
/// `x` is not finite, and the same for every instruction set.
///
/// # Panics
/// If a slice does not fit.
pub fn linear_packed(
    rows: usize,
    x: &[f32],
    weight: PackedWeight<'_>,
    bias: Option<&[f32]>,
    activation: Activation,
    out: &mut [f32],
) {
    linear_packed_joined(rows, x, &[PackedAffine { weight, bias }], activation, out);
}

/// [`linear_packed`] for several layers with the same input, which need not have the same width: `out` `[rows, Σ n]`.
///
/// # Panics
/// If a slice does not fit.
pub fn linear_packed_joined(
    rows: usize,
    x: &[f32],
    maps: &[PackedAffine<'_>],
    activation: Activation,
    out: &mut [f32],
) {
    let width = maps.iter().map(|map| map.weight.n()).sum();
    assert_eq!(out.len(), area(rows, width), "`out` is [{rows}, {width}]");
    let Some(first) = maps.first() else {
        return;
    };
    let tile = TileMut::new(out, rows, width, width);
    let kernel = Kernel::detect(first.weight.weight_type(), rows);
    // Layers of one type share the rounded input.
    with_left(kernel, rows, first.weight.k(), x, |left| {
        let mut col = 0;
        for &PackedAffine { weight, bias } in maps {
            let n = weight.n();
            check_bias(bias, n);
            // SAFETY: the layers write disjoint columns, one layer after the other.
            let mut part = unsafe { tile.part(0, col, rows, n) };
            product(left, weight, &mut part, Epilogue { bias, activation });
            col += n;
        }
    });
}

/// `out` `[rows, n]` += `x` `[rows, k]` · Wᵀ. In `f32` the result is equal, to the bit, to that of a plain product that adds to
/// `out`.
///
/// # Panics
/// If a slice does not fit.
pub fn linear_packed_add(rows: usize, x: &[f32], weight: PackedWeight<'_>, out: &mut [f32]) {
    let n = weight.n();
    assert_eq!(out.len(), area(rows, n), "`out` is [{rows}, {n}]");
    let kernel = Kernel::detect(weight.weight_type(), rows);
    if matches!(weight, PackedWeight::F32(_)) {
        let (lines, scales) = (&mut [][..], &mut [][..]);
        let left = Left::prepare_in(kernel, rows, weight.k(), x, lines, scales, false);
        let mut out = TileMut::new(out, rows, n, n);
        return product_f32(&left, weight, &mut out, Accumulate::Add, Epilogue::NONE);
    }
    with_scratch(out.len(), |terms| {
        linear_packed(rows, x, weight, None, Activation::Identity, terms);
        crate::elementwise::add(out, terms);
    });
}

/// Output columns `columns` of [`linear_packed`], on the calling thread: `out` `[left.rows(), columns.len()]`. The columns start at a
/// multiple of 16 and end at one or at n; `bias` is `[n]`.
///
/// # Panics
/// If a slice does not fit, the columns are others, or `left` was prepared for another type of weights.
pub fn linear_packed_columns(
    left: &Left<'_>,
    weight: PackedWeight<'_>,
    bias: Option<&[f32]>,
    activation: Activation,
    columns: Range<usize>,
    out: &mut [f32],
) {
    let (rows, n, width) = (left.rows, weight.n(), columns.len());
    check_bias(bias, n);
    assert!(
        columns.start.is_multiple_of(PANEL)
            && (columns.end.is_multiple_of(PANEL) || columns.end == n)
            && columns.end <= n,
        "columns {columns:?} of {n} do not start and end at panels"
    );
    assert_eq!(out.len(), area(rows, width), "`out` is [{rows}, {width}]");
    let epilogue = Epilogue {
        bias: bias.map(|bias| &bias[columns.clone()]),
        activation,
    };
    let mut out = TileMut::new(out, rows, width, width);
    rectangle(left, 0, weight, columns.start, &mut out, epilogue);
}

/// The number of threads of the [`team`] among which the columns of a product of `rows` rows with `weight` are worth sharing.
pub fn team_size(rows: usize, weight: PackedWeight<'_>) -> usize {
    match work(rows, weight.n(), weight.k()) < TEAM_WORK {
        true => 1,
        false => team::size(),
    }
}

/// The multiply-adds of a product, with few rows counted as `FEW_ROWS`, since reading the weight then takes as long.
fn work(m: usize, n: usize, k: usize) -> usize {
    area(m.max(FEW_ROWS), n).saturating_mul(k)
}

fn check_bias(bias: Option<&[f32]>, n: usize) {
    assert!(bias.is_none_or(|bias| bias.len() == n), "`bias` is [{n}]");
}

/// Calls `work` with the left operand `x` `[m, k]`, prepared for a kernel that this CPU supports.
pub(super) fn with_left(
    kernel: Kernel,
    m: usize,
    k: usize,
    x: &[f32],
    work: impl FnOnce(&Left<'_>),
) {
    let room = kernel.lines(m, k);
    let aligned = (room + 1) * (size_of::<Line>() / size_of::<f32>());
    with_scratches([aligned, m], |[lines, scales]| {
        let lines = &mut lines_in(lines)[..room];
        let parallel = is_large(area(m, k));
        work(&Left::prepare_in(kernel, m, k, x, lines, scales, parallel));
    });
}

/// `out` `[m, n]` = `left` `[m, k]` · Wᵀ, on several threads if that is faster.
pub(super) fn product(
    left: &Left<'_>,
    weight: PackedWeight<'_>,
    out: &mut TileMut<'_>,
    epilogue: Epilogue<'_>,
) {
    let (m, n, k) = (out.rows(), out.cols(), weight.k());
    let few = m <= FEW_ROWS;
    let parts = if few { team_size(m, weight) } else { 1 };
    if parts > 1 {
        return by_team(parts, left, weight, out, epilogue);
    }
    // These split their work themselves.
    if let Kind::F32(..) | Kind::Rounded(..) = left.kind {
        return product_f32(left, weight, out, Accumulate::Overwrite, epilogue);
    }
    let wanted = wanted_tasks(work(m, n, k), TASK_WORK);
    if wanted <= 1 {
        return rectangle(left, 0, weight, 0, out, epilogue);
    }
    let grain = Grain {
        rows: TASK_ROWS,
        cols: TASK_COLS,
        min_rows: 64,
        min_cols: if few { 128 } else { 64 },
        tile_rows: 32,
        tile_cols: if few { 128 } else { 32 },
        slices: true,
    };
    let task = grain.rectangle(m, n, wanted);
    for_each_rectangle(task, true, out, epilogue, |row, col, part, epilogue| {
        rectangle(left, row, weight, col, part, epilogue);
    });
}

/// Columns are shared by `parts` threads of the team.
fn by_team(
    parts: usize,
    left: &Left<'_>,
    weight: PackedWeight<'_>,
    out: &mut TileMut<'_>,
    epilogue: Epilogue<'_>,
) {
    let (m, n) = (out.rows(), out.cols());
    // Whole panels, and whole wide tiles of the `f32` kernels.
    let each = n.div_ceil(parts).next_multiple_of(8 * PANEL);
    let out = &*out;
    team::run(n.div_ceil(each), &|part| {
        let first = part * each;
        let cols = each.min(n - first);
        // SAFETY: the parts have no column in common, and the caller lends all of `out`.
        let mut part = unsafe { out.part(0, first, m, cols) };
        let epilogue = Epilogue {
            bias: epilogue.bias.map(|bias| &bias[first..]),
            ..epilogue
        };
        rectangle(left, 0, weight, first, &mut part, epilogue);
    });
}

/// The `f32` products, on several threads if that is faster.
fn product_f32(
    left: &Left<'_>,
    weight: PackedWeight<'_>,
    out: &mut TileMut<'_>,
    accumulate: Accumulate,
    epilogue: Epilogue<'_>,
) {
    if out.rows() == 0 || out.cols() == 0 || left.k == 0 {
        return without_products(out, accumulate, epilogue);
    }
    let (single, x, right) = single(left, weight, 0);
    single.product(left.k, x, right, out, accumulate, epilogue);
}

/// Rows from `row` on and columns from `col` on, on the calling thread; both are multiples of 16.
fn rectangle(
    left: &Left<'_>,
    row: usize,
    weight: PackedWeight<'_>,
    col: usize,
    out: &mut TileMut<'_>,
    epilogue: Epilogue<'_>,
) {
    assert_eq!(weight.k(), left.k, "columns of the left operand");
    assert!(
        col + out.cols() <= weight.n() && row + out.rows() <= left.rows,
        "a part"
    );
    match (left.kind, weight) {
        (Kind::Int8(left), PackedWeight::Int8(weight)) => {
            int8::product(left, row, weight, col, out, epilogue);
        }
        _ if out.rows() == 0 || out.cols() == 0 || left.k == 0 => {
            without_products(out, Accumulate::Overwrite, epilogue);
        }
        #[cfg(target_arch = "x86_64")]
        (Kind::Pairs(isa, blocks), PackedWeight::Bf16(weight)) => {
            let left = (blocks, left.rows, row);
            crate::gemm::pairs::product_packed(isa, left, (weight, col), out, epilogue);
        }
        _ => {
            let (single, x, right) = single(left, weight, col);
            let x = x.from(row, 0);
            single.rectangle(left.k, x, right, out, Accumulate::Overwrite, epilogue);
        }
    }
}

/// The operands of an `f32` product, the right one from column `col` on.
fn single<'a>(
    left: &Left<'a>,
    weight: PackedWeight<'a>,
    col: usize,
) -> (Single, View<'a>, Right<'a>) {
    let (isa, x, right) = match (left.kind, weight) {
        (Kind::F32(isa, x), PackedWeight::F32(weight)) => (isa, x, Right::F32(weight, col)),
        (Kind::Rounded(isa, x), PackedWeight::Bf16(weight)) => (isa, x, Right::Bf16(weight, col)),
        _ => panic!("the left operand was prepared for another type of weights"),
    };
    (
        Single::new(isa, Precision::F32),
        View::rows(x, left.k),
        right,
    )
}
