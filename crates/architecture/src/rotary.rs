//! `[model.rotary_scaling]`: frequencies of rotary positions of longer texts.

use std::f64::consts::TAU;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of the frequencies of rotary positions, for texts longer than those that the model was first
/// trained on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RotaryScaling {
    /// The change of the frequencies.
    #[schemars(extend("x-needs" = "transformer rotary_positions"))]
    pub kind: RotaryScalingKind,
    /// The number by which frequencies are divided: all of them with `linear`, the low ones with `llama3`.
    #[schemars(extend("exclusiveMinimum" = 0, "x-needs" = "transformer rotary_positions"))]
    pub factor: f64,
    /// With `llama3`, waves that fit into `original_len` at most this many times are long, and their
    /// frequencies are divided.
    #[schemars(extend("exclusiveMinimum" = 0, "x-needs" = "llama3"))]
    pub low_frequency_factor: f64,
    /// With `llama3`, waves that fit into `original_len` at least this many times are short, and their
    /// frequencies stay. It must be above `low_frequency_factor`.
    #[schemars(extend("exclusiveMinimum" = 0, "x-needs" = "llama3"))]
    pub high_frequency_factor: f64,
    /// With `llama3`, the length of the texts of the original training, in tokens.
    #[schemars(range(min = 1), extend("x-needs" = "llama3"))]
    pub original_len: usize,
}

/// A change of the frequencies of rotary positions; see [`RotaryScaling`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RotaryScalingKind {
    /// The frequencies stay as they are.
    None,
    /// All frequencies are divided by `factor`.
    // Position interpolation (Chen et al. 2023).
    Linear,
    /// Low frequencies are divided by `factor`, high ones stay, and those between are interpolated, as in
    /// Llama 3.
    // Grattafiori et al. 2024.
    Llama3,
}

impl Default for RotaryScaling {
    fn default() -> Self {
        Self::UNSCALED
    }
}

impl RotaryScaling {
    /// Frequencies as they are.
    pub const UNSCALED: Self = Self {
        kind: RotaryScalingKind::None,
        factor: 1.0,
        low_frequency_factor: 1.0,
        high_frequency_factor: 4.0,
        original_len: 8192,
    };

    /// Returns the scaled value of `frequency`, in radians per position.
    pub fn scaled(&self, frequency: f64) -> f64 {
        let Self { factor, low_frequency_factor: low, high_frequency_factor: high, .. } = *self;
        match self.kind {
            RotaryScalingKind::None => frequency,
            RotaryScalingKind::Linear => frequency / factor,
            RotaryScalingKind::Llama3 => {
                let waves = self.original_len as f64 * frequency / TAU;
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
        let kind = RotaryScalingKind::Llama3;
        let scaling = RotaryScaling { kind, factor: 8.0, original_len: 100, ..RotaryScaling::default() };
        let fitting = |waves: f64| waves * TAU / 100.0;
        assert_eq!(scaling.scaled(fitting(5.0)), fitting(5.0));
        assert_eq!(scaling.scaled(fitting(0.5)), fitting(0.5) / 8.0);
        let between = scaling.scaled(fitting(2.5)) / fitting(2.5);
        assert!((between - (0.5 + 0.5 / 8.0)).abs() < 1e-12);
    }
}
