//! Register tiles of sums.

use super::{IntegerIsa, portable};
#[cfg(target_arch = "x86_64")]
use super::{amx, avx2, avx512};
use crate::packed::PANEL;

/// Elements of the largest tile, that of the matrix unit.
const MOST: usize = 1024;

/// The sums of one tile, row after row.
#[repr(C, align(64))]
pub(super) struct Room([i32; MOST]);

/// Rows and panels that a kernel computes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TileShape {
    /// At most this number of rows.
    pub(super) rows: usize,
    /// Exactly this number of panels.
    pub(super) panels: usize,
}

/// The operands of a tile.
pub(super) struct Tile<'a> {
    /// From the tile's first row on.
    pub(super) left: &'a [i8],
    /// Distance between rows of `left`.
    pub(super) stride: usize,
    /// The panels; if they are fewer than those of the shape, kernels use the last one again.
    pub(super) right: &'a [i8],
    /// Bytes of a panel.
    pub(super) panel: usize,
    /// Words of four numbers along the depth.
    pub(super) groups: usize,
}

impl TileShape {
    /// The shape for `m` rows: with few rows, so many panels that no sum waits for another.
    pub(super) fn new(isa: IntegerIsa, m: usize) -> Self {
        let even = |most: usize| m.div_ceil(m.div_ceil(most).max(1)).max(1);
        let (rows, panels) = match (isa, m) {
            (IntegerIsa::Portable, _) => (1, 1),
            (IntegerIsa::Avx2(_) | IntegerIsa::AvxVnni(_), 0..=1) => (1, 4),
            (IntegerIsa::Avx2(_) | IntegerIsa::AvxVnni(_), 2) => (2, 2),
            (IntegerIsa::Avx2(_) | IntegerIsa::AvxVnni(_), _) => (even(4), 1),
            (IntegerIsa::Avx512Vnni(_), 0..=3) => (m.max(1), 8),
            (IntegerIsa::Avx512Vnni(_), 4..=6) => (m, 4),
            (IntegerIsa::Avx512Vnni(_), _) => (even(12), 2),
            (IntegerIsa::Amx(_), 0..=16) => (16, 4),
            (IntegerIsa::Amx(_), _) => (32, 2),
        };
        Self { rows, panels }
    }

    pub(super) fn cols(self) -> usize {
        self.panels * PANEL
    }
}

impl Room {
    pub(super) fn new() -> Self {
        Self([0; MOST])
    }

    /// Sets all sums to zero.
    pub(super) fn clear(&mut self, shape: TileShape, rows: usize) {
        self.0[..rows * shape.cols()].fill(0);
    }

    /// Sets all sums to −128 times the column sums of the weight, what offset products add.
    pub(super) fn start(&mut self, shape: TileShape, rows: usize, column_sums: &[i32]) {
        for row in self.0.chunks_exact_mut(shape.cols()).take(rows) {
            for (sum, &column) in row.iter_mut().zip(column_sums) {
                *sum = column.wrapping_mul(-128);
            }
        }
    }

    pub(super) fn sums(&self, shape: TileShape) -> &[i32] {
        &self.0[..shape.rows * shape.cols()]
    }

    /// Adds to the first sums.
    pub(super) fn add(&mut self, more: &[i32]) {
        for (sum, &more) in self.0.iter_mut().zip(more) {
            *sum += more;
        }
    }

    /// The sums, for kernels.
    pub(super) fn address(&mut self) -> *mut i32 {
        self.0.as_mut_ptr()
    }
}

/// What computes tiles, ready for use on the calling thread.
pub(super) enum Unit {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "x86_64")]
    Amx(crate::gemm::amx::Configured),
}

impl Unit {
    pub(super) fn new(isa: IntegerIsa) -> Self {
        match isa {
            IntegerIsa::Portable => Self::Portable,
            #[cfg(target_arch = "x86_64")]
            IntegerIsa::Avx2(_) => Self::Avx2,
            #[cfg(target_arch = "x86_64")]
            IntegerIsa::AvxVnni(_) => Self::AvxVnni,
            #[cfg(target_arch = "x86_64")]
            IntegerIsa::Avx512Vnni(_) => Self::Avx512Vnni,
            #[cfg(target_arch = "x86_64")]
            IntegerIsa::Amx(proof) => Self::Amx(crate::gemm::amx::Configured::int8(proof)),
            #[cfg(not(target_arch = "x86_64"))]
            _ => unreachable!("an x86-64 instruction set"),
        }
    }

    /// Adds the product of `rows` rows to the sums in `room`. The shape must be that of the same instruction set.
    pub(super) fn add_product(
        &self,
        shape: TileShape,
        rows: usize,
        tile: &Tile<'_>,
        room: &mut Room,
    ) {
        assert!(1 <= rows && rows <= shape.rows && shape.rows * shape.cols() <= MOST);
        assert!(tile.groups * 4 <= tile.stride && tile.groups * 4 * PANEL == tile.panel);
        assert!(tile.panel == 0 || tile.right.len() <= shape.panels * tile.panel);
        if tile.groups == 0 {
            return;
        }
        match self {
            Self::Portable => portable::add_product(tile, room),
            // SAFETY: a unit of this kind is made from a proof that the CPU has these instructions; the assertions
            // above and those of the kernels cover all addresses.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::add_product(shape.panels, rows, tile, room) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::AvxVnni => unsafe { avx2::add_product_vnni(shape.panels, rows, tile, room) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx512Vnni => unsafe { avx512::add_product(shape.panels, rows, tile, room) },
            #[cfg(target_arch = "x86_64")]
            Self::Amx(unit) => amx::add_product(unit, shape.panels, rows, tile, room),
        }
    }
}

impl Tile<'_> {
    /// The addresses of `P` panels, of which those that are missing are the last one.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn panels<const P: usize>(&self) -> [*const i8; P] {
        let last = self.right.len() / self.panel - 1;
        std::array::from_fn(|panel| self.right[panel.min(last) * self.panel..].as_ptr())
    }

    /// The address of the first of `rows` rows.
    ///
    /// # Panics
    /// If there are fewer.
    pub(super) fn rows(&self, rows: usize) -> *const i8 {
        assert!(
            (rows - 1) * self.stride + self.groups * 4 <= self.left.len(),
            "rows of the left operand"
        );
        self.left.as_ptr()
    }
}
