//! Transposed copies of matrices.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512i, _mm512_shuffle_i32x4, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64,
};

use crate::area::reach;
use crate::gemm::View;
use crate::simd::LANES;
#[cfg(target_arch = "x86_64")]
use crate::simd::{has_avx2_fma, has_avx512};

/// Copies column j of `from` `[rows, cols]`, whose rows are contiguous, to `to[j * stride..]`, followed by
/// zeros up to a multiple of [`LANES`] elements.
///
/// # Panics
/// If a slice is too short, or the rows are not contiguous.
pub(crate) fn transpose(from: View<'_>, [rows, cols]: [usize; 2], to: &mut [f32], stride: usize) {
    assert_eq!(from.col_stride, 1, "the rows must be contiguous");
    from.assert_holds("from", rows, cols);
    let needed = reach(cols, rows.next_multiple_of(LANES), stride, 1);
    assert!(needed <= to.len(), "the columns need {needed} elements");
    let mut target = Target { to, stride };
    for row in (0..rows).step_by(LANES) {
        for col in (0..cols).step_by(LANES) {
            let size = [LANES.min(rows - row), LANES.min(cols - col)];
            // SAFETY: the assertions cover all rows and columns of the block.
            unsafe { block(from, [row, col], size, &mut target) }
        }
    }
}

struct Target<'a> {
    to: &'a mut [f32],
    stride: usize,
}

/// Copies the block of `rows` rows and `cols` columns, both at most [`LANES`], that starts at (`row`, `col`).
///
/// # Safety
/// The source holds the block, and the target `cols` lines of [`LANES`] elements from (`col`, `row`) on.
unsafe fn block(from: View<'_>, at: [usize; 2], size: [usize; 2], target: &mut Target<'_>) {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: the CPU has AVX-512, and the caller upholds the rest.
            return unsafe { block_avx512(from, at, size, target) };
        }
        if has_avx2_fma() && size == [LANES; 2] {
            // SAFETY: the CPU has AVX2, and the caller upholds the rest.
            return unsafe { block_avx2(from, at, target) };
        }
    }
    let ([row, col], [rows, cols]) = (at, size);
    #[cfg(target_arch = "aarch64")]
    if size == [LANES; 2] {
        let start = from.data.as_ptr().wrapping_add(row * from.row_stride + col);
        let to = target.to.as_mut_ptr().wrapping_add(col * target.stride + row);
        // SAFETY: the caller guarantees the block of both.
        return unsafe { block_neon(start.cast(), from.row_stride, to.cast(), target.stride) };
    }
    for col in col..col + cols {
        let line = &mut target.to[col * target.stride + row..][..LANES];
        for (number, x) in line.iter_mut().enumerate() {
            *x = if number < rows { from.data[(row + number) * from.row_stride + col] } else { 0.0 };
        }
    }
}

/// [`block`] with AVX-512.
///
/// # Safety
/// See [`block`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn block_avx512(
    from: View<'_>,
    [row, col]: [usize; 2],
    [rows, cols]: [usize; 2],
    target: &mut Target<'_>,
) {
    use std::arch::x86_64::{_mm512_maskz_loadu_epi32, _mm512_setzero_si512, _mm512_storeu_si512};

    let used = u16::MAX >> (LANES - cols);
    let mut lines = [_mm512_setzero_si512(); LANES];
    for (number, line) in lines.iter_mut().enumerate().take(rows) {
        let start = (from.data.as_ptr()).wrapping_add((row + number) * from.row_stride + col);
        // SAFETY: the row holds `cols` columns, and masked lanes are not read.
        *line = unsafe { _mm512_maskz_loadu_epi32(used, start.cast()) };
    }
    for (number, line) in transpose_lines(lines).into_iter().enumerate().take(cols) {
        let start = (target.to.as_mut_ptr()).wrapping_add((col + number) * target.stride + row);
        // SAFETY: the target holds a whole line there.
        unsafe { _mm512_storeu_si512(start.cast(), line) }
    }
}

/// Transposes 16 lines of 16 elements with 32 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
pub(crate) fn transpose_lines(lines: [__m512i; LANES]) -> [__m512i; LANES] {
    let (mut twos, mut fours, mut out) = (lines, lines, lines);
    for i in (0..16).step_by(2) {
        twos[i] = _mm512_unpacklo_epi32(lines[i], lines[i + 1]);
        twos[i + 1] = _mm512_unpackhi_epi32(lines[i], lines[i + 1]);
    }
    for i in (0..16).step_by(4) {
        fours[i] = _mm512_unpacklo_epi64(twos[i], twos[i + 2]);
        fours[i + 1] = _mm512_unpackhi_epi64(twos[i], twos[i + 2]);
        fours[i + 2] = _mm512_unpacklo_epi64(twos[i + 1], twos[i + 3]);
        fours[i + 3] = _mm512_unpackhi_epi64(twos[i + 1], twos[i + 3]);
    }
    // Quarter q of `fours[4 * g + i]` is column 4q + i of lines 4g to 4g + 3.
    for i in 0..4 {
        let even = _mm512_shuffle_i32x4::<0x88>(fours[i], fours[4 + i]);
        let odd = _mm512_shuffle_i32x4::<0xDD>(fours[i], fours[4 + i]);
        let even_below = _mm512_shuffle_i32x4::<0x88>(fours[8 + i], fours[12 + i]);
        let odd_below = _mm512_shuffle_i32x4::<0xDD>(fours[8 + i], fours[12 + i]);
        out[i] = _mm512_shuffle_i32x4::<0x88>(even, even_below);
        out[4 + i] = _mm512_shuffle_i32x4::<0x88>(odd, odd_below);
        out[8 + i] = _mm512_shuffle_i32x4::<0xDD>(even, even_below);
        out[12 + i] = _mm512_shuffle_i32x4::<0xDD>(odd, odd_below);
    }
    out
}

