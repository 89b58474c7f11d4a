//! The limit on the instruction sets that the kernels use.

use std::fmt;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", test))]
use std::sync::atomic::{AtomicU8, Ordering};

/// The environment variable that limits the instruction sets, for tests and comparisons.
pub const VARIABLE: &str = "ATTENTIVE_ISA";

/// Instruction sets of the target. Each includes those before it, as far as the CPU has them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum InstructionSet {
    /// The baseline of the target, without kernels of its own.
    Portable,
    /// AVX2 with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 (F, BW, DQ, VL).
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// The instructions for dot products of short numbers: AVX-512 VNNI and BF16, and AVX-VNNI.
    #[cfg(target_arch = "x86_64")]
    Vnni,
    /// The matrix unit, AMX.
    #[cfg(target_arch = "x86_64")]
    Amx,
    /// Neon, which every 64-bit ARM CPU has.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// Dot products of bytes: `sdot`.
    #[cfg(target_arch = "aarch64")]
    Dotprod,
    /// Products of small matrices of bytes: `smmla`.
    #[cfg(target_arch = "aarch64")]
    I8mm,
    /// Products of small matrices of bfloat16 numbers: `bfmmla`.
    #[cfg(target_arch = "aarch64")]
    Bf16,
}

impl InstructionSet {
    /// All, in increasing order.
    pub const ALL: &[Self] = &[
        Self::Portable,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        #[cfg(target_arch = "x86_64")]
        Self::Avx512,
        #[cfg(target_arch = "x86_64")]
        Self::Vnni,
        #[cfg(target_arch = "x86_64")]
        Self::Amx,
        #[cfg(target_arch = "aarch64")]
        Self::Neon,
        #[cfg(target_arch = "aarch64")]
        Self::Dotprod,
        #[cfg(target_arch = "aarch64")]
        Self::I8mm,
        #[cfg(target_arch = "aarch64")]
        Self::Bf16,
    ];

    /// The name used in [`VARIABLE`].
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Vnni => "vnni",
            #[cfg(target_arch = "x86_64")]
            Self::Amx => "amx",
            #[cfg(target_arch = "aarch64")]
            Self::Neon => "neon",
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod => "dotprod",
            #[cfg(target_arch = "aarch64")]
            Self::I8mm => "i8mm",
            #[cfg(target_arch = "aarch64")]
            Self::Bf16 => "bf16",
        }
    }

    fn parse(value: &str) -> Result<Self, UnknownInstructionSet> {
        let unknown = || UnknownInstructionSet(value.to_owned());
        Self::ALL.iter().copied().find(|set| set.name() == value).ok_or_else(unknown)
    }
}

/// A value of [`VARIABLE`] that names no instruction set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownInstructionSet(pub String);

impl fmt::Display for UnknownInstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value) = self;
        let names: Vec<&str> = InstructionSet::ALL.iter().map(|set| set.name()).collect();
        let names = names.join(", ");
        write!(f, "{VARIABLE} is `{value}`, but must be one of {names}")
    }
}

impl std::error::Error for UnknownInstructionSet {}

/// The highest instruction set that [`VARIABLE`] allows; `None` if it is not set. Programs call this first,
/// since the kernels ignore a value that they do not know.
pub fn limit() -> Result<Option<InstructionSet>, UnknownInstructionSet> {
    match std::env::var_os(VARIABLE) {
        None => Ok(None),
        Some(value) => InstructionSet::parse(&value.to_string_lossy()).map(Some),
    }
}

/// Whether the limit, read once, allows `set`. The CPU need not have it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", test))]
#[inline(always)]
pub(crate) fn is_allowed(set: InstructionSet) -> bool {
    static HIGHEST: AtomicU8 = AtomicU8::new(UNREAD);
    const UNREAD: u8 = u8::MAX;
    #[cold]
    fn read_limit() -> u8 {
        limit().ok().flatten().map_or(UNREAD - 1, |set| set as u8)
    }
    let highest = match HIGHEST.load(Ordering::Relaxed) {
        UNREAD => {
            let highest = read_limit();
            HIGHEST.store(highest, Ordering::Relaxed);
            highest
        }
        highest => highest,
    };
    set as u8 <= highest
}

/// The best instruction set for loops that the compiler vectorizes: at most [`InstructionSet::Avx512`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn for_loops() -> InstructionSet {
    static BEST: AtomicU8 = AtomicU8::new(UNREAD);
    const UNREAD: u8 = u8::MAX;
    match BEST.load(Ordering::Relaxed) {
        0 => InstructionSet::Portable,
        1 => InstructionSet::Avx2,
        2 => InstructionSet::Avx512,
        _ => {
            let best = detect_for_loops();
            BEST.store(best as u8, Ordering::Relaxed);
            best
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[cold]
fn detect_for_loops() -> InstructionSet {
    use std::arch::is_x86_feature_detected;
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    if avx2 && avx512 && is_allowed(InstructionSet::Avx512) {
        return InstructionSet::Avx512;
    }
    if avx2 && is_allowed(InstructionSet::Avx2) {
        return InstructionSet::Avx2;
    }
    InstructionSet::Portable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_others_refused() {
        let names: Vec<&str> = InstructionSet::ALL.iter().map(|set| set.name()).collect();
        for set in InstructionSet::ALL {
            assert_eq!(InstructionSet::parse(set.name()), Ok(*set));
        }
        for wrong in ["", "AVX2", "avx10", "amx ", "NEON", "sve"] {
            let error = InstructionSet::parse(wrong).unwrap_err();
            let expected = format!("ATTENTIVE_ISA is `{wrong}`, but must be one of {}", names.join(", "));
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn the_limit_of_the_environment_holds() {
        let highest = limit().unwrap().unwrap_or(*InstructionSet::ALL.last().unwrap());
        for &set in InstructionSet::ALL {
            assert_eq!(is_allowed(set), set <= highest);
        }
        #[cfg(target_arch = "x86_64")]
        assert!(for_loops() <= highest);
    }
}
