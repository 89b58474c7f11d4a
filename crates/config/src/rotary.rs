//! `[model.rotary_scaling]`: rotary positions of longer texts.

use attentive_architecture::RotaryScaling;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[model.rotary_scaling]`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RotaryScalingConfig {
    /// The change of the frequencies.
    pub kind: RotaryScalingKind,
    /// The number by which frequencies are divided: all of them with `linear`, the low ones with `llama3`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub factor: f64,
    /// With `llama3`, waves that fit into `original_len` at most this many times are long, and their
    /// frequencies are divided.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub low_frequency_factor: f64,
    /// With `llama3`, waves that fit into `original_len` at least this many times are short, and their
    /// frequencies stay. It must be above `low_frequency_factor`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub high_frequency_factor: f64,
    /// With `llama3`, the length of the texts of the original training, in tokens.
    #[schemars(range(min = 1))]
    pub original_len: usize,
}

/// A change of the frequencies of rotary positions; see [`RotaryScaling`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RotaryScalingKind {
    /// The frequencies stay as they are.
    None,
    /// All frequencies are divided by `factor`.
    Linear,
    /// Low frequencies are divided by `factor`, high ones stay, and those between are interpolated, as in
    /// Llama 3.
    Llama3,
}

impl Default for RotaryScalingConfig {
    fn default() -> Self {
        Self {
            kind: RotaryScalingKind::None,
            factor: 1.0,
            low_frequency_factor: 1.0,
            high_frequency_factor: 4.0,
            original_len: 8192,
        }
    }
}

impl RotaryScalingConfig {
    /// The change, if there is one.
    pub fn scaling(self) -> Option<RotaryScaling> {
        match self.kind {
            RotaryScalingKind::None => None,
            RotaryScalingKind::Linear => Some(RotaryScaling::Linear { factor: self.factor }),
            RotaryScalingKind::Llama3 => Some(RotaryScaling::Llama3 {
                factor: self.factor,
                low_frequency_factor: self.low_frequency_factor,
                high_frequency_factor: self.high_frequency_factor,
                original_len: self.original_len,
            }),
        }
    }
}
