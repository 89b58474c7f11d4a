//! Linear layers with packed weights.

use std::ops::Range;

use super::left::{LeftStorage, ProductKernel};
use super::lines::{PANEL, PanelLine, lines_in};
use super::{LeftOperand, PackedWeight};
use crate::area::{area, assert_shape, assert_shape_if_any};
use crate::gemm::{
    Activation, Epilogue, Float, Grain, Product, RightOperand, Single, View, for_each_rectangle, int8,
    wanted_tasks,
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

/// `out` `[rows, n]` = `activation`(`x` `[rows, k]` · Wᵀ + `bias` `[n]`), on several threads if that is
/// faster.
///
/// For `f32` and bfloat16 the result is equal, to the bit, to that of [`mod@crate::linear`] at the same
/// precision. For 8-bit integers it is (Σ q p) · (s t) + b for a row with integers q and scale s and a row of
/// the weight with p and t; it is NaN where `x` is not finite, and the same for every instruction set.
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

/// [`linear_packed`] for several layers with the same input, which need not have the same width: `out`
/// `[rows, Σ n]`.
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
    assert_shape("out", out, [rows, width]);
    let Some(first) = maps.first() else {
        return;
    };
    let tile = TileMut::new(out, rows, width, width);
    let kernel = ProductKernel::detect(first.weight.precision(), rows);
    // Layers of one type share the rounded input.
    with_left(kernel, rows, first.weight.k(), x, |left| {
        let mut col = 0;
        for &PackedAffine { weight, bias } in maps {
            let n = weight.n();
            assert_shape_if_any("bias", bias, [n]);
            // SAFETY: the layers write disjoint columns, one layer after the other.
            let mut part = unsafe { tile.part(0, col, rows, n) };
            let epilogue = Epilogue { bias, activation };
            PackedProduct::new(*left, weight, epilogue).write(&mut part);
            col += n;
        }
    });
}

/// `out` `[rows, n]` += `x` `[rows, k]` · Wᵀ. In `f32` the result is equal, to the bit, to that of a plain
/// product that adds to `out`.
///
/// # Panics
/// If a slice does not fit.
pub fn linear_packed_add(rows: usize, x: &[f32], weight: PackedWeight<'_>, out: &mut [f32]) {
    let n = weight.n();
    assert_shape("out", out, [rows, n]);
    let kernel = ProductKernel::detect(weight.precision(), rows);
    if matches!(weight, PackedWeight::F32(_)) {
        let (lines, scales) = (&mut [][..], &mut [][..]);
        let left = LeftOperand::prepare_in(kernel, rows, weight.k(), x, lines, scales, false);
        let mut out = TileMut::new(out, rows, n, n);
        let (single, product) = PackedProduct::new(left, weight, Epilogue::bias(None)).single();
        return single.product(&product.added(), &mut out);
    }
    with_scratch(out.len(), |terms| {
        linear_packed(rows, x, weight, None, Activation::Identity, terms);
        crate::elementwise::add(out, terms);
    });
}

/// Output columns `columns` of [`linear_packed`], on the calling thread: `out`
/// `[left.rows(), columns.len()]`. The columns start at a multiple of 16 and end at one or at n; `bias` is
/// `[n]`.
///
/// # Panics
/// If a slice does not fit, the columns are others, or `left` was prepared for another type of weights.
pub fn linear_packed_columns(
    left: &LeftOperand<'_>,
    weight: PackedWeight<'_>,
    bias: Option<&[f32]>,
    activation: Activation,
    columns: Range<usize>,
    out: &mut [f32],
) {
    let (rows, n, width) = (left.rows, weight.n(), columns.len());
    assert_shape_if_any("bias", bias, [n]);
    assert!(
        columns.start.is_multiple_of(PANEL)
            && (columns.end.is_multiple_of(PANEL) || columns.end == n)
            && columns.end <= n,
        "columns {columns:?} of {n} do not start and end at panels"
    );
    assert_shape("out", out, [rows, width]);
    PackedProduct::new(*left, weight, Epilogue { bias, activation })
        .from(0, columns.start)
        .rectangle(&mut TileMut::new(out, rows, width, width));
}

/// The number of threads of the [`team`] among which the columns of a product of `rows` rows with `weight`
/// are worth sharing.
pub fn team_size(rows: usize, weight: PackedWeight<'_>) -> usize {
    shared_by(rows, weight.n(), weight.k())
}

/// The number of threads of the [`team`] among which a product `[rows, n]` over k is worth sharing.
pub fn shared_by(rows: usize, n: usize, k: usize) -> usize {
    if work(rows, n, k) < TEAM_WORK { 1 } else { team::size() }
}

/// The multiply-adds of a product, with few rows counted as `FEW_ROWS`, since reading the weight then takes
/// as long.
fn work(m: usize, n: usize, k: usize) -> usize {
    area(m.max(FEW_ROWS), n).saturating_mul(k)
}

