//! Lanes of 64-bit ARM.

use std::arch::aarch64::{
    float32x4_t, vaddq_f32, vandq_u32, vdupq_n_f32, vdupq_n_u32, vfmaq_f32, vget_low_u16, vld1q_f32,
    vld1q_u16, vld1q_u32, vreinterpretq_f32_u32, vreinterpretq_u32_f32, vshll_high_n_u16, vshll_n_u16,
    vshlq_n_u32, vst1q_f32,
};

use super::Lanes;
use crate::neon::fmla;

/// Lanes in four registers of Neon, which every CPU of this architecture has.
#[derive(Clone, Copy)]
pub(crate) struct NeonLanes([float32x4_t; 4]);

impl NeonLanes {
    #[inline(always)]
    fn each(lanes: impl FnMut(usize) -> float32x4_t) -> Self {
        Self(std::array::from_fn(lanes))
    }
}

impl Lanes for NeonLanes {
    const SUMS: usize = 5;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the CPU has Neon.
        Self([unsafe { vdupq_n_f32(x) }; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller upholds the contract.
        Self::each(|quarter| unsafe { vld1q_f32(from.add(4 * quarter)) })
    }

    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        // SAFETY: the caller upholds the contract, and the CPU has Neon.
        Self::each(|quarter| unsafe {
            let eight = vld1q_u16(from.add(quarter / 2 * 8));
            vreinterpretq_f32_u32(match quarter % 2 {
                0 => vshll_n_u16::<16>(vget_low_u16(eight)),
                _ => vshll_high_n_u16::<16>(eight),
            })
        })
    }

    #[inline(always)]
    unsafe fn load_bf16_pairs(from: *const u16) -> [Self; 2] {
        // SAFETY: the caller upholds the contract, and the CPU has Neon.
        unsafe {
            let words = |quarter: usize| vld1q_u32(from.cast::<u32>().add(4 * quarter));
            let upper = vdupq_n_u32(0xFFFF_0000);
            [
                Self::each(|quarter| vreinterpretq_f32_u32(vshlq_n_u32::<16>(words(quarter)))),
                Self::each(|quarter| vreinterpretq_f32_u32(vandq_u32(words(quarter), upper))),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        for (quarter, lanes) in self.0.into_iter().enumerate() {
            // SAFETY: the caller upholds the contract.
            unsafe { vst1q_f32(to.add(4 * quarter), lanes) }
        }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Self, b: Self) -> Self {
        // SAFETY: the CPU has Neon.
        Self::each(|quarter| unsafe { vfmaq_f32(self.0[quarter], a.0[quarter], b.0[quarter]) })
    }

    #[inline(always)]
    unsafe fn add_scaled(self, a: *const f32, b: Self) -> Self {
        // SAFETY: the caller upholds the contract, and the CPU has Neon.
        unsafe {
            let a = *a;
            Self::each(|quarter| {
                let [sums, b] = [self, b].map(|lanes| vreinterpretq_u32_f32(lanes.0[quarter]));
                vreinterpretq_f32_u32(fmla(sums, a, b))
            })
        }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the CPU has Neon.
        Self::each(|quarter| unsafe { vaddq_f32(self.0[quarter], other.0[quarter]) })
    }

    #[inline(always)]
    fn add_one_product(a: f32, b: f32, sum: f32) -> f32 {
        a.mul_add(b, sum)
    }
}
