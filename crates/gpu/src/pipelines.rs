//! Compiled kernels, each compiled when it is first needed.

use std::borrow::Cow;
use std::collections::HashMap;

use wgpu::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType, BufferBindingType,
    ComputePipeline, ComputePipelineDescriptor, PipelineCompilationOptions, PipelineLayout,
    PipelineLayoutDescriptor, ShaderModuleDescriptor, ShaderSource, ShaderStages,
};

/// The bytes of the parameters of a kernel at most.
pub(crate) const IMMEDIATES: u32 = 128;

/// What all kernels share.
const COMMON: &str = include_str!("wgsl/common.wgsl");

/// The invocations and the workgroup of an entry point.
const INVOCATION: &str = "@builtin(workgroup_id) group: vec3<u32>, \
     @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32";

/// A kernel: an entry point of a source in WGSL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuKernel {
    /// The name of the function.
    pub(crate) entry: &'static str,
    /// Returns the source of a variant, without what all kernels share.
    pub(crate) source: fn(usize) -> Cow<'static, str>,
    pub(crate) variant: usize,
}

impl GpuKernel {
    /// The entry point of a source with a single variant.
    pub(crate) const fn new(entry: &'static str, source: fn(usize) -> Cow<'static, str>) -> Self {
        Self { entry, source, variant: 0 }
    }

    fn text(self) -> String {
        let source = (self.source)(self.variant);
        format!("{COMMON}\n{source}").replace("INVOCATION", INVOCATION)
    }
}

/// Kernels of a file of this crate, by their names.
macro_rules! kernels {
    ($file:literal: $($name:ident = $entry:literal),* $(,)?) => {
        $(
            const $name: $crate::pipelines::GpuKernel =
                $crate::pipelines::GpuKernel::new($entry, |_| include_str!($file).into());
        )*
    };
}

pub(crate) use kernels;

/// How a kernel uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BufferAccess {
    /// It only reads it.
    Read,
    /// It writes it, and may read it.
    Write,
}

/// Kernels and the layouts of their bindings.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    compiled: HashMap<(&'static str, usize), ComputePipeline>,
    layouts: HashMap<Vec<BufferAccess>, (BindGroupLayout, PipelineLayout)>,
}

impl Pipelines {
    /// Returns the compiled kernel, and the layout of its bindings.
    pub(crate) fn get(
        &mut self,
        device: &wgpu::Device,
        kernel: GpuKernel,
        bindings: &[BufferAccess],
    ) -> (&ComputePipeline, &BindGroupLayout) {
        let (bindings, layout) =
            (self.layouts).entry(bindings.into()).or_insert_with(|| layouts(device, bindings));
        let compiled = (self.compiled)
            .entry((kernel.entry, kernel.variant))
            .or_insert_with(|| compiled(device, kernel, layout));
        (compiled, bindings)
    }
}

fn layouts(device: &wgpu::Device, bindings: &[BufferAccess]) -> (BindGroupLayout, PipelineLayout) {
    let entry = |(binding, &access): (u32, &BufferAccess)| BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::COMPUTE,
        ty: BindingType::Buffer {
            ty: BufferBindingType::Storage { read_only: access == BufferAccess::Read },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    };
    let entries: Vec<_> = (0..).zip(bindings).map(entry).collect();
    let bindings =
        device.create_bind_group_layout(&BindGroupLayoutDescriptor { label: None, entries: &entries });
    let layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&bindings)],
        immediate_size: IMMEDIATES,
    });
    (bindings, layout)
}

fn compiled(device: &wgpu::Device, kernel: GpuKernel, layout: &PipelineLayout) -> ComputePipeline {
    let module = device.create_shader_module(ShaderModuleDescriptor {
        label: Some(kernel.entry),
        source: ShaderSource::Wgsl(kernel.text().into()),
    });
    device.create_compute_pipeline(&ComputePipelineDescriptor {
        label: Some(kernel.entry),
        layout: Some(layout),
        module: &module,
        entry_point: Some(kernel.entry),
        compilation_options: PipelineCompilationOptions {
            zero_initialize_workgroup_memory: false,
            ..PipelineCompilationOptions::default()
        },
        cache: None,
    })
}
