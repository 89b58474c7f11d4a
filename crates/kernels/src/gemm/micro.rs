//! The register tiles: `MR` rows times `NR` columns of the output, over one block of the inner dimension.
//!
//! One function per instruction set; AVX-512, AMX or NEON would each be another variant of [`Isa`] with another tile.

use std::ops::Range;

use crate::tile::TileMut;

/// Rows of a register tile.
pub(super) const MR: usize = 6;
/// Columns of a register tile: two AVX2 vectors.
pub(super) const NR: usize = 16;

/// The instruction sets that there is a register tile for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Isa {
    /// What every CPU of the target has.
    Portable,
    /// AVX2 with fused multiply-add.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Avx2,
}

impl Isa {
    /// The best of this CPU.
    pub(super) fn detect() -> Self {
        if crate::simd::has_avx2_fma() {
            Self::Avx2
        } else {
            Self::Portable
        }
    }
}

/// The left operand: row r of panel p at depth k is `data[p * panel + r * row + k * col]`.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    pub(super) data: &'a [f32],
    pub(super) panel: usize,
    pub(super) row: usize,
    pub(super) col: usize,
}

/// `out[rows]` = (or += if `add`) `left` `[rows, depth]` · `packed_b` `[depth, out.cols()]`.
pub(super) fn block_product(
    isa: Isa,
    depth: usize,
    left: Left<'_>,
    packed_b: &[f32],
    out: &mut TileMut<'_>,
    rows: Range<usize>,
    add: bool,
) {
    let n = out.cols();
    let m = rows.len();
    let last = (m - 1) / MR * left.panel + (m - 1) % MR * left.row + (depth - 1) * left.col;
    assert!(
        last < left.data.len(),
        "`left` needs {} numbers, it has {}",
        last + 1,
        left.data.len()
    );
    for (panel, b) in packed_b
        .chunks_exact(depth * NR)
        .take(n.div_ceil(NR))
        .enumerate()
    {
        let cols = NR.min(n - panel * NR);
        for row in (0..m).step_by(MR) {
            let tile = Tile {
                depth,
                a: left.data[row / MR * left.panel..].as_ptr(),
                a_row: left.row,
                a_col: left.col,
                b: b.as_ptr(),
                out: out.address(rows.start + row, panel * NR),
                out_row: out.row_stride(),
                cols,
                add,
            };
            // SAFETY: the assertion above covers `a`, `b` holds `depth * NR` numbers, and the rectangle of
            // `min(MR, m - row)` times `cols` lies inside `out`.
            unsafe { tile.run(isa, MR.min(m - row)) }
        }
    }
}

/// One register tile: where its operands lie and where it goes.
struct Tile {
    depth: usize,
    a: *const f32,
    a_row: usize,
    a_col: usize,
    b: *const f32,
    out: *mut f32,
    out_row: usize,
    cols: usize,
    add: bool,
}

impl Tile {
    /// # Safety
    /// The CPU has `isa`; `a` is readable for `rows` rows and `depth` columns, `b` for `depth * NR` numbers; `out` is
    /// writable for `rows` rows and `cols` columns.
    unsafe fn run(&self, isa: Isa, rows: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            match rows {
                1 => self.run_rows::<1>(isa),
                2 => self.run_rows::<2>(isa),
                3 => self.run_rows::<3>(isa),
                4 => self.run_rows::<4>(isa),
                5 => self.run_rows::<5>(isa),
                _ => self.run_rows::<MR>(isa),
            }
        }
    }

    /// # Safety
    /// As for [`Self::run`], with `ROWS` rows.
    #[inline(always)]
    unsafe fn run_rows<const ROWS: usize>(&self, isa: Isa) {
        // SAFETY: passed on to the caller.
        unsafe {
            match isa {
                Isa::Portable => self.portable::<ROWS>(),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => self.avx2::<ROWS>(),
                #[cfg(not(target_arch = "x86_64"))]
                Isa::Avx2 => unreachable!("AVX2 is an x86-64 instruction set"),
            }
        }
    }

    /// # Safety
    /// As for [`Self::run`], with `ROWS` rows.
    unsafe fn portable<const ROWS: usize>(&self) {
        const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));
        let mut sums = [[0.0f32; NR]; ROWS];
        for k in 0..self.depth {
            // SAFETY: `b` holds `depth` rows of `NR`.
            let b = unsafe { &*self.b.add(k * NR).cast::<[f32; NR]>() };
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: `a` is readable for `ROWS` rows and `depth` columns.
                let a = unsafe { *self.a.add(row * self.a_row + k * self.a_col) };
                for (sum, &b) in sums.iter_mut().zip(b) {
                    *sum = if FUSED {
                        a.mul_add(b, *sum)
                    } else {
                        a * b + *sum
                    };
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            // SAFETY: `out` is writable for `ROWS` rows and `cols` columns.
            unsafe { self.store_row(row, sums) }
        }
    }

    /// # Safety
    /// As for [`Self::run`], with `ROWS` rows; the CPU has AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<const ROWS: usize>(&self) {
        use std::arch::x86_64::{
            _mm256_add_ps, _mm256_broadcast_ss, _mm256_fmadd_ps, _mm256_loadu_ps,
            _mm256_setzero_ps, _mm256_storeu_ps,
        };
        // SAFETY: all addresses lie in what the caller vouches for.
        unsafe {
            let mut sums = [[_mm256_setzero_ps(); 2]; ROWS];
            let (mut a, mut b) = (self.a, self.b);
            for _ in 0..self.depth {
                let (b0, b1) = (_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(8)));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let a = _mm256_broadcast_ss(&*a.add(row * self.a_row));
                    sums[0] = _mm256_fmadd_ps(a, b0, sums[0]);
                    sums[1] = _mm256_fmadd_ps(a, b1, sums[1]);
                }
                a = a.wrapping_add(self.a_col);
                b = b.add(NR);
            }
            for (row, [s0, s1]) in sums.into_iter().enumerate() {
                if self.cols < NR {
                    let mut sums = [0.0; NR];
                    _mm256_storeu_ps(sums.as_mut_ptr(), s0);
                    _mm256_storeu_ps(sums.as_mut_ptr().add(8), s1);
                    self.store_row(row, &sums);
                    continue;
                }
                let out = self.out.add(row * self.out_row);
                let (s0, s1) = if self.add {
                    (
                        _mm256_add_ps(_mm256_loadu_ps(out), s0),
                        _mm256_add_ps(_mm256_loadu_ps(out.add(8)), s1),
                    )
                } else {
                    (s0, s1)
                };
                _mm256_storeu_ps(out, s0);
                _mm256_storeu_ps(out.add(8), s1);
            }
        }
    }

    /// # Safety
    /// `out` is writable for `cols` numbers of row `row`.
    #[inline(always)]
    unsafe fn store_row(&self, row: usize, sums: &[f32; NR]) {
        // SAFETY: vouched for by the caller.
        let out =
            unsafe { std::slice::from_raw_parts_mut(self.out.add(row * self.out_row), self.cols) };
        for (out, &sum) in out.iter_mut().zip(sums) {
            *out = if self.add { *out + sum } else { sum };
        }
    }
}
