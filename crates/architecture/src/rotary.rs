//! Frequencies of rotary positions.

use std::f64::consts::TAU;

/// A change of the frequencies of rotary positions, for texts longer than those that the model was first
/// trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RotaryScaling {
    /// All frequencies are divided by `factor` (position interpolation, Chen et al. 2023).
    Linear {
        /// The divisor.
        factor: f64,
    },
    /// Frequencies of long waves are divided by `factor`, and frequencies of short waves are kept, with a
    /// transition between them (Llama 3.1, Grattafiori et al. 2024).
    Llama3 {
        /// The divisor of the lowest frequencies.
        factor: f64,
        /// A wave is long if it fits into the original length at most this many times.
        low_frequency_factor: f64,
        /// A wave is short if it fits into the original length at least this many times.
        high_frequency_factor: f64,
        /// The length of the texts that the model was first trained on, in tokens.
        original_len: usize,
    },
}

impl RotaryScaling {
    /// Returns the scaled value of `frequency`, in radians per position.
    pub fn scaled(&self, frequency: f64) -> f64 {
        match *self {
            Self::Linear { factor } => frequency / factor,
            Self::Llama3 { factor, low_frequency_factor: low, high_frequency_factor: high, original_len } => {
                let waves = original_len as f64 * frequency / TAU;
                let kept = ((waves - low) / (high - low)).clamp(0.0, 1.0);
                frequency * (kept + (1.0 - kept) / factor)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_waves_are_kept_and_long_ones_are_stretched() {
        let scaling = RotaryScaling::Llama3 {
            factor: 8.0,
            low_frequency_factor: 1.0,
            high_frequency_factor: 4.0,
            original_len: 100,
        };
        let fitting = |waves: f64| waves * TAU / 100.0;
        assert_eq!(scaling.scaled(fitting(5.0)), fitting(5.0));
        assert_eq!(scaling.scaled(fitting(0.5)), fitting(0.5) / 8.0);
        let between = scaling.scaled(fitting(2.5)) / fitting(2.5);
        assert!((between - (0.5 + 0.5 / 8.0)).abs() < 1e-12);
    }
}
