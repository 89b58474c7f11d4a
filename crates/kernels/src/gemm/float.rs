//! The number types of the operands of a product.

use super::Engine;

/// A floating-point number type, to which the operands of a product are rounded. Sums are always `f32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Float {
    /// Operands are used unchanged.
    F32,
    /// Operands are rounded to bfloat16, which some CPUs multiply much faster; other CPUs multiply the
    /// rounded operands as `f32`.
    Bf16,
}

impl Float {
    /// The faster type on this CPU.
    pub fn fastest() -> Self {
        match Engine::detect(Self::Bf16) {
            Engine::Pairs(_) => Self::Bf16,
            Engine::F32(_) | Engine::Rounded(_) => Self::F32,
        }
    }

    /// Name of the instructions used with this type on this CPU, for logs.
    pub fn instructions(self) -> &'static str {
        Engine::detect(self).name()
    }
}
