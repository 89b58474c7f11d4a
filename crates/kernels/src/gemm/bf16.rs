//! Rounding to bfloat16: 8 significant bits and the exponent range of `f32`.

/// Rounds to the nearest bfloat16, ties to even, and returns it as an `f32`. NaN stays NaN.
#[inline(always)]
pub(crate) fn round(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) & 0xFFFF_0000;
    f32::from_bits(if x.is_nan() {
        bits | 0x0040_0000
    } else {
        rounded
    })
}

vectorised! {
    /// Rounds all elements in place.
    pub(super) fn round_all(x: &mut [f32]) {
        for x in x {
            *x = round(*x);
        }
    }
}

vectorised! {
    /// Rounds all elements of `x` into `out`.
    pub(super) fn round_into(x: &[f32], out: &mut [f32]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = round(x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::round;

    #[test]
    fn rounds_to_the_nearest_even_bfloat16() {
        let cases = [
            (1.0, 1.0),
            (1.0 + 1.0 / 256.0, 1.0),
            (1.0 + 3.0 / 256.0, 1.0 + 4.0 / 256.0),
            (1.0 + 1.01 / 256.0, 1.0 + 2.0 / 256.0),
            (-0.0, -0.0),
            (f32::INFINITY, f32::INFINITY),
            (f32::MAX, f32::INFINITY),
            (f32::MIN_POSITIVE, f32::MIN_POSITIVE),
        ];
        for (x, rounded) in cases {
            assert_eq!(round(x).to_bits(), f32::to_bits(rounded), "{x}");
        }
        assert!(round(f32::from_bits(0x7F80_0001)).is_nan());
        assert!(round(f32::from_bits(0xFFFF_FFFF)).is_nan());
    }
}
