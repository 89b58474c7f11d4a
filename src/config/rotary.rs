//! `[model.rotary_scaling]`: rotary positions of longer texts.

use serde::{Deserialize, Serialize};

use crate::architecture::RotaryScaling;

/// `[model.rotary_scaling]`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RotaryScalingConfig {
    /// Kind of change.
    pub kind: RotaryScalingKind,
    /// Divides frequencies: all of them, or with `llama3` the lowest.
    pub factor: f64,
    /// Of `llama3`: waves that fit into `original_len` at most so many times are long.
    pub low_frequency_factor: f64,
    /// Of `llama3`: waves that fit into `original_len` at least so many times are short, and kept.
    pub high_frequency_factor: f64,
    /// Of `llama3`: the length of the first training, in tokens.
    pub original_len: usize,
}

/// A change of the frequencies of rotary positions; see [`RotaryScaling`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RotaryScalingKind {
    /// None.
    None,
    /// [`RotaryScaling::Linear`]
    Linear,
    /// [`RotaryScaling::Llama3`]
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
            RotaryScalingKind::Linear => Some(RotaryScaling::Linear {
                factor: self.factor,
            }),
            RotaryScalingKind::Llama3 => Some(RotaryScaling::Llama3 {
                factor: self.factor,
                low_frequency_factor: self.low_frequency_factor,
                high_frequency_factor: self.high_frequency_factor,
                original_len: self.original_len,
            }),
        }
    }
}
