//! What an x86-64 CPU has.

use std::arch::is_x86_feature_detected;
use std::sync::OnceLock;

use crate::instruction_set::{InstructionSet, is_allowed};
use crate::platform::permits_matrix_unit;

/// Whether the CPU has `vdpbf16ps` and the instructions that pack its operands.
pub(super) fn has_avx512_bf16() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512bf16")
}

/// Whether `vdpbf16ps` takes so long that multiplying the same numbers as `f32` is twice as fast: on Intel's
/// cores since Sapphire Rapids (Golden Cove), which leave bfloat16 to AMX. They are the CPUs of Intel with
/// AVX-512-FP16; Cooper Lake lacks it. One instruction took two cycles on Emerald Rapids, and `vfmadd231ps`
/// half a cycle. The rate is not measured here, since the bits depend on the answer.
pub(super) fn has_slow_pairs() -> bool {
    use std::arch::x86_64::__cpuid;

    /// CPUID traps in virtual machines, and then takes longer than a small product.
    static IS_INTEL: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
        let vendor = __cpuid(0);
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        name.as_flattened() == b"GenuineIntel"
    });
    is_x86_feature_detected!("avx512fp16") && *IS_INTEL
}

/// Whether the CPU has AVX-512 VNNI.
pub(super) fn has_avx512_vnni() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
}

/// CPUID bit of `tdpbf16ps`.
pub(super) const AMX_BF16: u32 = 1 << 22;
/// CPUID bit of `tdpbssd`.
pub(super) const AMX_INT8: u32 = 1 << 25;

/// Whether the CPU has the tile products of one of the bits above, and the operating system lets this process
/// use them. Assumes AVX-512.
pub(super) fn has_amx(products: u32) -> bool {
    static PRODUCTS: OnceLock<u32> = OnceLock::new();
    let available = *PRODUCTS.get_or_init(|| {
        let usable = || amx::is_enabled() && permits_matrix_unit();
        let allowed = is_allowed(InstructionSet::Amx);
        amx::products().filter(|_| allowed && usable()).unwrap_or(0)
    });
    available & products != 0
}

/// Two requirements of AMX, to be checked in this order; the third is the system's permission.
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
}
