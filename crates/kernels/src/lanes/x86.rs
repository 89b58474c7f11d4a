//! Lanes of x86-64.

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
