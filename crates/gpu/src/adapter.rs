//! The GPUs of a machine.

use std::fmt;

use wgpu::{Backends, DeviceType, Features, Instance, InstanceDescriptor};

/// A GPU that this machine offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Its number: hardware comes first, software last.
    pub number: usize,
    /// Its name.
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
    /// Whether it computes with 16-bit floating-point numbers.
    pub has_f16: bool,
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

/// Returns all GPUs in the order of their numbers.
pub fn adapters() -> Vec<Adapter> {
    found().into_iter().map(|(adapter, _)| adapter).collect()
}

/// All GPUs, each with that of `wgpu`.
pub(crate) fn found() -> Vec<(Adapter, wgpu::Adapter)> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle());
    let backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
    let adapters = pollster::block_on(instance.enumerate_adapters(backends));
    let mut found: Vec<_> = adapters
        .into_iter()
        .map(|raw| (described(&raw), raw))
        .collect();
    found.sort_by_key(|(adapter, _)| adapter.kind);
    for (number, (adapter, _)) in found.iter_mut().enumerate() {
        adapter.number = number;
    }
    found
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
            wgpu::Backend::Vulkan => "Vulkan".into(),
            wgpu::Backend::Metal => "Metal".into(),
            wgpu::Backend::Dx12 => "DirectX 12".into(),
            other => other.to_str().to_owned(),
        },
        driver: driver.join(" "),
        largest_buffer: limits
            .max_buffer_size
            .min(limits.max_storage_buffer_binding_size),
        workgroup_memory: limits.max_compute_workgroup_storage_size,
        has_f16: raw.features().contains(Features::SHADER_F16),
    }
}
