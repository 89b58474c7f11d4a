//! All kernels of an open GPU.

use std::sync::Arc;

use cudarc::driver::{CudaModule, DriverError};

use crate::{attention, product};

/// The loaded kernels.
pub(crate) struct Kernels {
    pub(crate) attention: attention::Kernels,
    pub(crate) product: product::Kernels,
}

impl Kernels {
    pub(crate) fn of(module: &Arc<CudaModule>) -> Result<Self, DriverError> {
        Ok(Self {
            attention: attention::Kernels::of(module)?,
            product: product::Kernels::of(module)?,
        })
    }
}
