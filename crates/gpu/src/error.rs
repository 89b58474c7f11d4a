//! Why a GPU cannot be used.

/// The reason why a GPU cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine has none.
    #[error("no GPU was found on this machine")]
    NoAdapter,
    /// The machine has fewer than that.
    #[error("there is no GPU with the number {number}; {}", numbers(*last))]
    NoSuchAdapter {
        /// The number that was asked for.
        number: usize,
        /// The largest number.
        last: usize,
    },
    /// Its driver refuses to open it, or it lacks something.
    #[error("the GPU {name} cannot be used: {reason}")]
    Unusable {
        /// The GPU.
        name: String,
        /// What it lacks, or what the driver says.
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
            Self::NoAdapter => "install a driver for Vulkan, Metal or DirectX 12, or compute on the CPU",
            Self::NoSuchAdapter { .. } => "`attentive devices` lists the GPUs with their numbers",
            Self::Unusable { .. } => "install a newer driver, or choose another device",
        }
    }
}
