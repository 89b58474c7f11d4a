//! The number types of keys and values in blocks.

use crate::gemm::bf16;
use crate::lanes::Lanes;
use crate::packed::Number;

/// A number type of keys and values.
pub(super) trait CacheElement: Number {
    /// The nearest number, ties to even.
    fn rounded(x: f32) -> Self;

    /// Rounds all elements of `x` into `out`.
    ///
    /// # Panics
    /// If the lengths differ.
    fn round_into(x: &[f32], out: &mut [Self]);

    /// The same number as an `f32`.
    fn widen(self) -> f32;

    /// The 16 numbers at `from`.
    ///
    /// # Safety
    /// The CPU supports `L`, and `from` is readable for 16 numbers.
    unsafe fn load<L: Lanes>(from: *const Self) -> L;
}

impl CacheElement for f32 {
    #[inline(always)]
    fn rounded(x: f32) -> Self {
        x
    }

    fn round_into(x: &[f32], out: &mut [Self]) {
        out.copy_from_slice(x);
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }

    #[inline(always)]
    unsafe fn load<L: Lanes>(from: *const Self) -> L {
        // SAFETY: the caller upholds the contract.
        unsafe { L::load(from) }
    }
}

/// The upper half of an `f32`: a bfloat16.
impl CacheElement for u16 {
    #[inline(always)]
    fn rounded(x: f32) -> Self {
        bf16::narrow(x)
    }

    fn round_into(x: &[f32], out: &mut [Self]) {
        assert_eq!(x.len(), out.len(), "numbers to round");
        bf16::narrow_into(x, out);
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        bf16::widen(self)
    }

    #[inline(always)]
    unsafe fn load<L: Lanes>(from: *const Self) -> L {
        // SAFETY: the caller upholds the contract.
        unsafe { L::load_bf16(from) }
    }
}

/// The words as numbers.
pub(super) fn of_words<T: Number>(words: &[f32]) -> &[T] {
    let len = size_of_val(words) / size_of::<T>();
    // SAFETY: every bit pattern is a `T` of at most four bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), len) }
}

/// The words as numbers.
pub(super) fn of_words_mut<T: Number>(words: &mut [f32]) -> &mut [T] {
    let len = size_of_val(words) / size_of::<T>();
    // SAFETY: every bit pattern is a `T` of at most four bytes, and every bit pattern is an `f32`.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), len) }
}
