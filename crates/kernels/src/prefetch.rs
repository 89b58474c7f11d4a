//! Hints about what is needed soon.

use crate::simd::LANES;

/// Asks the processor to load a rectangle of a row-major matrix into its caches; `row_stride` is the distance between rows.
///
/// Attention reads each head of a sentence from rows that lie far apart, which no processor foresees.
pub(crate) fn prefetch(start: *const f32, row_stride: usize, [rows, cols]: [usize; 2]) {
    for row in 0..rows {
        for col in (0..cols).step_by(LANES) {
            line(start.wrapping_add(row * row_stride + col));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn line(address: *const f32) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint accesses nothing, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn line(_: *const f32) {}
