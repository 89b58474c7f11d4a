//! The encoding of numbers that are sent to another process.

use attentive_kernels::gemm::bf16::{narrow, widen};
use attentive_tape::Float;

/// The bytes of a number.
pub(super) fn size(precision: Float) -> usize {
    match precision {
        Float::F32 => 4,
        Float::Bf16 => 2,
    }
}

/// Writes `numbers` into `bytes`, which has exactly enough room.
pub(super) fn write(precision: Float, numbers: &[f32], bytes: &mut [u8]) {
    match precision {
        Float::F32 => bytes.copy_from_slice(bytemuck::cast_slice(numbers)),
        Float::Bf16 => {
            let (halves, _) = bytes.as_chunks_mut();
            for (half, &number) in halves.iter_mut().zip(numbers) {
                *half = narrow(number).to_ne_bytes();
            }
        }
    }
}

/// Reads the numbers in `bytes`.
pub(super) fn read(precision: Float, bytes: &[u8]) -> Vec<f32> {
    match precision {
        Float::F32 => bytemuck::pod_collect_to_vec(bytes),
        Float::Bf16 => {
            let (halves, _) = bytes.as_chunks();
            halves.iter().map(|&half| widen(u16::from_ne_bytes(half))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(format: Float, numbers: &[f32]) -> Vec<f32> {
        let mut bytes = vec![0; numbers.len() * size(format)];
        write(format, numbers, &mut bytes);
        read(format, &bytes)
    }

    #[test]
    fn f32_is_sent_as_it_is() {
        let numbers = [1.0, -2.5, f32::MIN_POSITIVE, -0.0];
        let received = sent(Float::F32, &numbers);
        assert_eq!(received.map_bits(), numbers.to_vec().map_bits());
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
        let (numbers, expected): (Vec<f32>, Vec<f32>) = cases.into_iter().unzip();
        let received = sent(Float::Bf16, &numbers);
        assert_eq!(received.map_bits(), expected.map_bits());
        assert!(sent(Float::Bf16, &[bits(0x7FFF_FFFF)])[0].is_nan());
    }

    trait MapBits {
        fn map_bits(&self) -> Vec<u32>;
    }

    impl MapBits for Vec<f32> {
        fn map_bits(&self) -> Vec<u32> {
            self.iter().map(|number| number.to_bits()).collect()
        }
    }
}
