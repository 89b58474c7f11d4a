//! Hints about what is needed soon.

use crate::simd::LANES;

/// Asks the processor to load a rectangle of a row-major matrix into its caches; `row_stride` is the distance
/// between rows.
///
/// The rows lie far apart, and they are short: hardware prefetchers do not foresee the next one.
pub(crate) fn prefetch(start: *const f32, row_stride: usize, [rows, cols]: [usize; 2]) {
    for row in 0..rows {
        for col in (0..cols).step_by(LANES) {
            prefetch_line(start.wrapping_add(row * row_stride + col).cast());
        }
    }
}

/// `N` runs of cache lines that the next tile of a product reads. They are prefetched, one line after the
/// other, while this tile is computed.
///
/// Large weights come from RAM. Each panel of a block of depth is a run of its own, and hardware prefetchers
/// do not look past the end of a run. The tile of the first rows prefetches the panels of the next columns;
/// the tiles of further rows find them in the L2 cache. The wide tiles of `f32`, with up to three rows, reach
/// the bandwidth of the RAM without it.
pub(crate) struct Prefetcher<const N: usize>([*const u8; N]);

impl<const N: usize> Prefetcher<N> {
    /// The runs that start at `starts`.
    #[inline(always)]
    pub(crate) fn new<T>(starts: [*const T; N]) -> Self {
        Self(starts.map(<*const T>::cast))
    }

    /// Prefetches the next line of each run.
    #[inline(always)]
    pub(crate) fn prefetch(&mut self) {
        for run in &mut self.0 {
            prefetch_line(*run);
            *run = run.wrapping_add(LINE);
        }
    }
}

/// Whether an operand of `bytes` bytes is large enough that prefetching it pays off. Smaller ones are often
/// in the L2 cache already.
pub(crate) fn is_far(bytes: usize) -> bool {
    bytes >= 1 << 18
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the line at `address` in the L2 cache, which has more requests to RAM under way than the L1 cache.
#[inline(always)]
pub(crate) fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint accesses nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) }
    }
    // The L1 cache; the other was not measured.
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint accesses nothing, whatever the address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
