//! Why a GPU cannot be used by CUDA.

use cudarc::driver::DriverError;

use crate::device::Capability;

/// The reason why a GPU cannot be used by CUDA.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The driver's library is not there.
    #[error("NVIDIA's driver was not found on this machine")]
    NoDriver,
    /// The driver is older than the kernels.
    #[error(
        "NVIDIA's driver supports CUDA {}.{} only; CUDA {}.{} is needed",
        found / 1000, found % 1000 / 10, needed / 1000, needed % 1000 / 10
    )]
    OldDriver {
        /// The version of CUDA that it supports: 1000 times the major version and 10 times the minor one.
        found: i32,
        /// The version that is needed.
        needed: i32,
    },
    /// The driver knows no GPU.
    #[error("NVIDIA's driver finds no GPU")]
    NoDevice,
    /// The machine has fewer than that.
    #[error("there is no CUDA device with the number {number}; {}", numbers(*last))]
    NoSuchDevice {
        /// The number that was asked for.
        number: usize,
        /// The largest number.
        last: usize,
    },
    /// The GPU has no tensor cores for bf16.
    #[error("the GPU {name} has compute capability {capability}; 8.0 is needed")]
    OldDevice {
        /// The GPU.
        name: String,
        /// Its compute capability.
        capability: Capability,
    },
    /// There is not as much memory free.
    #[error("the GPU has no memory for {bytes} bytes more")]
    OutOfMemory {
        /// How much was asked for.
        bytes: usize,
    },
    /// A call of the driver or of cuBLASLt failed.
    #[error("the GPU could not {action}: {reason}")]
    Failed {
        /// What was called for, such as "start a kernel".
        action: &'static str,
        /// The name of the library's error.
        reason: String,
    },
}

/// The numbers up to `last`, in words.
fn numbers(last: usize) -> String {
    match last {
        0 => "the only one has the number 0".to_owned(),
        last => format!("the numbers go from 0 to {last}"),
    }
}

impl Error {
    /// What to try.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoDriver => "install NVIDIA's driver, or compute on the CPU",
            Self::OldDriver { .. } => "install a newer driver of NVIDIA",
            Self::NoDevice => "`nvidia-smi` should list a GPU; CUDA_VISIBLE_DEVICES may hide it",
            Self::NoSuchDevice { .. } => "choose one of these",
            Self::OldDevice { .. } => "use a GPU of the generation Ampere or a later one",
            Self::OutOfMemory { .. } => {
                "`nvidia-smi` lists the programs that use the GPU's memory; compute with smaller matrices"
            }
            Self::Failed { .. } => {
                "a GPU that failed is often usable after its processes have ended; `nvidia-smi` shows its state"
            }
        }
    }

    /// For `map_err` after a call of the driver that should do `action`.
    pub(crate) fn failed(action: &'static str) -> impl Fn(DriverError) -> Self {
        move |error| Self::Failed {
            action,
            reason: format!("{:?}", error.0),
        }
    }
}
