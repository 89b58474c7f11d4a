//! A [device](attentive_device::Device) on a GPU, by Vulkan, Metal or DirectX 12, in single precision.
//!
//! Operations are recorded and submitted in batches; only what returns numbers waits. All of them run on one
//! queue, one after the other, so a buffer goes back to the pool as soon as it is dropped. Sums have a fixed
//! order: two runs on the same GPU with the same driver give the same bits, and the result for a row does not
//! depend on other rows.
#![cfg(feature = "wgpu")]

mod adapter;
mod bf16;
mod device;
mod error;
mod gpu;
mod memory;
mod ops;
mod pipelines;
mod queue;
mod word;

pub use adapter::{Adapter, AdapterKind, adapters};
pub use error::Error;
pub use gpu::{Gpu, open};