/// [`block`] of 16 rows and 16 columns with AVX2, in blocks of 8 × 8.
///
/// # Safety
/// See [`block`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn block_avx2(from: View<'_>, [row, col]: [usize; 2], target: &mut Target<'_>) {
    for row in [row, row + 8] {
        for col in [col, col + 8] {
            let start = from.data.as_ptr().wrapping_add(row * from.row_stride + col);
            let end = (target.to.as_mut_ptr()).wrapping_add(col * target.stride + row);
            // SAFETY: the caller guarantees both squares.
            unsafe { eight_by_eight(start, from.row_stride, end, target.stride) }
        }
    }
}

/// Copies a square of eight rows and columns.
///
/// # Safety
/// The CPU has AVX2, and both addresses hold eight rows of eight elements, with these distances between rows.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn eight_by_eight(from: *const f32, stride: usize, to: *mut f32, to_stride: usize) {
    use std::arch::x86_64::{
        _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_setzero_ps, _mm256_shuffle_ps, _mm256_storeu_ps,
        _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };

    let mut rows = [_mm256_setzero_ps(); 8];
    for (number, row) in rows.iter_mut().enumerate() {
        // SAFETY: the caller guarantees this row.
        *row = unsafe { _mm256_loadu_ps(from.add(number * stride)) };
    }
    let (mut twos, mut fours) = (rows, rows);
    for i in (0..8).step_by(2) {
        twos[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
        twos[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    for i in (0..8).step_by(4) {
        fours[i] = _mm256_shuffle_ps::<0x44>(twos[i], twos[i + 2]);
        fours[i + 1] = _mm256_shuffle_ps::<0xEE>(twos[i], twos[i + 2]);
        fours[i + 2] = _mm256_shuffle_ps::<0x44>(twos[i + 1], twos[i + 3]);
        fours[i + 3] = _mm256_shuffle_ps::<0xEE>(twos[i + 1], twos[i + 3]);
    }
    for i in 0..4 {
        let low = _mm256_permute2f128_ps::<0x20>(fours[i], fours[i + 4]);
        let high = _mm256_permute2f128_ps::<0x31>(fours[i], fours[i + 4]);
        // SAFETY: the caller guarantees these rows.
        unsafe {
            _mm256_storeu_ps(to.add(i * to_stride), low);
            _mm256_storeu_ps(to.add((i + 4) * to_stride), high);
        }
    }
}

/// Transposes 16 rows of 16 elements with 32 bits, in blocks of 4 × 4; the distances are those between rows.
///
/// # Safety
/// `from` is readable, and `to` is writable, for 16 rows of 16 elements.
#[cfg(target_arch = "aarch64")]
unsafe fn block_neon(from: *const u32, stride: usize, to: *mut u32, to_stride: usize) {
    use std::arch::aarch64::{
        vld1q_u32, vreinterpretq_u32_u64, vreinterpretq_u64_u32, vst1q_u32, vtrn1q_u32, vtrn1q_u64,
        vtrn2q_u32, vtrn2q_u64,
    };

    for row in (0..LANES).step_by(4) {
        for col in (0..LANES).step_by(4) {
            // SAFETY: the caller guarantees both blocks.
            unsafe {
                let [a, b, c, d] = [0, 1, 2, 3].map(|i| vld1q_u32(from.add((row + i) * stride + col)));
                let twos = [vtrn1q_u32(a, b), vtrn2q_u32(a, b), vtrn1q_u32(c, d), vtrn2q_u32(c, d)];
                let [a, b, c, d] = twos.map(|two| vreinterpretq_u64_u32(two));
                let columns = [vtrn1q_u64(a, c), vtrn1q_u64(b, d), vtrn2q_u64(a, c), vtrn2q_u64(b, d)];
                for (i, column) in columns.into_iter().enumerate() {
                    vst1q_u32(to.add((col + i) * to_stride + row), vreinterpretq_u32_u64(column));
                }
            }
        }
    }
}

/// The transpose of a matrix of words.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn transpose_words(words: &[[u32; LANES]; LANES]) -> [[u32; LANES]; LANES] {
    let mut out = [[0; LANES]; LANES];
    #[cfg(target_arch = "aarch64")]
    // SAFETY: both have 16 rows of 16 words.
    unsafe {
        block_neon(words.as_ptr().cast(), LANES, out.as_mut_ptr().cast(), LANES);
    }
    #[cfg(not(target_arch = "aarch64"))]
    for (row, line) in words.iter().enumerate() {
        for (out, &word) in out.iter_mut().zip(line) {
            out[row] = word;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random;

    #[test]
    fn every_element_is_copied_and_the_rest_of_a_line_is_zero() {
        for (count, cols) in [(0, 3), (3, 0), (1, 1), (16, 16), (7, 40), (33, 17), (48, 32)] {
            let whole = usize::next_multiple_of(count, LANES);
            let (from_stride, stride) = (cols + 3, whole + LANES);
            let data = random(count * from_stride, 1);
            let mut to = vec![f32::NAN; cols * stride];
            let from = View::rows(&data, from_stride);
            transpose(from, [count, cols], &mut to, stride);
            for (col, line) in to.chunks_exact(stride).enumerate() {
                for (row, &x) in line.iter().enumerate() {
                    let expected = match row {
                        _ if row < count => data[row * from_stride + col],
                        _ if row < whole => 0.0,
                        _ => f32::NAN,
                    };
                    assert_eq!(x.to_bits(), expected.to_bits(), "{count} × {cols}: {row}, {col}");
                }
            }
        }
    }
}
