//! Numbers of 16 bits.

use cudarc::driver::{DeviceRepr, ValidAsZeroBits};

/// A number in bf16: the upper half of the bits of an `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(u16);

impl Bf16 {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// The nearest number, of two the even one.
    pub fn round(value: f32) -> Self {
        let bits = value.to_bits();
        if value.is_nan() {
            return Self((bits >> 16) as u16 | 0x40);
        }
        Self(((u64::from(bits) + 0x7fff + u64::from(bits >> 16 & 1)) >> 16) as u16)
    }
}

impl From<Bf16> for f32 {
    fn from(value: Bf16) -> Self {
        Self::from_bits(u32::from(value.0) << 16)
    }
}

// SAFETY: the type is that of `unsigned short` in the kernels.
unsafe impl DeviceRepr for Bf16 {}

// SAFETY: these are the bits of 0.
unsafe impl ValidAsZeroBits for Bf16 {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_the_nearest_even_number() {
        for (value, rounded) in [
            (1.0, 1.0),
            (1.0 + 1.0 / 256.0, 1.0),
            (1.0 + 3.0 / 256.0, 1.0 + 4.0 / 256.0),
            (1.0 + 1.1 / 256.0, 1.0 + 2.0 / 256.0),
            (-0.0, -0.0),
            (f32::MAX, f32::INFINITY),
            (f32::NEG_INFINITY, f32::NEG_INFINITY),
        ] {
            assert_eq!(f32::from(Bf16::round(value)), rounded, "{value}");
        }
        assert!(f32::from(Bf16::round(f32::NAN)).is_nan());
    }
}
