//! Selection of the vector and matrix instructions at run time.

#[cfg(target_arch = "x86_64")]
mod x86;

use super::Float;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::instruction_set::{InstructionSet, is_allowed};

/// Defines token types whose values prove that this CPU supports an instruction set: only this file can
/// construct them.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
macro_rules! proofs {
    ($($(#[$attribute:meta])* $name:ident)*) => {
        $(
            $(#[$attribute])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub(crate) struct $name(());
        )*
    };
}

#[cfg(target_arch = "x86_64")]
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

#[cfg(target_arch = "aarch64")]
proofs! {
    /// Proof of Neon, which every 64-bit ARM CPU has: of the permission to use it.
    Neon
    /// Proof of `sdot`, which adds four products of bytes to a sum.
    Dotprod
    /// Proof of `smmla`, which multiplies matrices of bytes, and of `sdot`.
    I8mm
    /// Proof of `bfmmla` and `bfdot`, which multiply pairs of bfloat16 numbers, and of `bfcvtn`.
    NeonBf16
}

#[cfg(target_feature = "simd128")]
proofs! {
    /// Proof of vectors of 128 bits, for which the whole module is compiled.
    Simd128
}

/// Instruction sets with an `f32` microkernel. All except those without fused multiply-add, the portable one
/// of x86-64 and that of WebAssembly, give identical bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Isa {
    /// The baseline of the target.
    Portable,
    /// AVX2 with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// AVX-512F.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    #[cfg(target_feature = "simd128")]
    Simd128(Simd128),
}

impl Isa {
    /// All instruction sets of this CPU, the best last.
    fn all() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let others = {
            let avx2 = crate::simd::has_avx2_fma();
            let avx512 =
                avx2 && is_allowed(InstructionSet::Avx512) && std::arch::is_x86_feature_detected!("avx512f");
            [avx2.then_some(Self::Avx2(Avx2(()))), avx512.then_some(Self::Avx512(Avx512(())))]
        };
        #[cfg(target_arch = "aarch64")]
        let others = [crate::simd::has_neon().then_some(Self::Neon(Neon(())))];
        #[cfg(target_feature = "simd128")]
        let others = [Some(Self::Simd128(Simd128(())))];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128")))]
        let others = [None];
        std::iter::once(Self::Portable).chain(others.into_iter().flatten())
    }

    /// The best instruction set of this CPU.
    pub(crate) fn detect() -> Self {
        Self::all().last().unwrap_or(Self::Portable)
    }

    /// All instruction sets of this CPU.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<Self> {
        Self::all().collect()
    }

    /// Rows of a register tile.
    pub(super) const fn mr(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => MR_512,
            #[cfg(target_feature = "simd128")]
            Self::Simd128(_) => MR_128,
            _ => MR,
        }
    }

    /// Up to this number of rows, a wide tile computes several panels at once.
    pub(super) const fn wide_rows(self) -> usize {
        match self {
            Self::Portable => 0,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 1,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => 3,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => 1,
            #[cfg(target_feature = "simd128")]
            Self::Simd128(_) => 0,
        }
    }

    /// Columns of a register tile: one panel, or two for AVX-512.
    pub(super) const fn nr(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => NR_512,
            _ => NR,
        }
    }
}

/// Rows of a register tile, except for AVX-512.
pub(super) const MR: usize = 6;
/// Columns of a register tile, except for AVX-512.
pub(super) const NR: usize = 16;
/// Rows of a register tile for WebAssembly, whose vectors become registers of SSE on most machines: there are 16.
#[cfg(target_feature = "simd128")]
pub(super) const MR_128: usize = 3;
/// Rows of a register tile for AVX-512.
#[cfg(target_arch = "x86_64")]
pub(super) const MR_512: usize = 12;
/// Columns of a register tile for AVX-512: two vectors.
#[cfg(target_arch = "x86_64")]
pub(super) const NR_512: usize = 32;

/// Instruction sets that multiply pairs of bfloat16 numbers. Their summation orders differ, so their results
/// differ in the last bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PairIsa {
    /// AVX-512 with `vdpbf16ps`.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512Bf16),
    /// The matrix unit, `tdpbf16ps`.
    #[cfg(target_arch = "x86_64")]
    Amx(AmxBf16),
    /// `bfmmla`
    #[cfg(target_arch = "aarch64")]
    Neon(NeonBf16),
}

impl PairIsa {
    /// The best instruction set of this CPU, if it has one that is faster than multiplying the numbers as
    /// `f32`.
    pub(crate) fn detect() -> Option<Self> {
        match Self::all().last() {
            #[cfg(target_arch = "x86_64")]
            Some(Self::Avx512(_)) if x86::has_slow_pairs() => None,
            best => best,
        }
    }

    /// All instruction sets of this CPU, the fastest last.
    fn all() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let all = {
            let avx512 = is_allowed(InstructionSet::Vnni) && x86::has_avx512_bf16();
            let amx = avx512 && x86::has_amx(x86::AMX_BF16);
            [avx512.then_some(Self::Avx512(Avx512Bf16(()))), amx.then_some(Self::Amx(AmxBf16(())))]
        };
        #[cfg(target_arch = "aarch64")]
        let all = {
            let bf16 = is_allowed(InstructionSet::Bf16) && std::arch::is_aarch64_feature_detected!("bf16");
            [bf16.then_some(Self::Neon(NeonBf16(())))]
        };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let all = [None];
        all.into_iter().flatten()
    }

    /// All instruction sets of this CPU.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<Self> {
        Self::all().collect()
    }
}

