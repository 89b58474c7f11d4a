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

/// `N` runs of cache lines that the next tile of a product reads. The processor is asked to load them into its L2 cache one after
/// the other, while this tile is computed.
///
/// Weights are so long that they come from RAM, and each panel of a block of depth is a run of its own, after whose end no
/// processor looks.
pub(crate) struct Ahead<const N: usize> {
    runs: [*const u8; N],
    step: usize,
}

impl<const N: usize> Ahead<N> {
    /// The runs that start at `next`; or none: then it asks again and again for what is at `here`, which costs as good as
    /// nothing.
    #[inline(always)]
    pub(crate) fn new<T>(next: Option<[*const T; N]>, here: *const T) -> Self {
        let (runs, step) = match next {
            Some(next) => (next, LINE),
            None => ([here; N], 0),
        };
        Self {
            runs: runs.map(<*const T>::cast),
            step,
        }
    }

    /// Asks for the next line of each run.
    #[inline(always)]
    pub(crate) fn ask(&mut self) {
        for run in &mut self.runs {
            into_l2(*run);
            *run = run.wrapping_add(self.step);
        }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

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

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn into_l2(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn into_l2(_: *const u8) {}
