//! Lanes without instructions of their own.

use super::Lanes;
use crate::gemm::bf16;

/// Lanes for every CPU; `FUSED` products are rounded once.
#[derive(Clone, Copy)]
pub(crate) struct PortableLanes<const FUSED: bool>([f32; 16]);

impl<const FUSED: bool> Lanes for PortableLanes<FUSED> {
    const SUMS: usize = 5;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; 16])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller upholds the contract.
        Self(unsafe { from.cast::<[f32; 16]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        // SAFETY: the caller upholds the contract.
        let halves = unsafe { from.cast::<[u16; 16]>().read_unaligned() };
        Self(halves.map(bf16::widen))
    }

    #[inline(always)]
    unsafe fn load_bf16_pairs(from: *const u16) -> [Self; 2] {
        // SAFETY: the caller upholds the contract.
        let pairs = unsafe { from.cast::<[[u16; 2]; 16]>().read_unaligned() };
        [0, 1].map(|which| Self(pairs.map(|pair| bf16::widen(pair[which]))))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller upholds the contract.
        unsafe { to.cast::<[f32; 16]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn add_product(mut self, a: Self, b: Self) -> Self {
        for (sum, (a, b)) in self.0.iter_mut().zip(a.0.into_iter().zip(b.0)) {
            *sum = Self::add_one_product(a, b, *sum);
        }
        self
    }

    #[inline(always)]
    unsafe fn plus(mut self, other: Self) -> Self {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            *sum += other;
        }
        self
    }

    #[inline(always)]
    fn add_one_product(a: f32, b: f32, sum: f32) -> f32 {
        if FUSED { a.mul_add(b, sum) } else { a * b + sum }
    }
}
