//! What computes in place of the CPU.

/// Hardware that computes in place of the CPU, with its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The name, with everything on which the bits of results depend, such as the driver's version.
    pub name: String,
    /// Where its buffers are.
    pub memory: HardwareMemory,
    /// True for a driver that computes on the CPU.
    pub is_software: bool,
}

impl Hardware {
    /// A warning, if it computes on the CPU.
    pub fn warning(&self) -> Option<String> {
        self.is_software
            .then(|| format!("{} computes on the CPU, not on a GPU; the device `cpu` is faster", self.name))
    }
}

/// Where the buffers of a device are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardwareMemory {
    /// In the RAM of the machine.
    Shared,
    /// In memory of its own.
    Own,
}
