//! The GPUs of a machine.

use std::fmt;

use wgpu::{Backends, DeviceType, Instance, InstanceDescriptor};

use crate::gpu::lacking;

const VULKAN: &str = "Vulkan";

/// A GPU that this machine offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Its number: hardware comes first, software last.
    pub number: usize,
    pub name: String,
    /// What it is.
    pub kind: AdapterKind,
    /// The interface by which it is reached: Vulkan, Metal or DirectX 12.
    pub backend: String,
    /// Its driver, with the version.
    pub driver: String,
    /// The size of the largest buffer that a computation can read or write, in bytes.
    pub largest_buffer: u64,
    /// The memory that the invocations of a workgroup share, in bytes.
    pub workgroup_memory: u32,
    /// The numbers of its manufacturer and of its model.
    ids: [u32; 2],
    /// Where it is on the PCI bus, as far as the driver says.
    bus_id: String,
    is_usable: bool,
}

impl Adapter {
    /// Whether this and `other` are one GPU, which two interfaces or two drivers of Vulkan reach.
    fn is(&self, other: &Self) -> bool {
        if self.backend == other.backend {
            self.backend == VULKAN && !self.bus_id.is_empty() && self.bus_id == other.bus_id
        } else {
            self.ids == other.ids
        }
    }

    /// Its name, how it is reached, and its driver, as far as they are known: Metal names no driver.
    pub fn described(&self) -> String {
        match self.driver.as_str() {
            "" => format!("{}, {}", self.name, self.backend),
            driver => format!("{}, {} {driver}", self.name, self.backend),
        }
    }
}

/// What an adapter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdapterKind {
    /// A GPU with memory of its own.
    Discrete,
    /// A GPU that shares the RAM of the CPU.
    Integrated,
    /// A GPU, or a part of one, in a virtual machine.
    Virtual,
    /// Something else.
    Other,
    /// The CPU, by a driver that computes in software.
    Software,
}

impl fmt::Display for AdapterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Other => "other",
            Self::Software => "software",
        })
    }
}

impl From<DeviceType> for AdapterKind {
    fn from(kind: DeviceType) -> Self {
        match kind {
            DeviceType::DiscreteGpu => Self::Discrete,
            DeviceType::IntegratedGpu => Self::Integrated,
            DeviceType::VirtualGpu => Self::Virtual,
            DeviceType::Other => Self::Other,
            DeviceType::Cpu => Self::Software,
        }
    }
}

/// Returns all GPUs in the order of their numbers. Drivers in software are left out if there is hardware.
pub fn adapters() -> Vec<Adapter> {
    found().into_iter().map(|(adapter, _)| adapter).collect()
}

/// The same GPUs, each with its adapter of `wgpu`.
pub(crate) fn found() -> Vec<(Adapter, wgpu::Adapter)> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle());
    let backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
    let adapters = pollster::block_on(instance.enumerate_adapters(backends));
    let found = adapters.into_iter().map(|raw| (described(&raw), raw));
    let mut found = offered(found.collect());
    for (number, (adapter, _)) in found.iter_mut().enumerate() {
        adapter.number = number;
    }
    found
}

/// The adapters to offer, those that can be used first: each GPU once, and software only if there is no
/// hardware.
fn offered<T>(mut found: Vec<(Adapter, T)>) -> Vec<(Adapter, T)> {
    found.sort_by_key(|(adapter, _)| (!adapter.is_usable, adapter.kind));
    let mut kept: Vec<(Adapter, T)> = Vec::new();
    for (adapter, of) in found {
        let is_hidden = |one: &Adapter| {
            let is_software = adapter.kind == AdapterKind::Software;
            adapter.is(one) || is_software && one.is_usable && one.kind != AdapterKind::Software
        };
        if !kept.iter().any(|(one, _)| is_hidden(one)) {
            kept.push((adapter, of));
        }
    }
    kept
}

fn described(raw: &wgpu::Adapter) -> Adapter {
    let (info, limits) = (raw.get_info(), raw.limits());
    let driver = [info.driver, info.driver_info].map(|part| part.trim().to_owned());
    let driver: Vec<String> = driver.into_iter().filter(|part| !part.is_empty()).collect();
    Adapter {
        number: 0,
        name: info.name,
        kind: info.device_type.into(),
        backend: match info.backend {
            wgpu::Backend::Vulkan => VULKAN.into(),
            wgpu::Backend::Metal => "Metal".into(),
            wgpu::Backend::Dx12 => "DirectX 12".into(),
            other => other.to_str().to_owned(),
        },
        driver: driver.join(" "),
        largest_buffer: limits.max_buffer_size.min(limits.max_storage_buffer_binding_size),
        workgroup_memory: limits.max_compute_workgroup_storage_size,
        ids: [info.vendor, info.device],
        bus_id: info.device_pci_bus_id,
        is_usable: lacking(raw, &limits).is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_and_second_interfaces_are_left_out() {
        let adapter = |kind, backend: &str, ids| Adapter {
            number: 0,
            name: "one".into(),
            kind,
            backend: backend.into(),
            driver: String::new(),
            largest_buffer: 0,
            workgroup_memory: 0,
            ids,
            bus_id: String::new(),
            is_usable: true,
        };
        use AdapterKind::{Discrete, Integrated, Software};
        let offered = |all: &[Adapter]| -> Vec<usize> {
            let all = all.iter().cloned().zip(0..).collect();
            offered(all).into_iter().map(|(_, index)| index).collect()
        };
        let mut all = vec![
            adapter(Software, "Vulkan", [0x10005, 0]),
            adapter(Integrated, "Vulkan", [1, 2]),
            // Two of one model.
            adapter(Discrete, "Vulkan", [3, 4]),
            adapter(Discrete, "Vulkan", [3, 4]),
            adapter(Integrated, "DirectX 12", [1, 2]),
            adapter(Discrete, "DirectX 12", [3, 4]),
            adapter(Discrete, "DirectX 12", [3, 4]),
            // Vulkan does not reach it.
            adapter(Integrated, "DirectX 12", [5, 6]),
            adapter(Software, "DirectX 12", [7, 8]),
        ];
        assert_eq!(offered(&all), [2, 3, 1, 7]);
        // Two drivers of one, and hardware that lacks something.
        for (number, one) in all.iter_mut().enumerate() {
            one.bus_id = format!("0000:{}:00.0", number.min(2));
            one.is_usable = number != 1;
        }
        assert_eq!(offered(&all), [2, 4, 7]);
        let lacking =
            [&all[0], &all[1]].map(|one| Adapter { is_usable: one.kind == Software, ..one.clone() });
        assert_eq!(offered(&lacking), [0, 1]);
        all.retain(|one| one.kind == Software);
        assert_eq!(offered(&all), [0, 1]);
        assert_eq!(offered(&[]), [0; 0]);
        assert_eq!(all[0].described(), "one, Vulkan");
    }
}
