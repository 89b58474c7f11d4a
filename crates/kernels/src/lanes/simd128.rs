//! Lanes of WebAssembly.

use std::arch::wasm32::{
    f32x4_add, f32x4_demote_f64x2_zero, f32x4_mul, f32x4_splat, f64x2_add, f64x2_mul,
    f64x2_promote_low_f32x4, i32x4_shl, i64x2_shuffle, u32x4_extend_high_u16x8, u32x4_extend_low_u16x8,
    u32x4_splat, v128, v128_and, v128_load, v128_store,
};

use super::Lanes;

/// Lanes in four vectors of WebAssembly, which has no fused multiply-add: `FUSED` products are computed in
/// `f64`, where they are exact. Rounding their sums to `f64` before `f32` changes one result in 2²⁹.
#[derive(Clone, Copy)]
pub(crate) struct Simd128Lanes<const FUSED: bool>([v128; 4]);

/// The numbers of a vector in `f64`.
#[inline(always)]
fn widened(lanes: v128) -> [v128; 2] {
    [lanes, i64x2_shuffle::<1, 0>(lanes, lanes)].map(|half| f64x2_promote_low_f32x4(half))
}

#[inline(always)]
fn fused(sum: v128, a: v128, b: v128) -> v128 {
    let [sum, a, b] = [sum, a, b].map(widened);
    let half = |half: usize| f32x4_demote_f64x2_zero(f64x2_add(sum[half], f64x2_mul(a[half], b[half])));
    i64x2_shuffle::<0, 2>(half(0), half(1))
}

impl<const FUSED: bool> Simd128Lanes<FUSED> {
    #[inline(always)]
    fn each(lanes: impl FnMut(usize) -> v128) -> Self {
        Self(std::array::from_fn(lanes))
    }
}

impl<const FUSED: bool> Lanes for Simd128Lanes<FUSED> {
    const SUMS: usize = 3;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([f32x4_splat(x); 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller upholds the contract.
        Self::each(|quarter| unsafe { v128_load(from.add(4 * quarter).cast()) })
    }

    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        Self::each(|quarter| {
            // SAFETY: the caller upholds the contract.
            let eight = unsafe { v128_load(from.add(quarter / 2 * 8).cast()) };
            let words = match quarter % 2 {
                0 => u32x4_extend_low_u16x8(eight),
                _ => u32x4_extend_high_u16x8(eight),
            };
            i32x4_shl(words, 16)
        })
    }

    #[inline(always)]
    unsafe fn load_bf16_pairs(from: *const u16) -> [Self; 2] {
        // SAFETY: the caller upholds the contract.
        let words = |quarter: usize| unsafe { v128_load(from.add(8 * quarter).cast()) };
        let upper = u32x4_splat(0xFFFF_0000);
        [
            Self::each(|quarter| i32x4_shl(words(quarter), 16)),
            Self::each(|quarter| v128_and(words(quarter), upper)),
        ]
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        for (quarter, lanes) in self.0.into_iter().enumerate() {
            // SAFETY: the caller upholds the contract.
            unsafe { v128_store(to.add(4 * quarter).cast(), lanes) }
        }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Self, b: Self) -> Self {
        Self::each(|quarter| {
            let (sum, a, b) = (self.0[quarter], a.0[quarter], b.0[quarter]);
            if FUSED { fused(sum, a, b) } else { f32x4_add(sum, f32x4_mul(a, b)) }
        })
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Self::each(|quarter| f32x4_add(self.0[quarter], other.0[quarter]))
    }

    #[inline(always)]
    fn add_one_product(a: f32, b: f32, sum: f32) -> f32 {
        if FUSED { (f64::from(a) * f64::from(b) + f64::from(sum)) as f32 } else { a * b + sum }
    }
}
