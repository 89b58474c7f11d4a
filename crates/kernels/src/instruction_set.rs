//! The limit on the instruction sets that the kernels use.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// The environment variable that limits the instruction sets, for tests and comparisons.
pub const VARIABLE: &str = "ATTENTIVE_ISA";

/// Instruction sets of x86-64. Each includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum InstructionSet {
    /// The baseline of the target; the only one on other architectures.
    Portable,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 (F, BW, DQ, VL).
    Avx512,
    /// The instructions for dot products of short numbers: AVX-512 VNNI and BF16, and AVX-VNNI.
    Vnni,
    /// The matrix unit, AMX.
    Amx,
}

impl InstructionSet {
    /// All, in increasing order.
    pub const ALL: [Self; 5] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Vnni, Self::Amx];

    /// The name used in [`VARIABLE`].
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Vnni => "vnni",
            Self::Amx => "amx",
        }
    }

    fn parse(value: &str) -> Result<Self, UnknownInstructionSet> {
        let unknown = || UnknownInstructionSet(value.to_owned());
        let mut all = Self::ALL.into_iter();
        all.find(|set| set.name() == value).ok_or_else(unknown)
    }
}

/// A value of [`VARIABLE`] that names no instruction set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownInstructionSet(pub String);

impl fmt::Display for UnknownInstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value) = self;
        let names = InstructionSet::ALL.map(InstructionSet::name).join(", ");
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
#[inline(always)]
pub(crate) fn is_allowed(set: InstructionSet) -> bool {
    static HIGHEST: AtomicU8 = AtomicU8::new(UNREAD);
    const UNREAD: u8 = u8::MAX;
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

#[cold]
fn read_limit() -> u8 {
    limit().ok().flatten().unwrap_or(InstructionSet::Amx) as u8
}

/// The best instruction set for loops that the compiler vectorizes: at most [`InstructionSet::Avx512`].
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

#[cold]
fn detect_for_loops() -> InstructionSet {
    #[cfg(target_arch = "x86_64")]
    {
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
    }
    InstructionSet::Portable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_others_refused() {
        for set in InstructionSet::ALL {
            assert_eq!(InstructionSet::parse(set.name()), Ok(set));
        }
        for wrong in ["", "AVX2", "avx10", "amx "] {
            let error = InstructionSet::parse(wrong).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("ATTENTIVE_ISA is `{wrong}`, but must be one of portable, avx2, avx512, vnni, amx")
            );
        }
    }

    #[test]
    fn the_limit_of_the_environment_holds() {
        let highest = limit().unwrap().unwrap_or(InstructionSet::Amx);
        for set in InstructionSet::ALL {
            assert_eq!(is_allowed(set), set <= highest);
        }
        assert!(for_loops() <= highest);
    }
}
