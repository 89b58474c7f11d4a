//! `f32` products: packed, blocked, and computed in register tiles.
//!
//! The inner dimension is split into blocks of `KC`. Each output element is the sum of the block sums, from
//! the first block to the last.

use rayon::prelude::*;

use super::bf16::{round_all, round_into, widen_panel};
use super::isa::Isa;
use super::pack::KC;
use super::task::{Grain, for_each_rectangle, wanted_tasks};
use super::{Float, Product, View, micro, pack, widened};
use crate::area::area;
use crate::packed::{PANEL, PackedBf16, PackedF32, with_lines};
use crate::parallel::is_large;
use crate::prefetch::is_far;
use crate::scratch::with_scratches;
use crate::tile::TileMut;

/// Rows of `a` that fit into the L2 cache; a multiple of the rows of every register tile.
const MC: usize = 144;
/// The largest output rectangle per task.
const TASK_ROWS: usize = 4 * MC;
const TASK_COLS: usize = 512;
/// The smallest output rectangle per task.
const MIN_TASK_ROWS: usize = 48;
const MIN_TASK_COLS: usize = 64;
/// Minimum number of multiply-adds per task.
const TASK_WORK: usize = 1 << 18;
/// Elements of an operand that stays in the L1 cache beside another one: 16 KiB.
const SMALL: usize = 1 << 12;
/// The most columns for which a left operand in columns is read where it is.
const NARROW: usize = 64;
/// Cost of packing one element of `b`, in multiply-adds.
const PACK_WORK: usize = 8;

/// The kernel that multiplies in `f32`.
#[derive(Clone, Copy)]
pub(crate) struct Single {
    isa: Isa,
    /// The number type of the operands, which are rounded while they are packed.
    precision: Float,
}

/// The right operand of a product.
#[derive(Clone, Copy)]
pub(crate) enum RightOperand<'a> {
    /// Packed once if several rows of tasks read it, else by each task.
    Plain(View<'a>),
    /// Packed before, from a column on that starts a panel.
    F32(PackedF32<'a>, usize),
    /// The same in bfloat16, converted by every task that needs it.
    Bf16(PackedBf16<'a>, usize),
}

impl RightOperand<'_> {
    /// The operand from column `col` on.
    fn cols_from(self, col: usize) -> Self {
        match self {
            Self::Plain(b) => Self::Plain(b.from(0, col)),
            Self::F32(packed, first) => Self::F32(packed, first + col),
            Self::Bf16(packed, first) => Self::Bf16(packed, first + col),
        }
    }
}

impl Product<'_, View<'_>, RightOperand<'_>> {
    /// The product for the rows from `row` on and the columns from `col` on.
    fn from(&self, row: usize, col: usize) -> Self {
        self.with(self.a.from(row, 0), self.b.cols_from(col)).then(self.epilogue.from(col))
    }
}

impl Single {
    pub(crate) fn new(isa: Isa, precision: Float) -> Self {
        Self { isa, precision }
    }

