//! Rounding to bfloat16: 8 significant bits and the exponent range of `f32`.

/// Rounds to the nearest bfloat16, ties to even, and returns it as an `f32`. NaN stays NaN.
#[inline(always)]
pub fn round(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) & 0xFFFF_0000;
    f32::from_bits(if x.is_nan() { bits | 0x0040_0000 } else { rounded })
}

vectorized! {
    /// Rounds all elements in place.
    pub(super) fn round_all(x: &mut [f32]) {
        for x in x {
            *x = round(*x);
        }
    }
}

vectorized! {
    /// Rounds all elements of `x` into `out`.
    pub(crate) fn round_into(x: &[f32], out: &mut [f32]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = round(x);
        }
    }
}

/// The number whose upper half is `x`.
#[inline(always)]
pub fn widen(x: u16) -> f32 {
    f32::from_bits(u32::from(x) << 16)
}

/// The upper half of `x`, rounded.
#[inline(always)]
pub fn narrow(x: f32) -> u16 {
    (round(x).to_bits() >> 16) as u16
}

vectorized! {
    /// The upper halves of all elements of `x`, rounded.
    pub(crate) fn narrow_into(x: &[f32], out: &mut [u16]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = narrow(x);
        }
    }
}

vectorized! {
    /// Panels of pairs `[depth / 2, 16, 2]` as panels `[depth, 16]` of `f32`.
    pub(super) fn widen_panel(pairs: &[u16], out: &mut [f32]) {
        for (pairs, out) in pairs.as_chunks::<32>().0.iter().zip(out.chunks_mut(32)) {
            let (even, odd) = out.split_at_mut(16);
            for (even, pair) in even.iter_mut().zip(pairs.as_chunks::<2>().0) {
                *even = widen(pair[0]);
            }
            for (odd, pair) in odd.iter_mut().zip(pairs.as_chunks::<2>().0) {
                *odd = widen(pair[1]);
            }
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
