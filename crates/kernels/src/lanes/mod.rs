//! Vectors of 16 numbers, for kernels that the compiler does not vectorize by itself.

#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_feature = "simd128")]
mod simd128;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub(crate) use neon::NeonLanes;
pub(crate) use portable::PortableLanes;
#[cfg(target_feature = "simd128")]
pub(crate) use simd128::Simd128Lanes;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2Lanes, Avx512Lanes};

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