/// Instruction sets that multiply 8-bit integers. All give identical results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IntegerIsa {
    /// The baseline of the target.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// AVX-VNNI, `vpdpbusd` on 256 bits.
    #[cfg(target_arch = "x86_64")]
    AvxVnni(AvxVnni),
    /// AVX-512 VNNI, `vpdpbusd` on 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni(Avx512Vnni),
    /// The matrix unit, `tdpbssd`.
    #[cfg(target_arch = "x86_64")]
    Amx(AmxInt8),
    /// `smull`, `smlal` and `sadalp`.
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    /// `sdot`
    #[cfg(target_arch = "aarch64")]
    Dotprod(Dotprod),
    /// `smmla`
    #[cfg(target_arch = "aarch64")]
    I8mm(I8mm),
    /// `i32x4.dot_i16x8_s`
    #[cfg(target_feature = "simd128")]
    Simd128(Simd128),
}

impl IntegerIsa {
    /// Its name, for logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(_) => "AVX-VNNI",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni(_) => "AVX-512 VNNI",
            #[cfg(target_arch = "x86_64")]
            Self::Amx(_) => "AMX int8",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "Neon",
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod(_) => "Neon DotProd",
            #[cfg(target_arch = "aarch64")]
            Self::I8mm(_) => "Neon I8MM",
            #[cfg(target_feature = "simd128")]
            Self::Simd128(_) => "SIMD128",
        }
    }

    /// All instruction sets of this CPU, the fastest last.
    fn all() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let others = {
            let avx2 = crate::simd::has_avx2_fma();
            let vnni = avx2 && is_allowed(InstructionSet::Vnni);
            let avx512_vnni = vnni && x86::has_avx512_vnni();
            let avx_vnni = vnni && std::arch::is_x86_feature_detected!("avxvnni");
            let amx = avx512_vnni && x86::has_amx(x86::AMX_INT8);
            [
                avx2.then_some(Self::Avx2(Avx2(()))),
                avx_vnni.then_some(Self::AvxVnni(AvxVnni(()))),
                avx512_vnni.then_some(Self::Avx512Vnni(Avx512Vnni(()))),
                amx.then_some(Self::Amx(AmxInt8(()))),
            ]
        };
        #[cfg(target_arch = "aarch64")]
        let others = {
            use std::arch::is_aarch64_feature_detected;
            let dotprod = is_allowed(InstructionSet::Dotprod) && is_aarch64_feature_detected!("dotprod");
            let i8mm = dotprod && is_allowed(InstructionSet::I8mm) && is_aarch64_feature_detected!("i8mm");
            [
                crate::simd::has_neon().then_some(Self::Neon(Neon(()))),
                dotprod.then_some(Self::Dotprod(Dotprod(()))),
                i8mm.then_some(Self::I8mm(I8mm(()))),
            ]
        };
        #[cfg(target_feature = "simd128")]
        let others = [Some(Self::Simd128(Simd128(())))];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128")))]
        let others = [None];
        std::iter::once(Self::Portable).chain(others.into_iter().flatten())
    }

    /// The best instruction set of this CPU for products with `rows` rows.
    pub(crate) fn detect(rows: usize) -> Self {
        /// The fewest rows for which the matrix unit of x86-64 is worth its padding to 16.
        #[cfg(target_arch = "x86_64")]
        const AMX_ROWS: usize = 5;
        /// The fewest rows for which `smmla` is worth the order of its operands.
        #[cfg(target_arch = "aarch64")]
        const I8MM_ROWS: usize = 4;
        match Self::all().last().unwrap_or(Self::Portable) {
            #[cfg(target_arch = "x86_64")]
            Self::Amx(_) if rows < AMX_ROWS => Self::Avx512Vnni(Avx512Vnni(())),
            #[cfg(target_arch = "aarch64")]
            Self::I8mm(_) if rows < I8MM_ROWS => Self::Dotprod(Dotprod(())),
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
            #[cfg(target_arch = "x86_64")]
            Self::F32(Isa::Avx2(_)) | Self::Rounded(Isa::Avx2(_)) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::F32(Isa::Avx512(_)) | Self::Rounded(Isa::Avx512(_)) => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Self::Pairs(PairIsa::Avx512(_)) => "AVX-512 BF16",
            #[cfg(target_arch = "x86_64")]
            Self::Pairs(PairIsa::Amx(_)) => "AMX",
            #[cfg(target_arch = "aarch64")]
            Self::F32(Isa::Neon(_)) | Self::Rounded(Isa::Neon(_)) => "Neon",
            #[cfg(target_feature = "simd128")]
            Self::F32(Isa::Simd128(_)) | Self::Rounded(Isa::Simd128(_)) => "SIMD128",
            #[cfg(target_arch = "aarch64")]
            Self::Pairs(PairIsa::Neon(_)) => "Neon BF16",
        }
    }
}
