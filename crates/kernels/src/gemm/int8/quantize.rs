//! Quantization of rows to 8-bit integers.

/// The largest integer; the range is symmetric.
const MAX: f32 = 127.0;

/// Rows whose numbers all lie below this count as zero: the reciprocal of their scale would overflow.
const SMALLEST: f32 = MAX * f32::MIN_POSITIVE;

/// Adding this to a small number rounds it to the nearest integer, ties to even, which ends up in the low
/// bits.
const ROUND: f32 = 12_582_912.0;

/// Writes `x` divided by its scale, rounded to the nearest integers, and returns the scale: the largest
/// absolute value divided by
/// 127. For a row with a number that is not finite, the scale is NaN and the integers are zero.
pub(crate) fn quantize(x: &[f32], out: &mut [i8]) -> f32 {
    let largest = f32::from_bits(largest_magnitude(x));
    if !largest.is_finite() {
        out.fill(0);
        return f32::NAN;
    }
    if largest < SMALLEST {
        out.fill(0);
        return 0.0;
    }
    round_into(x, MAX / largest, out);
    largest / MAX
}

vectorized! {
    /// The bits of the largest absolute value, or some that are not finite if any element is not.
    fn largest_magnitude(x: &[f32]) -> u32 {
        let mut lanes = [0; 64];
        let (chunks, rest) = x.as_chunks::<64>();
        for chunk in chunks {
            for (lane, x) in lanes.iter_mut().zip(chunk) {
                *lane = (x.to_bits() & 0x7FFF_FFFF).max(*lane);
            }
        }
        for (lane, x) in lanes.iter_mut().zip(rest) {
            *lane = (x.to_bits() & 0x7FFF_FFFF).max(*lane);
        }
        lanes.into_iter().fold(0, u32::max)
    }
}

vectorized! {
    fn round_into(x: &[f32], factor: f32, out: &mut [i8]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = (x * factor + ROUND).to_bits() as i8;
        }
    }
}

vectorized! {
    /// Adds 128 to each number, which makes it unsigned.
    pub(super) fn offset(bytes: &mut [i8]) {
        for byte in bytes {
            *byte ^= i8::MIN;
        }
    }
}
