//! Register tiles of sums.

#[cfg(target_arch = "aarch64")]
use super::neon;
#[cfg(target_feature = "simd128")]
use super::simd128;
use super::{IntegerIsa, portable};
#[cfg(target_arch = "x86_64")]
use super::{amx, avx_vnni};
use crate::packed::PANEL;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::prefetch::Prefetcher;
use crate::scratch::with_scratch;

/// Elements of the largest tile, that of the matrix unit.
const MAX_TILE_SUMS: usize = 1024;
/// Columns of the widest tile.
pub(super) const MAX_TILE_COLS: usize = 128;

/// The sums of one tile, row after row.
#[repr(C, align(64))]
pub(super) struct TileSums([i32; MAX_TILE_SUMS]);

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
    /// The panels to prefetch, as many as the shape has; see [`crate::prefetch::Prefetcher`]. AMX, Neon
    /// without dot products, and the portable kernel do not.
    pub(super) next: Option<*const i8>,
    /// The sums of the wanted columns of the weight.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) column_sums: &'a [i32],
}

impl TileShape {
    /// The shape for `m` rows: with few rows, so many panels that no sum waits for another.
    pub(super) fn new(isa: IntegerIsa, m: usize) -> Self {
        let even = |most: usize| m.div_ceil(m.div_ceil(most).max(1)).max(1);
        let (rows, panels) = match (isa, m) {
            (IntegerIsa::Portable, _) => (1, 1),
            #[cfg(target_arch = "x86_64")]
            (IntegerIsa::Avx2(_) | IntegerIsa::AvxVnni(_), 0..=1) => (1, 4),
            #[cfg(target_arch = "x86_64")]
            (IntegerIsa::Avx2(_) | IntegerIsa::AvxVnni(_), 2) => (2, 2),
            #[cfg(target_arch = "x86_64")]
            (IntegerIsa::Avx2(_) | IntegerIsa::AvxVnni(_), _) => (even(4), 1),
            #[cfg(target_arch = "x86_64")]
            (IntegerIsa::Avx512Vnni(_), 0..=3) => (m.max(1), 8),
            #[cfg(target_arch = "x86_64")]
            (IntegerIsa::Avx512Vnni(_), 4..=6) => (m, 4),
            #[cfg(target_arch = "x86_64")]
            (IntegerIsa::Avx512Vnni(_), _) => (even(12), 2),
            #[cfg(target_arch = "x86_64")]
            (IntegerIsa::Amx(_), 0..=16) => (16, 4),
            #[cfg(target_arch = "x86_64")]
            (IntegerIsa::Amx(_), _) => (32, 2),
            #[cfg(target_arch = "aarch64")]
            (IntegerIsa::Neon(_), _) => (even(4), 1),
            #[cfg(target_arch = "aarch64")]
            (IntegerIsa::Dotprod(_), 0..=1) => (1, 4),
            #[cfg(target_arch = "aarch64")]
            (IntegerIsa::Dotprod(_), 2) => (2, 2),
            #[cfg(target_arch = "aarch64")]
            (IntegerIsa::Dotprod(_), _) => (even(6), 1),
            // Whole pairs of rows.
            #[cfg(target_arch = "aarch64")]
            (IntegerIsa::I8mm(_), _) => (even(8).next_multiple_of(2), 1),
            #[cfg(target_feature = "simd128")]
            (IntegerIsa::Simd128(_), _) => (even(4), 1),
        };
        Self { rows, panels }
    }

    pub(super) fn cols(self) -> usize {
        self.panels * PANEL
    }
}

/// Calls `work` with memory for the sums of two tiles, of unspecified contents.
pub(super) fn with_tile_sums<R>(work: impl FnOnce(&mut [TileSums; 2]) -> R) -> R {
    let align = align_of::<TileSums>() / size_of::<f32>();
    with_scratch(2 * MAX_TILE_SUMS + align, |scratch| {
        // SAFETY: every bit pattern is a sum.
        let (_, sums, _) = unsafe { scratch.align_to_mut::<[TileSums; 2]>() };
        work(&mut sums[0])
    })
}

impl TileSums {
    /// Sets the sums to zero.
    fn clear(&mut self, shape: TileShape, rows: usize) {
        self.0[..rows * shape.cols()].fill(0);
    }

