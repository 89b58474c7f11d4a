//! Numbers on their way to another process.

use crate::config::ExchangeFormat;

/// Numbers in the form in which they are sent.
#[derive(Debug)]
pub(super) enum Wire {
    F32(Vec<f32>),
    /// The upper halves of 32-bit numbers, rounded to the nearest, ties to even.
    Bf16(Vec<u16>),
}

impl Wire {
    /// Room for `n` numbers.
    pub(super) fn with_capacity(format: ExchangeFormat, n: usize) -> Self {
        match format {
            ExchangeFormat::F32 => Self::F32(Vec::with_capacity(n)),
            ExchangeFormat::Bf16 => Self::Bf16(Vec::with_capacity(n)),
        }
    }

    /// `n` zeros, to be overwritten.
    pub(super) fn zeros(format: ExchangeFormat, n: usize) -> Self {
        match format {
            ExchangeFormat::F32 => Self::F32(vec![0.0; n]),
            ExchangeFormat::Bf16 => Self::Bf16(vec![0; n]),
        }
    }

    pub(super) fn extend(&mut self, numbers: &[f32]) {
        match self {
            Self::F32(all) => all.extend_from_slice(numbers),
            Self::Bf16(all) => all.extend(numbers.iter().map(|&number| to_bf16(number))),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::F32(all) => bytemuck::cast_slice(all),
            Self::Bf16(all) => bytemuck::cast_slice(all),
        }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::F32(all) => bytemuck::cast_slice_mut(all),
            Self::Bf16(all) => bytemuck::cast_slice_mut(all),
        }
    }

    /// The numbers from `first` on, `n` of them.
    pub(super) fn numbers(&self, first: usize, n: usize) -> Vec<f32> {
        match self {
            Self::F32(all) => all[first..first + n].to_vec(),
            Self::Bf16(all) => {
                let numbers = all[first..first + n].iter();
                numbers
                    .map(|&half| f32::from_bits(u32::from(half) << 16))
                    .collect()
            }
        }
    }
}

fn to_bf16(number: f32) -> u16 {
    let bits = number.to_bits();
    if number.is_nan() {
        // Rounding could turn it into infinity.
        return (bits >> 16) as u16 | 0x40;
    }
    let rounding = 0x7FFF + ((bits >> 16) & 1);
    (bits.wrapping_add(rounding) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f32_is_sent_as_it_is() {
        let mut sent = Wire::with_capacity(ExchangeFormat::F32, 3);
        sent.extend(&[1.0, -2.5]);
        sent.extend(&[f32::MIN_POSITIVE]);
        let mut received = Wire::zeros(ExchangeFormat::F32, 3);
        received.bytes_mut().copy_from_slice(sent.bytes());
        assert_eq!(received.numbers(1, 2), [-2.5, f32::MIN_POSITIVE]);
    }

    #[test]
    fn bf16_is_rounded_to_the_nearest_and_ties_to_even() {
        let bits = |bits: u32| f32::from_bits(bits);
        let cases = [
            (1.0, 1.0),
            (bits(0x3F80_8000), bits(0x3F80_0000)),
            (bits(0x3F81_8000), bits(0x3F82_0000)),
            (bits(0x3F80_8001), bits(0x3F81_0000)),
            (-0.0, -0.0),
            (f32::MAX, f32::INFINITY),
            (f32::NEG_INFINITY, f32::NEG_INFINITY),
        ];
        for (number, expected) in cases {
            let mut wire = Wire::with_capacity(ExchangeFormat::Bf16, 1);
            wire.extend(&[number]);
            assert_eq!(
                wire.numbers(0, 1)[0].to_bits(),
                f32::to_bits(expected),
                "{number}"
            );
        }
        let mut wire = Wire::with_capacity(ExchangeFormat::Bf16, 1);
        wire.extend(&[bits(0x7FFF_FFFF)]);
        assert!(wire.numbers(0, 1)[0].is_nan());
    }
}
