//! What is recorded for the GPU, and when it is submitted.

use std::collections::VecDeque;
use std::sync::MutexGuard;

use attentive_device::Buffer;
use bytemuck::cast_slice;
use wgpu::{
    BindGroupDescriptor, BindGroupEntry, BindingResource, BufferBinding, CommandEncoder, ComputePass,
    SubmissionIndex,
};

use crate::gpu::Gpu;
use crate::memory::PooledBuffer;
use crate::pipelines::{BufferAccess, GpuKernel, Pipelines};

/// Kernels that are submitted together, unless they belong to one operation.
const TOGETHER: usize = 128;
/// Kernels of one operation that are submitted together.
const OF_ONE: usize = 256;
/// Submissions that may wait for the GPU. With more, an interrupt would take long, and what they refer to
/// would pile up.
const AHEAD: usize = 16;
/// Groups in one dimension: no GPU need run more.
const GROUPS: usize = 65_535;
/// Bytes of one piece of memory for uploads.
const UPLOADS: u64 = 1 << 20;
/// Uploads begin at a multiple of this many bytes.
const ALIGNMENT: u64 = 256;

/// Kernels that were recorded and not submitted yet, and all that recording needs.
#[derive(Debug, Default)]
pub(crate) struct CommandRecorder {
    encoding: Option<Encoding>,
    /// The number of recorded kernels.
    recorded: usize,
    /// The latest submissions.
    submitted: VecDeque<SubmissionIndex>,
    uploads: Vec<Piece>,
    pipelines: Pipelines,
}

/// The fields are dropped in this order.
#[derive(Debug)]
struct Encoding {
    pass: Option<ComputePass<'static>>,
    encoder: CommandEncoder,
}

/// Memory for several uploads.
#[derive(Debug)]
struct Piece {
    memory: PooledBuffer,
    /// What is to be there.
    words: Vec<u32>,
    /// The number of those that were submitted.
    submitted: usize,
}

/// Numbers of the host that the kernels of one operation read.
#[derive(Debug)]
pub(crate) struct Uploaded {
    buffer: wgpu::Buffer,
    offset: u64,
    size: u64,
}

