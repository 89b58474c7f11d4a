//! The AVX2 kernel. `vpmaddubsw` multiplies the magnitudes of the weights, at most 128, by the numbers of a
//! row with the signs of the weights, so that no sum of two products exceeds 16 bits. The sums become results
//! in registers.

use std::arch::x86_64::{
    __m256i, _CMP_LT_OQ, _mm256_abs_epi8, _mm256_add_epi32, _mm256_add_ps, _mm256_andnot_ps, _mm256_cmp_ps,
    _mm256_cmpgt_epi8, _mm256_cvtepi32_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_min_epi8, _mm256_mul_ps, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_si256, _mm256_sign_epi8, _mm256_storeu_ps,
    _mm256_storeu_si256, _mm256_sub_epi32, _mm256_xor_si256,
};
use std::array::from_fn;
use std::hint::black_box;

use super::dequantize::{Dequantization, write};
use super::tile::Tile;
use crate::gemm::isa::Avx2;
use crate::packed::PANEL;
use crate::tile::TileMut;

const LANES: usize = 8;

/// For each column of a panel, the sum of its negative weights, without their sign.
#[derive(Clone, Copy)]
pub(super) struct Negatives([i32; PANEL]);

impl Negatives {
    /// Of the first panel of `tile`.
    pub(super) fn new(_proof: Avx2, tile: &Tile<'_>) -> Self {
        // SAFETY: the proof shows that the CPU has AVX2.
        unsafe { negatives(tile) }
    }
}

#[target_feature(enable = "avx2")]
fn negatives(tile: &Tile<'_>) -> Negatives {
    let [mut right] = tile.panels::<1>();
    let mut sums = [_mm256_setzero_si256(); 2];
    for _ in 0..tile.groups() {
        for (half, sum) in sums.iter_mut().enumerate() {
            // SAFETY: a panel consists of groups of 64 bytes.
            let b = unsafe { _mm256_loadu_si256(right.cast::<__m256i>().add(half)) };
            let b = _mm256_min_epi8(b, _mm256_setzero_si256());
            let pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), b);
            *sum = _mm256_sub_epi32(*sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
        }
        right = right.wrapping_add(4 * PANEL);
    }
    let mut found = Negatives([0; PANEL]);
    for (half, sum) in sums.into_iter().enumerate() {
        // SAFETY: half of the numbers.
        unsafe { _mm256_storeu_si256(found.0[half * LANES..][..LANES].as_mut_ptr().cast(), sum) };
    }
    found
}

/// Writes the results of a tile of `panels` panels. Given the [`Negatives`] of its only panel, it flips bits
/// where a weight is negative, which more units of a CPU can do than take a sign over (`vpsignb`).
pub(super) fn product(
    _proof: Avx2,
    panels: usize,
    tile: &Tile<'_>,
    negatives: Option<&Negatives>,
    dequantization: Dequantization<'_>,
    out: &mut TileMut<'_>,
) {
    let rows = dequantization.row_scales.len();
    // SAFETY: the proof shows that the CPU has the instructions.
    unsafe {
        match (panels, rows, negatives) {
            (4, 1, None) => kernel::<1, 4, false>(tile, None, dequantization, out),
            (2, 2, None) => kernel::<2, 2, false>(tile, None, dequantization, out),
            (1, 3, None) => kernel::<3, 1, false>(tile, None, dequantization, out),
            (1, 4, None) => kernel::<4, 1, false>(tile, None, dequantization, out),
            (1, 1, Some(_)) => kernel::<1, 1, true>(tile, negatives, dequantization, out),
            (1, 2, Some(_)) => kernel::<2, 1, true>(tile, negatives, dequantization, out),
            (1, 3, Some(_)) => kernel::<3, 1, true>(tile, negatives, dequantization, out),
            (1, 4, Some(_)) => kernel::<4, 1, true>(tile, negatives, dequantization, out),
            _ => unreachable!("{rows} rows of {panels} panels"),
        }
    }
}

