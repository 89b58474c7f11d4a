//! Device selection. No other file names a backend.

pub use burn::tensor::Device;

/// Returns the CPU, used through Burn's Flex backend and this crate's kernels.
pub fn cpu() -> Device {
    Device::flex()
}