    /// Sets the sums to −128 times the column sums of the weight, what offset products add.
    #[cfg(target_arch = "x86_64")]
    fn start(&mut self, shape: TileShape, rows: usize, column_sums: &[i32]) {
        let (first, others) = self.0[..rows * shape.cols()].split_at_mut(shape.cols());
        for (sum, &column) in first.iter_mut().zip(column_sums) {
            *sum = column.wrapping_mul(-128);
        }
        for row in others.chunks_exact_mut(shape.cols()) {
            row.copy_from_slice(first);
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

/// What computes the sums of tiles, ready for use on the calling thread.
pub(super) enum Int8TileKernel {
    Portable,
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    #[cfg(target_arch = "x86_64")]
    Amx(crate::gemm::amx::AmxSession),
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(target_arch = "aarch64")]
    Dotprod,
    #[cfg(target_arch = "aarch64")]
    I8mm,
    #[cfg(target_feature = "simd128")]
    Simd128,
}

impl Int8TileKernel {
    pub(super) fn new(isa: IntegerIsa) -> Self {
        match isa {
            IntegerIsa::Portable => Self::Portable,
            #[cfg(target_arch = "x86_64")]
            IntegerIsa::AvxVnni(_) => Self::AvxVnni,
            #[cfg(target_arch = "x86_64")]
            IntegerIsa::Avx2(_) | IntegerIsa::Avx512Vnni(_) => {
                unreachable!("their kernels keep the sums in registers")
            }
            #[cfg(target_arch = "x86_64")]
            IntegerIsa::Amx(proof) => Self::Amx(crate::gemm::amx::AmxSession::int8(proof)),
            #[cfg(target_arch = "aarch64")]
            IntegerIsa::Neon(_) => Self::Neon,
            #[cfg(target_arch = "aarch64")]
            IntegerIsa::Dotprod(_) => Self::Dotprod,
            #[cfg(target_arch = "aarch64")]
            IntegerIsa::I8mm(_) => Self::I8mm,
            #[cfg(target_feature = "simd128")]
            IntegerIsa::Simd128(_) => Self::Simd128,
        }
    }

    /// Writes the sums of `rows` rows to `sums`. The shape must be that of the same instruction set.
    pub(super) fn product(&self, shape: TileShape, rows: usize, tile: &Tile<'_>, sums: &mut TileSums) {
        assert!(
            1 <= rows && rows <= shape.rows && shape.rows * shape.cols() <= MAX_TILE_SUMS,
            "{rows} rows of {shape:?}"
        );
        assert!(
            tile.groups() * 4 <= tile.stride
                && tile.stride.is_multiple_of(super::DEPTH)
                && tile.right.len().is_multiple_of(tile.panel.max(1)),
            "panels of a tile"
        );
        if tile.panel == 0 {
            return sums.clear(shape, rows);
        }
        match self {
            Self::Portable => {
                sums.clear(shape, rows);
                portable::add_product(tile, sums);
            }
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => {
                sums.start(shape, rows, tile.column_sums);
                // SAFETY: this kernel is made from a proof that the CPU has AVX-VNNI, and `sums` holds a
                // tile.
                unsafe { avx_vnni::add_product(shape.panels, rows, tile, sums) }
            }
            #[cfg(target_arch = "x86_64")]
            Self::Amx(unit) => amx::product(unit, shape.panels, rows, tile, sums),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => neon::product(shape.panels, rows, tile, sums),
            #[cfg(target_arch = "aarch64")]
            // SAFETY: this kernel is made from a proof that the CPU has `sdot`.
            Self::Dotprod => unsafe { neon::product_dotprod(shape.panels, rows, tile, sums) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: this kernel is made from a proof that the CPU has `smmla`.
            Self::I8mm => unsafe { neon::product_i8mm(rows, tile, sums) },
            #[cfg(target_feature = "simd128")]
            Self::Simd128 => simd128::product(rows, tile, sums),
        }
    }
}

impl Tile<'_> {
    /// Words of four numbers along the depth.
    pub(super) fn groups(&self) -> usize {
        self.panel / (4 * PANEL)
    }

    /// The addresses of `P` panels, of which those that are missing are the last one.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn panels<const P: usize>(&self) -> [*const i8; P] {
        // Without depth, all panels are empty.
        let count = self.right.len().checked_div(self.panel);
        let last = count.map_or(0, |count| count - 1);
        std::array::from_fn(|panel| self.right[panel.min(last) * self.panel..].as_ptr())
    }

    /// The panels of [`Self::next`].
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[inline(always)]
    pub(super) fn ahead<const P: usize>(&self) -> Prefetcher<P> {
        let next = self.next.unwrap_or(self.right.as_ptr());
        Prefetcher::new(std::array::from_fn(|panel| next.wrapping_add(panel * self.panel)))
    }

    /// The address of the first of `rows` rows.
    ///
    /// # Panics
    /// If there are fewer.
    pub(super) fn rows(&self, rows: usize) -> *const i8 {
        assert!((rows - 1) * self.stride + self.groups() * 4 <= self.left.len(), "rows of the left operand");
        self.left.as_ptr()
    }
}
