//! Instructions of 64-bit ARM CPUs for which the standard library has no stable function, or which the
//! compiler would replace. All registers hold words of 32 bits: sums, numbers, four bytes or two bfloat16 numbers.

use std::arch::aarch64::{float32x4_t, uint32x4_t};
use std::arch::asm;

/// Defines functions that add products of the words of two registers to sums.
macro_rules! products {
    ($($(#[$attribute:meta])* $name:ident, $feature:literal, $left:ty, $instruction:literal;)*) => {
        $(
            $(#[$attribute])*
            #[target_feature(enable = $feature)]
            #[inline]
            pub(crate) fn $name(mut sums: uint32x4_t, a: $left, b: uint32x4_t) -> uint32x4_t {
                // SAFETY: reads and writes registers only.
                unsafe {
                    asm!($instruction, sums = inout(vreg) sums, a = in(vreg) a, b = in(vreg) b,
                        options(pure, nomem, nostack, preserves_flags));
                }
                sums
            }
        )*
    };
}

products! {
    /// Adds the products of `a` and each number of `b` to the sums, all of them `f32`. The compiler would
    /// load `a` into all lanes, which takes a place of the multiply-adds on many cores.
    fmla, "neon", f32, "fmla {sums:v}.4s, {b:v}.4s, {a:v}.s[0]";
    /// Adds the products of the four bytes in `a` and those in each word of `b` to the sums.
    sdot, "dotprod", f32, "sdot {sums:v}.4s, {b:v}.16b, {a:v}.4b[0]";
    /// Adds the product of two rows of eight bytes, `a`, and the transpose of two others, `b`, to 2 × 2 sums.
    smmla, "i8mm", uint32x4_t, "smmla {sums:v}.4s, {a:v}.16b, {b:v}.16b";
    /// Adds the products of the two bfloat16 numbers in `a` and those in each word of `b` to the sums.
    bfdot, "bf16", f32, "bfdot {sums:v}.4s, {b:v}.8h, {a:v}.2h[0]";
    /// Adds the product of two rows of four bfloat16 numbers, `a`, and the transpose of two others, `b`, to
    /// 2 × 2 sums: the same as two of [`bfdot`] for each sum.
    bfmmla, "bf16", uint32x4_t, "bfmmla {sums:v}.4s, {a:v}.8h, {b:v}.8h";
}

/// Rounds eight numbers to the nearest bfloat16, ties to even.
#[target_feature(enable = "bf16")]
#[inline]
pub(crate) fn bfcvt(low: float32x4_t, high: float32x4_t) -> uint32x4_t {
    let out: uint32x4_t;
    // SAFETY: reads and writes registers only.
    unsafe {
        asm!("bfcvtn {out:v}.4h, {low:v}.4s", "bfcvtn2 {out:v}.8h, {high:v}.4s", out = out(vreg) out,
            low = in(vreg) low, high = in(vreg) high, options(pure, nomem, nostack, preserves_flags));
    }
    out
}
