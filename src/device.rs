//! Where tensors live. The only file that knows which backends there are.

pub use burn::tensor::Device;

/// The processor, through Burn's Flex backend and our kernels.
pub fn cpu() -> Device {
    Device::flex()
}
