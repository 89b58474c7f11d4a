//! The number types of weights.

use std::fmt;

use serde_core::de::Error;
use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

use crate::gemm::Float;
use crate::gemm::int8::IntegerIsa;

/// The number type of weights, to which the inputs of their products are rounded too. Products are summed
/// exactly for `Int8` and in `f32` otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Precision {
    /// Single precision: the numbers of training.
    #[default]
    F32,
    /// Bfloat16.
    Bf16,
    /// 8-bit integers with a scale for each row of the weight and of the input.
    Int8,
}

impl Precision {
    pub const ALL: [Self; 3] = [Self::F32, Self::Bf16, Self::Int8];
    const NAMES: [&str; 3] = ["f32", "bf16", "int8"];

    /// Returns the name in files, messages and on the command line.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the number type with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Name of the instructions of its products of many rows on this CPU, for logs.
    pub fn instructions(self) -> &'static str {
        const MANY_ROWS: usize = 32;
        match self {
            Self::F32 => Float::F32.instructions(),
            Self::Bf16 => Float::Bf16.instructions(),
            Self::Int8 => IntegerIsa::detect(MANY_ROWS).name(),
        }
    }
}

impl From<Float> for Precision {
    fn from(float: Float) -> Self {
        match float {
            Float::F32 => Self::F32,
            Float::Bf16 => Self::Bf16,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Precision::from(*self).fmt(f)
    }
}

impl Serialize for Precision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Precision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || D::Error::unknown_variant(&name, &Self::NAMES);
        Self::named(&name).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for precision in Precision::ALL {
            assert_eq!(Precision::named(precision.name()), Some(precision));
            assert_eq!(format!("{precision:>6}").trim_start(), precision.name());
        }
        assert_eq!(Precision::named("F32"), None);
    }
}
