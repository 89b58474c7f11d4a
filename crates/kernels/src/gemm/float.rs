//! The number types of the operands of a product.

use super::FloatKernel;

/// A floating-point number type. Sums are always `f32`.
// Operands of a product are rounded to bfloat16, which some CPUs multiply much faster; other CPUs multiply
// the rounded operands as `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Float {
    /// 32-bit floating point.
    #[default]
    F32,
    /// bfloat16, in half the bytes.
    Bf16,
}

impl Float {
    /// The faster type on this CPU.
    pub fn fastest() -> Self {
        match FloatKernel::detect(Self::Bf16) {
            FloatKernel::Pairs(_) => Self::Bf16,
            FloatKernel::F32(_) | FloatKernel::Rounded(_) => Self::F32,
        }
    }

    /// Name of the instructions used with this type on this CPU, for logs.
    pub fn instructions(self) -> &'static str {
        FloatKernel::detect(self).name()
    }
}
