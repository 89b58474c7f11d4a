//! The number types in which weights are stored for training and conversion.

use std::borrow::Cow;
use std::fmt;

use half::{bf16, f16};
use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize};

/// The number type of a tensor in a file. All of them are exact in `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum StoredNumbers {
    /// Single precision.
    #[default]
    F32,
    /// IEEE half precision.
    F16,
    /// bfloat16: the upper half of an `f32`.
    Bf16,
}

impl fmt::Display for StoredNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        })
    }
}

impl StoredNumbers {
    /// All types.
    pub const ALL: [Self; 3] = [Self::F32, Self::F16, Self::Bf16];

    /// The type that safetensors files call `dtype`, if it is one of these.
    pub fn of(dtype: Dtype) -> Option<Self> {
        Self::ALL.into_iter().find(|numbers| numbers.dtype() == dtype)
    }

    /// The name of the type in safetensors files.
    pub fn dtype(self) -> Dtype {
        match self {
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::Bf16 => Dtype::BF16,
        }
    }

    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Returns the numbers in `bytes`, of which the first byte is the lowest. Those in `f32` are copied only
    /// if they lie at an unaligned offset, or on a computer whose numbers begin with the highest byte.
    pub fn widened(self, bytes: &[u8]) -> Cow<'_, [f32]> {
        let of_halves = |number: fn([u8; 2]) -> f32| {
            let (halves, _) = bytes.as_chunks();
            Cow::Owned(halves.iter().map(|&half| number(half)).collect())
        };
        match self {
            Self::F16 => of_halves(|half| f16::from_le_bytes(half).to_f32()),
            Self::Bf16 => of_halves(|half| bf16::from_le_bytes(half).to_f32()),
            Self::F32 => match bytemuck::try_cast_slice(bytes) {
                Ok(values) if cfg!(target_endian = "little") => Cow::Borrowed(values),
                _ => {
                    let (numbers, _) = bytes.as_chunks();
                    Cow::Owned(numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
                }
            },
        }
    }

    /// Returns the bytes of `values`, rounded to the nearest numbers of this type, ties to even.
    pub fn narrowed(self, values: &[f32]) -> Cow<'_, [u8]> {
        match self {
            Self::F32 if cfg!(target_endian = "little") => Cow::Borrowed(bytemuck::cast_slice(values)),
            Self::F32 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::F16 => values.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect(),
            Self::Bf16 => values.iter().flat_map(|&value| bf16::from_f32(value).to_le_bytes()).collect(),
        }
    }

    /// True if a finite number of `values` becomes infinite when it is [narrowed](Self::narrowed).
    pub fn overflows(self, values: &[f32]) -> bool {
        let is_lost = |value: f32| match self {
            Self::F32 => false,
            Self::F16 => f16::from_f32(value).is_infinite(),
            Self::Bf16 => bf16::from_f32(value).is_infinite(),
        };
        values.iter().any(|&value| value.is_finite() && is_lost(value))
    }

    /// True if no bit of `values` is lost when they are [narrowed](Self::narrowed).
    pub fn holds(self, values: &[f32]) -> bool {
        let is_kept = |value: f32| match self {
            Self::F32 => true,
            Self::F16 => f16::from_f32(value).to_f32().to_bits() == value.to_bits(),
            Self::Bf16 => value.to_bits().trailing_zeros() >= u16::BITS,
        };
        values.iter().all(|&value| is_kept(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_exact_in_single_precision() {
        for numbers in StoredNumbers::ALL {
            assert_eq!(StoredNumbers::of(numbers.dtype()), Some(numbers));
            let all: Vec<u8> = (0..=u16::MAX).flat_map(|bits| bits.to_le_bytes()).collect();
            let widened = numbers.widened(&all);
            assert_eq!(widened.len() * numbers.bytes(), all.len());
            let finite: Vec<f32> = widened.iter().copied().filter(|value| !value.is_nan()).collect();
            assert!(numbers.holds(&finite), "{numbers}");
            assert_eq!(numbers.widened(&numbers.narrowed(&finite)), finite, "{numbers}");
        }
        assert_eq!(StoredNumbers::of(Dtype::F64), None);
    }

    #[test]
    fn what_does_not_fit_is_rounded_to_the_nearest() {
        let third = 1.0 / 3.0;
        for (numbers, error) in [(StoredNumbers::F16, 2e-4), (StoredNumbers::Bf16, 2e-3)] {
            assert!(!numbers.holds(&[0.5, third]), "{numbers}");
            let rounded = numbers.widened(&numbers.narrowed(&[third]))[0];
            assert!((rounded - third).abs() < error, "{numbers}");
        }
        assert!(StoredNumbers::F16.overflows(&[1.0, -1e6]) && !StoredNumbers::F16.overflows(&[65504.0]));
        assert!(StoredNumbers::Bf16.overflows(&[f32::MAX]) && !StoredNumbers::F32.overflows(&[f32::MAX]));
        assert!(!StoredNumbers::F16.holds(&[1e6]) && StoredNumbers::Bf16.holds(&[1048576.0]));
    }
}
