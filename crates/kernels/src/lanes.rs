//! Vectors of 16 numbers, for kernels that the compiler does not vectorize by itself.

use crate::gemm::bf16;

/// 16 numbers in registers.
pub(crate) trait Lanes: Copy {
    /// The most sums that a kernel keeps in registers, beside their operands.
    const SUMS: usize;

    /// All lanes `x`.
    ///
    /// # Safety
    /// The CPU supports the implementation, here and below.
    unsafe fn splat(x: f32) -> Self;

    /// The numbers at `from`.
    ///
    /// # Safety
    /// `from` is readable for 16 numbers.
    unsafe fn load(from: *const f32) -> Self;

    /// The bfloat16 numbers at `from`, the upper halves of `f32`.
    ///
    /// # Safety
    /// `from` is readable for 16 numbers.
    unsafe fn load_bf16(from: *const u16) -> Self;

    /// 16 pairs of bfloat16 numbers: the first of each, and the second.
    ///
    /// # Safety
    /// `from` is readable for 32 numbers.
    unsafe fn load_bf16_pairs(from: *const u16) -> [Self; 2];

    /// Writes the numbers to `to`.
    ///
    /// # Safety
    /// `to` is writable for 16 numbers.
    unsafe fn store(self, to: *mut f32);

    /// `a` · `b` + `self`, rounded as in matrix products.
    ///
    /// # Safety
    /// See [`Lanes::splat`].
    unsafe fn add_product(self, a: Self, b: Self) -> Self;

    /// `*a` · `b` + `self`, the same as [`Lanes::add_product`] with `a` in all lanes.
    ///
    /// # Safety
    /// `a` is readable.
    #[inline(always)]
    unsafe fn add_scaled(self, a: *const f32, b: Self) -> Self {
        // SAFETY: the caller upholds the contract.
        unsafe { self.add_product(Self::splat(*a), b) }
    }

    /// `self` + `other`
    ///
    /// # Safety
    /// See [`Lanes::splat`].
    unsafe fn plus(self, other: Self) -> Self;

    /// [`Lanes::add_product`] of single numbers.
    fn add_one_product(a: f32, b: f32, sum: f32) -> f32;
}

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

#[cfg(target_arch = "aarch64")]
pub(crate) use arm::NeonLanes;
#[cfg(target_feature = "simd128")]
pub(crate) use web::Simd128Lanes;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2Lanes, Avx512Lanes};

#[cfg(target_arch = "aarch64")]
mod arm {
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
}

#[cfg(target_feature = "simd128")]
mod web {
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
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256, __m512, _mm_loadu_si128, _mm256_add_ps, _mm256_and_si256, _mm256_castsi256_ps,
        _mm256_cvtepu16_epi32, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_set1_epi32,
        _mm256_set1_ps, _mm256_slli_epi32, _mm256_storeu_ps, _mm512_add_ps, _mm512_and_si512,
        _mm512_castsi512_ps, _mm512_cvtepu16_epi32, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_loadu_si512,
        _mm512_set1_epi32, _mm512_set1_ps, _mm512_slli_epi32, _mm512_storeu_ps,
    };

    use super::Lanes;

    /// The bits of the second number of a word.
    const UPPER: i32 = 0xFFFF_0000_u32.cast_signed();

    /// Lanes in one register of AVX-512.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512Lanes(__m512);

    impl Lanes for Avx512Lanes {
        const SUMS: usize = 24;

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: the CPU has AVX-512F.
            Self(unsafe { _mm512_set1_ps(x) })
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: the caller upholds the contract.
            Self(unsafe { _mm512_loadu_ps(from) })
        }

        #[inline(always)]
        unsafe fn load_bf16(from: *const u16) -> Self {
            // SAFETY: the caller upholds the contract, and the CPU has AVX-512F.
            Self(unsafe {
                let halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
                _mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves))
            })
        }

        #[inline(always)]
        unsafe fn load_bf16_pairs(from: *const u16) -> [Self; 2] {
            // SAFETY: the caller upholds the contract, and the CPU has AVX-512F.
            unsafe {
                let words = _mm512_loadu_si512(from.cast());
                let odd = _mm512_and_si512(words, _mm512_set1_epi32(UPPER));
                [_mm512_slli_epi32::<16>(words), odd].map(|words| Self(_mm512_castsi512_ps(words)))
            }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: the caller upholds the contract.
            unsafe { _mm512_storeu_ps(to, self.0) }
        }

        #[inline(always)]
        unsafe fn add_product(self, a: Self, b: Self) -> Self {
            // SAFETY: the CPU has AVX-512F.
            Self(unsafe { _mm512_fmadd_ps(a.0, b.0, self.0) })
        }

        #[inline(always)]
        unsafe fn plus(self, other: Self) -> Self {
            // SAFETY: the CPU has AVX-512F.
            Self(unsafe { _mm512_add_ps(self.0, other.0) })
        }

        #[inline(always)]
        fn add_one_product(a: f32, b: f32, sum: f32) -> f32 {
            a.mul_add(b, sum)
        }
    }

    /// Lanes in two registers of AVX2.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2Lanes([__m256; 2]);

    impl Lanes for Avx2Lanes {
        const SUMS: usize = 5;

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: the CPU has AVX2.
            Self([unsafe { _mm256_set1_ps(x) }; 2])
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: the caller upholds the contract.
            Self(unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] })
        }

        #[inline(always)]
        unsafe fn load_bf16(from: *const u16) -> Self {
            // SAFETY: the caller upholds the contract, and the CPU has AVX2.
            Self(unsafe {
                let low = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
                let high = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.add(8).cast()));
                [
                    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(low)),
                    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(high)),
                ]
            })
        }

        #[inline(always)]
        unsafe fn load_bf16_pairs(from: *const u16) -> [Self; 2] {
            // SAFETY: the caller upholds the contract, and the CPU has AVX2.
            unsafe {
                let halves = [from, from.add(16)].map(|half| _mm256_loadu_si256(half.cast()));
                let upper = _mm256_set1_epi32(UPPER);
                [
                    Self(halves.map(|words| _mm256_castsi256_ps(_mm256_slli_epi32::<16>(words)))),
                    Self(halves.map(|words| _mm256_castsi256_ps(_mm256_and_si256(words, upper)))),
                ]
            }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: the caller upholds the contract.
            unsafe {
                _mm256_storeu_ps(to, self.0[0]);
                _mm256_storeu_ps(to.add(8), self.0[1]);
            }
        }

        #[inline(always)]
        unsafe fn add_product(self, a: Self, b: Self) -> Self {
            let Self([s0, s1]) = self;
            // SAFETY: the CPU has FMA.
            Self(unsafe { [_mm256_fmadd_ps(a.0[0], b.0[0], s0), _mm256_fmadd_ps(a.0[1], b.0[1], s1)] })
        }

        #[inline(always)]
        unsafe fn plus(self, other: Self) -> Self {
            let (Self([a0, a1]), Self([b0, b1])) = (self, other);
            // SAFETY: the CPU has AVX2.
            Self(unsafe { [_mm256_add_ps(a0, b0), _mm256_add_ps(a1, b1)] })
        }

        #[inline(always)]
        fn add_one_product(a: f32, b: f32, sum: f32) -> f32 {
            a.mul_add(b, sum)
        }
    }
}
