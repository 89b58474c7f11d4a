//! Selection of the vector and matrix instructions at run time.

use super::Float;
use crate::instruction_set::{InstructionSet, is_allowed};

/// Defines token types whose values prove that this CPU supports an instruction set: only this file can
/// construct them.
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
    /// Proof of AMX with `tdpbf16ps`, enabled by the operating system for this process, and of everything
    /// that [`Avx512Bf16`] implies.
    AmxBf16
    /// Proof of AVX-VNNI and of everything that [`Avx2`] implies.
    AvxVnni
    /// Proof of AVX-512 VNNI.
    Avx512Vnni
    /// Proof of AMX with `tdpbssd`, enabled by the operating system for this process, and of everything that
    /// [`Avx512Vnni`] implies.
    AmxInt8
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
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f")
            && crate::simd::has_avx2_fma()
            && is_allowed(InstructionSet::Avx512)
        {
            return Self::Avx512(Avx512(()));
        }
        if crate::simd::has_avx2_fma() { Self::Avx2(Avx2(())) } else { Self::Portable }
    }

    /// All instruction sets of this CPU.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<Self> {
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

/// Instruction sets that multiply pairs of bfloat16 numbers. Their summation orders differ, so their results
/// differ in the last bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) enum PairIsa {
    /// AVX-512 with `vdpbf16ps`.
    Avx512(Avx512Bf16),
    /// The matrix unit, `tdpbf16ps`.
    Amx(AmxBf16),
}

impl PairIsa {
    /// The best instruction set of this CPU, if it has one that is faster than multiplying the numbers as
    /// `f32`.
    pub(crate) fn detect() -> Option<Self> {
        match Self::all().last() {
            Some(Self::Avx512(_)) if has_slow_pairs() => None,
            best => best,
        }
    }

    /// All instruction sets of this CPU, the fastest last.
    fn all() -> impl Iterator<Item = Self> {
        let avx512 = is_allowed(InstructionSet::Vnni) && has_avx512_bf16();
        [
            avx512.then_some(Self::Avx512(Avx512Bf16(()))),
            (avx512 && has_amx(AMX_BF16)).then_some(Self::Amx(AmxBf16(()))),
        ]
        .into_iter()
        .flatten()
    }

    /// All instruction sets of this CPU.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<Self> {
        Self::all().collect()
    }
}

/// Instruction sets that multiply 8-bit integers. All give identical results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) enum IntegerIsa {
    /// The baseline of the target.
    Portable,
    Avx2(Avx2),
    /// AVX-VNNI, `vpdpbusd` on 256 bits.
    AvxVnni(AvxVnni),
    /// AVX-512 VNNI, `vpdpbusd` on 512 bits.
    Avx512Vnni(Avx512Vnni),
    /// The matrix unit, `tdpbssd`.
    Amx(AmxInt8),
}

impl IntegerIsa {
    /// Its name, for logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2(_) => "AVX2",
            Self::AvxVnni(_) => "AVX-VNNI",
            Self::Avx512Vnni(_) => "AVX-512 VNNI",
            Self::Amx(_) => "AMX int8",
        }
    }

    /// All instruction sets of this CPU, the fastest last.
    fn all() -> impl Iterator<Item = Self> {
        let avx2 = crate::simd::has_avx2_fma();
        let vnni = avx2 && is_allowed(InstructionSet::Vnni);
        let avx512_vnni = vnni && has_avx512_vnni();
        [
            Some(Self::Portable),
            avx2.then_some(Self::Avx2(Avx2(()))),
            (vnni && has_avx_vnni()).then_some(Self::AvxVnni(AvxVnni(()))),
            avx512_vnni.then_some(Self::Avx512Vnni(Avx512Vnni(()))),
            (avx512_vnni && has_amx(AMX_INT8)).then_some(Self::Amx(AmxInt8(()))),
        ]
        .into_iter()
        .flatten()
    }

    /// The best instruction set of this CPU for products with `rows` rows.
    pub(crate) fn detect(rows: usize) -> Self {
        /// The fewest rows for which the matrix unit is worth its padding to 16.
        const AMX_ROWS: usize = 5;
        let best = Self::all().last().unwrap_or(Self::Portable);
        match best {
            Self::Amx(_) if rows < AMX_ROWS => Self::Avx512Vnni(Avx512Vnni(())),
            best => best,
        }
    }

    /// All instruction sets of this CPU.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<Self> {
        Self::all().collect()
    }
}

/// A kernel for products of floating-point matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FloatKernel {
    /// Multiplies `f32` operands unchanged.
    F32(Isa),
    /// Rounds the operands to bfloat16, then multiplies them as `f32`.
    Rounded(Isa),
    /// Multiplies pairs of bfloat16 numbers.
    Pairs(PairIsa),
}

impl FloatKernel {
    /// The best kernel of this CPU for `precision`.
    pub(crate) fn detect(precision: Float) -> Self {
        match precision {
            Float::F32 => Self::F32(Isa::detect()),
            Float::Bf16 => match PairIsa::detect() {
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

/// Whether `vdpbf16ps` takes so long that multiplying the same numbers as `f32` is twice as fast: on Intel's
/// cores since Sapphire Rapids (Golden Cove), which leave bfloat16 to AMX. They are the CPUs of Intel with
/// AVX-512-FP16; Cooper Lake lacks it. One instruction took two cycles on Emerald Rapids, and `vfmadd231ps`
/// half a cycle. The rate is not measured here, since the bits depend on the answer.
fn has_slow_pairs() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;

        /// CPUID traps in virtual machines, and then takes longer than a small product.
        static IS_INTEL: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
            let vendor = __cpuid(0);
            let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
            name.as_flattened() == b"GenuineIntel"
        });
        std::arch::is_x86_feature_detected!("avx512fp16") && *IS_INTEL
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether the CPU has AVX-VNNI.
fn has_avx_vnni() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avxvnni");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether the CPU has AVX-512 VNNI.
fn has_avx512_vnni() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// CPUID bit of `tdpbf16ps`.
const AMX_BF16: u32 = 1 << 22;
/// CPUID bit of `tdpbssd`.
const AMX_INT8: u32 = 1 << 25;

/// Whether the CPU has the tile products of one of the bits above, and the operating system lets this process
/// use them. Assumes AVX-512.
#[cfg_attr(not(all(target_arch = "x86_64", target_os = "linux")), allow(unused_variables))]
fn has_amx(products: u32) -> bool {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    {
        static PRODUCTS: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
        let available = *PRODUCTS.get_or_init(|| {
            let usable = || amx::is_enabled() && amx::is_permitted();
            let allowed = is_allowed(InstructionSet::Amx);
            amx::products().filter(|_| allowed && usable()).unwrap_or(0)
        });
        available & products != 0
    }
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    false
}

/// The three requirements of AMX, to be checked in this order.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx {
    use core::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    /// The CPUID bits of tile products, if the CPU has tiles.
    pub(super) fn products() -> Option<u32> {
        const TILES: u32 = 1 << 24;
        let features = (__cpuid(0).eax >= 7).then(|| __cpuid_count(7, 0).edx)?;
        (features & TILES != 0).then_some(features & (super::AMX_BF16 | super::AMX_INT8))
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
