//! Device selection. The only file that names backends.

pub use burn::tensor::Device;

/// The CPU, through Burn's Flex backend and this crate's kernels.
pub fn cpu() -> Device {
    Device::flex()
}
