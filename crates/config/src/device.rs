//! The device that computes: the CPU or a GPU.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The device of training, which computes updates and validations, or that of decoding, which translates and
/// generates.
///
/// It is written `cpu`, `gpu`, or `gpu:N` with the number of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TrainDevice {
    /// The CPU.
    #[default]
    Cpu,
    /// A GPU.
    Gpu(GpuChoice),
}

/// One of the GPUs of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuChoice {
    /// The best one; for several processes on a machine, one for each.
    Best,
    /// The one of this number, counted from 0.
    Number(usize),
}

impl TrainDevice {
    /// What can be written, as a regular expression.
    pub(crate) const PATTERN: &str = "^(cpu|gpu|gpu:[0-9]{1,4})$";

    /// What can be written, in words.
    pub(crate) const EXPECTED: &str = "`cpu`, `gpu`, or `gpu:N` with the number of a GPU";

    /// True for a GPU.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Gpu(_))
    }
}

impl FromStr for TrainDevice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let is_short = (1..=4).contains(&text.len());
            let is_number = is_short && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().ok()).flatten()
        };
        match text.split_once(':') {
            None if text == "cpu" => Some(Self::Cpu),
            None if text == "gpu" => Some(Self::Gpu(GpuChoice::Best)),
            Some(("gpu", text)) => number(text).map(|n| Self::Gpu(GpuChoice::Number(n))),
            _ => None,
        }
        .ok_or_else(|| format!("expected {}, found `{text}`", Self::EXPECTED))
    }
}

impl TryFrom<String> for TrainDevice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TrainDevice> for String {
    fn from(device: TrainDevice) -> Self {
        device.to_string()
    }
}

impl fmt::Display for TrainDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Gpu(GpuChoice::Best) => f.write_str("gpu"),
            Self::Gpu(GpuChoice::Number(number)) => write!(f, "gpu:{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_written_as_they_are_read() {
        for text in ["cpu", "gpu", "gpu:0", "gpu:12"] {
            assert_eq!(text.parse().map(|device: TrainDevice| device.to_string()), Ok(text.into()));
        }
        for text in ["", "CPU", "cuda", "cuda:0", "gpu:", "gpu:-1", "gpu:+1", "gpu:12345", "cpu:0"] {
            assert!(text.parse::<TrainDevice>().is_err(), "{text}");
        }
    }
}