/// A buffer and how a kernel uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Binding<'a> {
    /// It is only read.
    Read(&'a Buffer),
    /// It is only read; `None` for an operand that there is not, which is not read.
    ReadIf(Option<&'a Buffer>),
    /// It is only read, by a variant of the kernel for the type of its numbers.
    Weights(&'a Buffer),
    /// It is written.
    Write(&'a Buffer),
    /// Numbers of the host, which are only read.
    Host(&'a Uploaded),
}

/// Records one operation.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    gpu: &'a Gpu,
    state: MutexGuard<'a, CommandRecorder>,
}

impl<'a> Recording<'a> {
    pub(crate) fn new(gpu: &'a Gpu, state: MutexGuard<'a, CommandRecorder>) -> Self {
        let mut recording = Self { gpu, state };
        if recording.state.recorded >= TOGETHER {
            recording.submit();
        }
        // Once all is submitted, nothing that is recorded later reads the uploads of earlier operations.
        if recording.state.encoding.is_none() {
            let uploads = &mut recording.state.uploads;
            uploads.iter_mut().for_each(Piece::clear);
        }
        recording
    }

    /// Returns a buffer for numbers that only this operation needs.
    pub(crate) fn room(&mut self, len: usize) -> Buffer {
        let gpu = self.gpu;
        let memory = gpu.memory_or(4 * len as u64, || self.submit());
        Buffer::elsewhere(len, memory)
    }

    /// Uploads numbers that this operation reads.
    pub(crate) fn upload(&mut self, words: &[u32]) -> Uploaded {
        let size = (4 * words.len().max(1)) as u64;
        let has_room = |piece: &Piece| piece.filled() + size <= piece.memory.buffer().size();
        let index = self.state.uploads.iter().position(has_room);
        let index = index.unwrap_or_else(|| {
            let gpu = self.gpu;
            let memory = gpu.memory_or(size.max(UPLOADS), || self.submit());
            self.state.uploads.push(Piece { memory, words: Vec::new(), submitted: 0 });
            self.state.uploads.len() - 1
        });
        let piece = &mut self.state.uploads[index];
        let offset = piece.filled();
        piece.words.resize((offset / 4) as usize, 0);
        piece.words.extend_from_slice(words);
        piece.words.resize(((offset + size) / 4) as usize, 0);
        Uploaded { buffer: piece.memory.buffer().clone(), offset, size }
    }

    /// Runs a kernel with these buffers in the order of its bindings, these parameters, and this number of
    /// workgroups.
    pub(crate) fn run(
        &mut self,
        kernel: GpuKernel,
        bindings: &[Binding<'_>],
        parameters: &[u32],
        groups: [u32; 2],
    ) {
        if self.state.recorded >= OF_ONE {
            self.submit();
        }
        let gpu = self.gpu;
        let access: Vec<BufferAccess> = bindings.iter().map(|binding| binding.access()).collect();
        let state = &mut *self.state;
        let (pipeline, layout) = state.pipelines.get(gpu.device(), kernel, &access);
        let entries = (0..)
            .zip(bindings)
            .map(|(binding, &used)| BindGroupEntry { binding, resource: gpu.resource(used) });
        let entries: Vec<_> = entries.collect();
        let group =
            gpu.device().create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries });
        let encoding = state.encoding.get_or_insert_with(|| Encoding::new(gpu));
        let pass = encoding.pass();
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &group, &[]);
        if !parameters.is_empty() {
            pass.set_immediates(0, cast_slice(parameters));
        }
        pass.dispatch_workgroups(groups[0], groups[1], 1);
        state.recorded += 1;
    }

    /// Copies the first bytes of `from` to `to`.
    pub(crate) fn copy(&mut self, from: &wgpu::Buffer, to: &wgpu::Buffer, bytes: u64) {
        let gpu = self.gpu;
        let encoding = (self.state.encoding).get_or_insert_with(|| Encoding::new(gpu));
        encoding.pass = None;
        (encoding.encoder).copy_buffer_to_buffer(from, 0, to, 0, bytes);
        self.state.recorded += 1;
    }

    /// Submits what is recorded.
    pub(crate) fn submit(&mut self) {
        let queue = self.gpu.queue();
        let state = &mut *self.state;
        let Some(Encoding { pass, encoder }) = state.encoding.take() else {
            return;
        };
        drop(pass);
        for piece in &mut state.uploads {
            // Written before the kernels that are submitted now, and after all earlier ones.
            let new = &piece.words[piece.submitted..];
            if !new.is_empty() {
                let offset = (4 * piece.submitted) as u64;
                queue.write_buffer(piece.memory.buffer(), offset, cast_slice(new));
            }
            piece.submitted = piece.words.len();
        }
        state.submitted.push_back(queue.submit([encoder.finish()]));
        state.recorded = 0;
        if state.submitted.len() > AHEAD {
            self.gpu.wait_for(state.submitted.pop_front());
        }
        self.gpu.check();
    }
}

impl Encoding {
    fn new(gpu: &Gpu) -> Self {
        Self { pass: None, encoder: gpu.device().create_command_encoder(&Default::default()) }
    }

    /// The pass that is being recorded.
    fn pass(&mut self) -> &mut ComputePass<'static> {
        (self.pass)
            .get_or_insert_with(|| (self.encoder.begin_compute_pass(&Default::default())).forget_lifetime())
    }
}

impl Piece {
    /// The offset in bytes at which the next upload begins.
    fn filled(&self) -> u64 {
        ((4 * self.words.len()) as u64).next_multiple_of(ALIGNMENT)
    }

    fn clear(&mut self) {
        self.words.clear();
        self.submitted = 0;
    }
}

impl Uploaded {
    pub(crate) fn resource(&self) -> BindingResource<'_> {
        BindingResource::Buffer(BufferBinding {
            buffer: &self.buffer,
            offset: self.offset,
            size: wgpu::BufferSize::new(self.size),
        })
    }
}

impl Binding<'_> {
    fn access(&self) -> BufferAccess {
        match self {
            Self::Read(_) | Self::ReadIf(_) | Self::Weights(_) | Self::Host(_) => BufferAccess::Read,
            Self::Write(_) => BufferAccess::Write,
        }
    }
}

/// At least `groups` workgroups, in two dimensions; those beyond do nothing.
pub(crate) fn grid(groups: usize) -> [u32; 2] {
    let x = groups.clamp(1, GROUPS);
    [x as u32, groups.div_ceil(x).max(1) as u32]
}

/// The workgroups of a kernel with an invocation for each of `len` elements.
pub(crate) fn elements(len: usize) -> [u32; 2] {
    grid(len.div_ceil(256))
}