/// Calls `work` with the left operand `x` `[m, k]`, prepared for a kernel that this CPU supports.
pub(super) fn with_left(
    kernel: ProductKernel,
    m: usize,
    k: usize,
    x: &[f32],
    work: impl FnOnce(&LeftOperand<'_>),
) {
    let room = kernel.lines(m, k);
    let aligned = (room + 1) * (size_of::<PanelLine>() / size_of::<f32>());
    with_scratches([aligned, m], |[lines, scales]| {
        let lines = &mut lines_in(lines)[..room];
        let parallel = is_large(area(m, k));
        work(&LeftOperand::prepare_in(kernel, m, k, x, lines, scales, parallel));
    });
}

/// Wᵀ times the left operand: columns from `col` on of its rows from `row` on. Both are multiples of 16.
#[derive(Clone, Copy)]
pub(super) struct PackedProduct<'a> {
    left: LeftOperand<'a>,
    row: usize,
    weight: PackedWeight<'a>,
    col: usize,
    epilogue: Epilogue<'a>,
}

impl<'a> PackedProduct<'a> {
    /// The whole product.
    pub(super) fn new(left: LeftOperand<'a>, weight: PackedWeight<'a>, epilogue: Epilogue<'a>) -> Self {
        Self { left, row: 0, weight, col: 0, epilogue }
    }

    /// The product from `row` and `col` on.
    fn from(self, row: usize, col: usize) -> Self {
        Self { row: self.row + row, col: self.col + col, epilogue: self.epilogue.from(col), ..self }
    }

    /// Computes `out`, on several threads if that is faster.
    pub(super) fn write(self, out: &mut TileMut<'_>) {
        let (m, n) = (out.rows(), out.cols());
        let few = m <= FEW_ROWS;
        let parts = if few { team_size(m, self.weight) } else { 1 };
        if parts > 1 {
            return self.by_team(parts, out);
        }
        // These split their work themselves.
        if let LeftStorage::F32(..) | LeftStorage::Rounded(..) = self.left.storage {
            let (single, product) = self.single();
            return single.product(&product, out);
        }
        let wanted = wanted_tasks(work(m, n, self.weight.k()), TASK_WORK);
        if wanted <= 1 {
            return self.rectangle(out);
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
        for_each_rectangle(task, true, out, |row, col, part| {
            self.from(row, col).rectangle(part);
        });
    }

    /// Columns are shared by `parts` threads of the team.
    fn by_team(self, parts: usize, out: &mut TileMut<'_>) {
        let (m, n) = (out.rows(), out.cols());
        // Whole panels, and whole wide tiles of the `f32` kernels.
        let each = n.div_ceil(parts).next_multiple_of(8 * PANEL);
        let out = &*out;
        team::run(n.div_ceil(each), &|part| {
            let first = part * each;
            // SAFETY: the parts have no column in common, and the caller lends all of `out`.
            let mut part = unsafe { out.part(0, first, m, each.min(n - first)) };
            self.from(0, first).rectangle(&mut part);
        });
    }

    /// [`Self::write`] on the calling thread.
    fn rectangle(self, out: &mut TileMut<'_>) {
        let Self { left, row, weight, col, epilogue } = self;
        assert_eq!(weight.k(), left.k, "columns of the left operand");
        assert!(col + out.cols() <= weight.n() && row + out.rows() <= left.rows, "a part");
        match (left.storage, weight) {
            (LeftStorage::Int8(left), PackedWeight::Int8(weight)) => {
                int8::product(left, row, weight, col, out, epilogue);
            }
            (LeftStorage::Pairs(isa, blocks), PackedWeight::Bf16(weight)) => {
                let left = (blocks, left.rows, row);
                crate::gemm::pairs::product_packed(isa, left, (weight, col), out, epilogue);
            }
            _ => {
                let (single, product) = self.single();
                single.rectangle(&product, out);
            }
        }
    }

    /// The same as a product of `f32` numbers.
    fn single(self) -> (Single, Product<'a, View<'a>, RightOperand<'a>>) {
        let (isa, x, right) = match (self.left.storage, self.weight) {
            (LeftStorage::F32(isa, x), PackedWeight::F32(weight)) => {
                (isa, x, RightOperand::F32(weight, self.col))
            }
            (LeftStorage::Rounded(isa, x), PackedWeight::Bf16(weight)) => {
                (isa, x, RightOperand::Bf16(weight, self.col))
            }
            _ => panic!("the left operand was prepared for another type of weights"),
        };
        let x = View::rows(x, self.left.k).from(self.row, 0);
        let product = Product::new(self.left.k, x, right).then(self.epilogue);
        (Single::new(isa, Float::F32), product)
    }
}
