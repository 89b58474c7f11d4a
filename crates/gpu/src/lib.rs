//! A [device](attentive_device::Device) on a GPU, by Vulkan, Metal or DirectX 12.
#![cfg(feature = "wgpu")]

mod adapter;

pub use adapter::{Adapter, AdapterKind, adapters};