    /// Computes `out`, on several threads if that is faster.
    pub(crate) fn product(self, product: &Product<'_, View<'_>, RightOperand<'_>>, out: &mut TileMut<'_>) {
        if product.write_empty(out) {
            return;
        }
        let (m, n) = (out.rows(), out.cols());
        let packing = match product.b {
            RightOperand::Plain(_) => PACK_WORK,
            RightOperand::F32(..) => 0,
            RightOperand::Bf16(..) => 1,
        };
        let work = area(m.saturating_add(packing), n).saturating_mul(product.k);
        let wanted = wanted_tasks(work, TASK_WORK);
        if wanted <= 2 {
            return self.rectangle(product, out);
        }
        let grain = Grain {
            rows: TASK_ROWS,
            cols: TASK_COLS,
            min_rows: MIN_TASK_ROWS,
            min_cols: MIN_TASK_COLS,
            tile_rows: self.isa.mr(),
            tile_cols: self.isa.nr(),
            slices: false,
        };
        let task = grain.rectangle(m, n, wanted);
        let mut compute = |product: &Product<'_, View<'_>, RightOperand<'_>>| {
            for_each_rectangle(task, true, out, |row, col, part| {
                self.rectangle(&product.from(row, col), part);
            });
        };
        match product.b {
            // Otherwise, each of the tasks with the same columns would pack them.
            RightOperand::Plain(b) if m > task.0 => self.with_panels(b, [product.k, n], |panels| {
                compute(&product.with(product.a, RightOperand::F32(panels, 0)));
            }),
            _ => compute(product),
        }
    }

    /// Calls `work` with `b` `[k, n]`, packed by several threads if that is faster, and rounded if the
    /// precision asks for it.
    pub(super) fn with_panels<R>(
        self,
        b: View<'_>,
        [k, n]: [usize; 2],
        work: impl FnOnce(PackedF32<'_>) -> R,
    ) -> R {
        with_lines(area(n.next_multiple_of(PANEL), k), |panels| {
            let group = pack::GROUP * PANEL;
            let pack = |(number, panels): (usize, &mut [f32])| {
                let first = number * group;
                pack::pack_b(b.from(0, first), k, group.min(n - first), panels);
                if self.precision == Float::Bf16 {
                    round_all(panels);
                }
            };
            let len = area(group, k).max(1);
            if is_large(panels.len()) {
                panels.par_chunks_mut(len).enumerate().for_each(pack)
            } else {
                panels.chunks_mut(len).enumerate().for_each(pack)
            }
            work(PackedF32::new(n, k, panels).expect("whole panels"))
        })
    }

    /// [`Self::product`] on the calling thread.
    pub(crate) fn rectangle(self, product: &Product<'_, View<'_>, RightOperand<'_>>, out: &mut TileMut<'_>) {
        if product.write_empty(out) {
            return;
        }
        // Columns are processed in blocks to bound the size of the packed part of `b`.
        let turn = (out.rows(), TASK_COLS);
        for_each_rectangle(turn, false, out, |row, col, part| {
            self.column_block(&product.from(row, col), part);
        });
    }

    /// [`Self::rectangle`] for at most `TASK_COLS` columns.
    fn column_block(self, product: &Product<'_, View<'_>, RightOperand<'_>>, out: &mut TileMut<'_>) {
        let isa = self.isa;
        let Product { k, a, b, .. } = *product;
        let (m, n) = (out.rows(), out.cols());
        if let RightOperand::Bf16(weight, col) = b
            && m <= widened::max_rows(isa)
        {
            return widened::product(isa, product, (weight, col), out);
        }
        let block = k.min(KC);
        let b_len = match b {
            RightOperand::Plain(b) if self.reads_right_in_place(b, block, n) => 0,
            RightOperand::Plain(_) | RightOperand::Bf16(..) => n.next_multiple_of(PANEL) * block,
            RightOperand::F32(..) => 0,
        };
        let a_len = if self.reads_left_in_place(a, block, m, n) { 0 } else { MC * block };
        with_scratches([b_len, a_len], |[packed_b, packed_a]| {
            for start in (0..k).step_by(KC) {
                let depth = KC.min(k - start);
                let mut right = self.right(b, start, depth, n, packed_b);
                let add = product.adds(start);
                for row in (0..m).step_by(MC) {
                    let rows = row..m.min(row + MC);
                    let left = self.left(a.from(row, start), rows.len(), depth, packed_a);
                    micro::block_product(isa, depth, left, right, out, rows.clone(), add);
                    right = right.in_cache();
                    if start + depth == k {
                        product.epilogue.finish(out, rows);
                    }
                }
            }
        });
    }

    /// Whether the microkernel reads the right operand, of which it needs blocks of `depth` rows, where it
    /// is: if it is so small that the rows stay in the L1 cache, and consists of whole panels.
    fn reads_right_in_place(self, b: View<'_>, depth: usize, n: usize) -> bool {
        self.precision == Float::F32 && b.col_stride == 1 && n.is_multiple_of(PANEL) && n * depth <= SMALL
    }

    /// Whether the microkernel reads the left operand `[m, k]` where it is, in blocks of `depth` columns: if
    /// its rows are contiguous, both operands are small, or copying costs more than it saves.
    fn reads_left_in_place(self, a: View<'_>, depth: usize, m: usize, n: usize) -> bool {
        let is_small = m * depth <= SMALL && n * depth <= SMALL;
        // Few tiles read each element, and columns an odd number of cache lines apart spread over the whole
        // L1 cache.
        let is_spread = a.row_stride == 1 && a.col_stride / PANEL % 2 == 1;
        let is_cheap = n <= NARROW && is_spread;
        self.precision == Float::F32 && (a.col_stride == 1 || is_small || is_cheap)
    }

    /// The first `n` columns of `depth` rows of the right operand from row `start` on, copied to `packed` if
    /// necessary.
    fn right<'r>(
        self,
        b: RightOperand<'r>,
        start: usize,
        depth: usize,
        n: usize,
        packed: &'r mut [f32],
    ) -> micro::RightTiles<'r> {
        let isa = self.isa;
        match b {
            RightOperand::Plain(b) if packed.is_empty() => {
                micro::RightTiles::of_rows(isa, b.from(start, 0).data, b.row_stride)
            }
            RightOperand::Plain(b) => {
                let packed = &mut packed[..n.next_multiple_of(PANEL) * depth];
                pack::pack_b(b.from(start, 0), depth, n, packed);
                if self.precision == Float::Bf16 {
                    round_all(packed);
                }
                micro::RightTiles::of_panels(isa, packed, depth * PANEL)
            }
            RightOperand::F32(weight, col) => {
                let panel = weight.k() * PANEL;
                let values = weight.values();
                let data = &values[col / PANEL * panel + start * PANEL..];
                let next = if start + depth < weight.k() {
                    data.as_ptr().wrapping_add(depth * PANEL)
                } else {
                    let panels = (col + n).div_ceil(PANEL);
                    values.as_ptr().wrapping_add(panels * panel)
                };
                let next = is_far(size_of_val(values)).then_some(next);
                micro::RightTiles::of_panels(isa, data, panel).followed_by(next)
            }
            RightOperand::Bf16(weight, col) => {
                let panel = weight.k().next_multiple_of(2) * PANEL;
                let values = weight.values()[col / PANEL * panel..].chunks_exact(panel);
                let packed = &mut packed[..n.next_multiple_of(PANEL) * depth];
                for (values, out) in values.zip(packed.chunks_exact_mut(depth * PANEL)) {
                    widen_panel(&values[start * PANEL..], out);
                }
                micro::RightTiles::of_panels(isa, packed, depth * PANEL)
            }
        }
    }

    /// Lays out the left operand `a` `[rows, depth]` for the microkernels, copying it to `packed` if
    /// necessary.
    fn left<'l>(
        self,
        a: View<'l>,
        rows: usize,
        depth: usize,
        packed: &'l mut [f32],
    ) -> micro::LeftPanels<'l> {
        let mr = self.isa.mr();
        let strided =
            |data: &'l [f32], row: usize, col: usize| micro::LeftPanels { data, panel: mr * row, row, col };
        match (a.col_stride, self.precision) {
            _ if packed.is_empty() => strided(a.data, a.row_stride, a.col_stride),
            (1, Float::Bf16) => {
                for (row, out) in packed.chunks_exact_mut(depth).enumerate().take(rows) {
                    round_into(&a.data[row * a.row_stride..][..depth], out);
                }
                strided(packed, depth, 1)
            }
            (_, precision) => {
                pack::pack_a(self.isa, a, rows, depth, packed);
                if precision == Float::Bf16 {
                    round_all(&mut packed[..rows.next_multiple_of(mr) * depth]);
                }
                micro::LeftPanels { data: packed, panel: mr * depth, row: 1, col: mr }
            }
        }
    }
}