/// # Safety
/// The CPU has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn kernel<const ROWS: usize, const PANELS: usize, const FLIPS: bool>(
    tile: &Tile<'_>,
    negatives: Option<&Negatives>,
    dequantization: Dequantization<'_>,
    out: &mut TileMut<'_>,
) {
    let cols = dequantization.col_scales.len();
    assert!(
        cols <= PANELS * PANEL
            && dequantization.bias.len() == cols
            && dequantization.col + cols <= out.cols(),
        "columns of a tile"
    );
    let row_scales: &[f32; ROWS] = dequantization.row_scales.try_into().expect("rows of a tile");
    // Two addresses that the compiler cannot relate to each other, so that it does not compute that of each
    // row from the one before.
    let left = tile.rows(ROWS);
    let mut left = [0, 3].map(|row| black_box(left.wrapping_add(row * tile.stride)));
    let mut right = tile.panels::<PANELS>();
    let (mut ahead, prefetches) = (tile.ahead::<PANELS>(), tile.next.is_some());
    let start = negatives.map_or([_mm256_setzero_si256(); 2], |Negatives(numbers)| {
        // SAFETY: half of the numbers.
        from_fn(|half| unsafe { _mm256_loadu_si256(numbers[half * LANES..][..LANES].as_ptr().cast()) })
    });
    let mut sums = [[start; PANELS]; ROWS];
    for _ in 0..tile.groups() {
        if prefetches {
            ahead.prefetch();
        }
        for panel in 0..PANELS {
            // SAFETY: each of the `panels` consists of groups of 64 bytes.
            let b =
                [0, 1].map(|half| unsafe { _mm256_loadu_si256(right[panel].cast::<__m256i>().add(half)) });
            let magnitudes = b.map(|b| _mm256_abs_epi8(b));
            let flips = b.map(|b| _mm256_cmpgt_epi8(_mm256_setzero_si256(), b));
            for (row, sums) in sums.iter_mut().enumerate() {
                let a = left[row / 3].wrapping_add(row % 3 * tile.stride).cast::<i32>();
                // SAFETY: `rows` has checked the left operand, whose rows have 4 bytes of each group.
                let a = _mm256_set1_epi32(unsafe { a.read_unaligned() });
                for half in 0..2 {
                    // −a is !a + 1; `negatives` has what these ones add.
                    let a =
                        if FLIPS { _mm256_xor_si256(a, flips[half]) } else { _mm256_sign_epi8(a, b[half]) };
                    let pairs = _mm256_maddubs_epi16(magnitudes[half], a);
                    let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
                    sums[panel][half] = _mm256_add_epi32(sums[panel][half], fours);
                }
            }
        }
        left = left.map(|left| left.wrapping_add(4));
        right = right.map(|right| right.wrapping_add(4 * PANEL));
    }
    if cols < PANELS * PANEL {
        let mut stored = [[[[0; LANES]; 2]; PANELS]; ROWS];
        let all = stored.as_flattened_mut().as_flattened_mut().as_flattened_mut();
        // SAFETY: arrays of the same size.
        unsafe { std::ptr::copy_nonoverlapping(sums.as_ptr().cast(), all.as_mut_ptr(), all.len()) };
        return write(all, PANELS * PANEL, dequantization, out);
    }
    let floor = _mm256_set1_ps(dequantization.floor());
    let (scales, bias) = (dequantization.col_scales.as_ptr(), dequantization.bias.as_ptr());
    for (row, sums) in sums.iter().enumerate() {
        let out = out.address(dequantization.row + row, dequantization.col);
        let row_scale = _mm256_set1_ps(row_scales[row]);
        for (number, &sum) in sums.as_flattened().iter().enumerate() {
            let col = number * LANES;
            // SAFETY: scales, bias and output have the columns of all panels.
            unsafe {
                let scale = _mm256_mul_ps(row_scale, _mm256_loadu_ps(scales.add(col)));
                let y = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale);
                let y = _mm256_add_ps(y, _mm256_loadu_ps(bias.add(col)));
                let y = _mm256_andnot_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(y, floor), y);
                _mm256_storeu_ps(out.add(col), y);
            }
        }
    }
}
