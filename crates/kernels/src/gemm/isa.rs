//! Selection of the vector and matrix instructions at run time.

use super::Precision;

/// Defines token types whose values prove that this CPU supports an instruction set: only this file can construct
/// them.
macro_rules! proofs {
    ($($(#[$attribute:meta])* $name:ident)*) => {
        $(
            $(#[$attribute])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
            pub(crate) struct $name(());
        )*
    };
}

proofs! {
    /// Proof of AVX2 with fused multiply-add.
    Avx2
    /// Proof of AVX-512F and of everything that [`Avx2`] implies.
    Avx512
    /// Proof of AVX-512 with `vdpbf16ps` and of the instructions that pack its operands.
    Avx512Bf16
    /// Proof of AMX with `tdpbf16ps`, enabled by the operating system for this process, and of everything that
    /// [`Avx512Bf16`] implies.
    Amx
}

/// Instruction sets with an `f32` microkernel. All except the portable one give identical bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) enum Isa {
    /// The baseline of the target.
    Portable,
    /// AVX2 with fused multiply-add.
    Avx2(Avx2),
    /// AVX-512F.
    Avx512(Avx512),
}

impl Isa {
    /// The best instruction set of this CPU.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") && crate::simd::has_avx2_fma() {
            return Self::Avx512(Avx512(()));
        }
        if crate::simd::has_avx2_fma() {
            Self::Avx2(Avx2(()))
        } else {
            Self::Portable
        }
    }

    /// All instruction sets of this CPU.
    #[cfg(test)]
    pub(super) fn available() -> Vec<Self> {
        match Self::detect() {
            Self::Portable => vec![Self::Portable],
            best @ Self::Avx2(_) => vec![Self::Portable, best],
            best @ Self::Avx512(_) => vec![Self::Portable, Self::Avx2(Avx2(())), best],
        }
    }

    /// Rows of a register tile.
    pub(super) const fn mr(self) -> usize {
        match self {
            Self::Portable | Self::Avx2(_) => MR,
            Self::Avx512(_) => MR_512,
        }
    }

    /// Up to this number of rows, a wide tile computes several panels at once.
    pub(super) const fn wide_rows(self) -> usize {
        match self {
            Self::Portable => 0,
            Self::Avx2(_) => 1,
            Self::Avx512(_) => 3,
        }
    }

    /// Columns of a register tile: two vectors.
    pub(super) const fn nr(self) -> usize {
        match self {
            Self::Portable | Self::Avx2(_) => NR,
            Self::Avx512(_) => NR_512,
        }
    }
}

/// Rows of a register tile, except for AVX-512.
pub(super) const MR: usize = 6;
/// Columns of a register tile, except for AVX-512: two vectors.
pub(super) const NR: usize = 16;
/// Rows of a register tile for AVX-512.
pub(super) const MR_512: usize = 12;
/// Columns of a register tile for AVX-512: two vectors.
pub(super) const NR_512: usize = 32;

/// Instruction sets that multiply pairs of bfloat16 numbers. Their summation orders differ, so their results differ
/// in the last bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) enum PairIsa {
    /// AVX-512 with `vdpbf16ps`.
    Avx512(Avx512Bf16),
    /// The matrix unit, `tdpbf16ps`.
    Amx(Amx),
}

impl PairIsa {
    /// The best instruction set of this CPU, if it has one.
    pub(super) fn detect() -> Option<Self> {
        if !has_avx512_bf16() {
            None
        } else if has_amx_bf16() {
            Some(Self::Amx(Amx(())))
        } else {
            Some(Self::Avx512(Avx512Bf16(())))
        }
    }

    /// All instruction sets of this CPU.
    #[cfg(test)]
    pub(super) fn available() -> Vec<Self> {
        match Self::detect() {
            None => vec![],
            Some(best @ Self::Avx512(_)) => vec![best],
            Some(best @ Self::Amx(_)) => vec![Self::Avx512(Avx512Bf16(())), best],
        }
    }
}

/// A way to compute a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Engine {
    /// Multiplies `f32` operands unchanged.
    F32(Isa),
    /// Rounds the operands to bfloat16, then multiplies them as `f32`.
    Rounded(Isa),
    /// Multiplies pairs of bfloat16 numbers.
    Pairs(PairIsa),
}

impl Engine {
    /// The best engine of this CPU for `precision`.
    pub(super) fn detect(precision: Precision) -> Self {
        match precision {
            Precision::F32 => Self::F32(Isa::detect()),
            Precision::Bf16 => match PairIsa::detect() {
                Some(isa) => Self::Pairs(isa),
                None => Self::Rounded(Isa::detect()),
            },
        }
    }

    /// Name for logs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::F32(Isa::Portable) | Self::Rounded(Isa::Portable) => "portable",
            Self::F32(Isa::Avx2(_)) | Self::Rounded(Isa::Avx2(_)) => "AVX2",
            Self::F32(Isa::Avx512(_)) | Self::Rounded(Isa::Avx512(_)) => "AVX-512",
            Self::Pairs(PairIsa::Avx512(_)) => "AVX-512 BF16",
            Self::Pairs(PairIsa::Amx(_)) => "AMX",
        }
    }
}

/// Whether the CPU has `vdpbf16ps` and the instructions that pack its operands.
fn has_avx512_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether the CPU has `tdpbf16ps` and the operating system lets this process use it. Assumes [`has_avx512_bf16`].
fn has_amx_bf16() -> bool {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    {
        static ANSWER: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *ANSWER.get_or_init(|| amx::is_there() && amx::is_enabled() && amx::is_permitted())
    }
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    false
}

/// The three requirements of AMX, to be checked in this order.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx {
    use core::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    /// Whether the CPU supports tiles and bfloat16 tile products.
    pub(super) fn is_there() -> bool {
        const BF16_AND_TILES: u32 = 1 << 22 | 1 << 24;
        __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & BF16_AND_TILES == BF16_AND_TILES
    }

    /// Whether the operating system saves the tile configuration and data (XCR0).
    pub(super) fn is_enabled() -> bool {
        const TILES: u32 = 1 << 17 | 1 << 18;
        let low: u32;
        // SAFETY: XCR0 is readable where the system has enabled AVX, which the caller has checked.
        unsafe {
            asm!("xgetbv", in("ecx") 0, lateout("eax") low, lateout("edx") _,
                options(nomem, nostack, preserves_flags));
        }
        low & TILES == TILES
    }

    /// Requests permission from Linux, which then reserves space for the tiles in this process's threads.
    pub(super) fn is_permitted() -> bool {
        const ARCH_PRCTL: isize = 158;
        const REQUEST_PERMISSION: usize = 0x1023;
        const TILE_DATA: usize = 18;
        let result: isize;
        // SAFETY: this system call accesses no memory of the process.
        unsafe {
            asm!("syscall", inlateout("rax") ARCH_PRCTL => result, in("rdi") REQUEST_PERMISSION,
                in("rsi") TILE_DATA, lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        result == 0
    }
}
