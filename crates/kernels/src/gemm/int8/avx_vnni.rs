//! The AVX-VNNI kernel: half a line of a panel at a time.

use std::arch::x86_64::{
    __m256i, _mm256_dpbusd_avx_epi32, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_storeu_si256,
};
use std::array::from_fn;

use super::tile::{Tile, TileSums};

/// Adds the product of `rows` rows, whose numbers are larger by 128, and `panels` panels to the sums.
///
/// # Safety
/// The CPU has AVX-VNNI, and `sums` holds a tile.
pub(super) unsafe fn add_product(panels: usize, rows: usize, tile: &Tile<'_>, sums: &mut TileSums) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (panels, rows) {
            (4, 1) => kernel::<1, 4>(tile, sums),
            (2, 1) => kernel::<1, 2>(tile, sums),
            (2, 2) => kernel::<2, 2>(tile, sums),
            (1, 1) => kernel::<1, 1>(tile, sums),
            (1, 2) => kernel::<2, 1>(tile, sums),
            (1, 3) => kernel::<3, 1>(tile, sums),
            (1, 4) => kernel::<4, 1>(tile, sums),
            _ => unreachable!("{rows} rows of {panels} panels"),
        }
    }
}

/// # Safety
/// The CPU has AVX-VNNI, and `sums` holds a tile.
#[target_feature(enable = "avx2,avxvnni")]
unsafe fn kernel<const ROWS: usize, const PANELS: usize>(tile: &Tile<'_>, sums: &mut TileSums) {
    const LANES: usize = 8;
    let (mut left, mut right) = (tile.rows(ROWS), tile.panels::<PANELS>());
    let (mut ahead, prefetches) = (tile.ahead::<PANELS>(), tile.next.is_some());
    let sums_at = sums.address();
    let address = |row: usize, panel: usize, half: usize| {
        sums_at.wrapping_add(((row * PANELS + panel) * 2 + half) * LANES).cast::<__m256i>()
    };
    // SAFETY: `rows` and `panels` have checked the operands; the caller guarantees memory for the sums.
    unsafe {
        let mut sums: [[[__m256i; 2]; PANELS]; ROWS] =
            from_fn(|row| from_fn(|panel| from_fn(|half| _mm256_loadu_si256(address(row, panel, half)))));
        for _ in 0..tile.groups() {
            if prefetches {
                ahead.prefetch();
            }
            for panel in 0..PANELS {
                for half in 0..2 {
                    let b = _mm256_loadu_si256(right[panel].cast::<__m256i>().add(half));
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let a = left.add(row * tile.stride).cast::<i32>().read_unaligned();
                        let sum = &mut sums[panel][half];
                        *sum = _mm256_dpbusd_avx_epi32(*sum, _mm256_set1_epi32(a), b);
                    }
                }
            }
            left = left.wrapping_add(4);
            right = right.map(|right| right.add(64));
        }
        for (row, sums) in sums.into_iter().enumerate() {
            for (panel, sums) in sums.into_iter().enumerate() {
                for (half, sum) in sums.into_iter().enumerate() {
                    _mm256_storeu_si256(address(row, panel, half), sum);
                }
            }
        }
    }
}
