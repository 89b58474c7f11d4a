//! GPUs that are open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};

use attentive_device::{Buffer, Failure};
use attentive_kernels::gemm::Float;
use wgpu::{BindingResource, BufferUsages, DeviceDescriptor, Features, Limits, PollType};

use crate::adapter::{Adapter, found};
use crate::bf16;
use crate::error::Error;
use crate::memory::{GpuBufferPool, OUT_OF_MEMORY, PooledBuffer, numbers_of};
use crate::pipelines::IMMEDIATES;
use crate::queue::{Binding, CommandRecorder, Recording};

/// A GPU that is open.
#[derive(Debug)]
pub struct Gpu {
    adapter: Adapter,
    device: wgpu::Device,
    queue: wgpu::Queue,
    pool: Arc<GpuBufferPool>,
    /// Memory that the host can read.
    readable: Arc<GpuBufferPool>,
    recorder: Mutex<CommandRecorder>,
    failure: Arc<OnceLock<Failure>>,
    /// What stands in for an operand that there is not.
    nothing: PooledBuffer,
}

/// Opens the GPU of this number, or the first one, which is the best. A process opens each only once.
///
/// # Errors
/// See [`Error`].
pub fn open(number: Option<usize>) -> Result<&'static Gpu, Error> {
    static OPEN: Mutex<Option<HashMap<usize, &'static Gpu>>> = Mutex::new(None);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_default();
    let number = number.unwrap_or(0);
    if let Some(gpu) = open.get(&number) {
        return Ok(gpu);
    }
    let gpu: &'static Gpu = Box::leak(Box::new(Gpu::opened(number)?));
    open.insert(number, gpu);
    Ok(gpu)
}

impl Gpu {
    fn opened(number: usize) -> Result<Self, Error> {
        let mut found = found();
        let last = found.len().checked_sub(1).ok_or(Error::NoAdapter)?;
        if number > last {
            return Err(Error::NoSuchAdapter { number, last });
        }
        let (adapter, raw) = found.swap_remove(number);
        let unusable = |reason: String| Error::Unusable { name: adapter.name.clone(), reason };
        let limits = raw.limits();
        if let Some(lacking) = lacking(&raw, &limits) {
            return Err(unusable(lacking));
        }
        let largest = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let (device, queue) = pollster::block_on(raw.request_device(&DeviceDescriptor {
            required_features: Features::IMMEDIATES,
            required_limits: limits,
            ..DeviceDescriptor::default()
        }))
        .map_err(|error| unusable(error.to_string()))?;
        let failure = Arc::new(OnceLock::new());
        watch(&device, &adapter.name, &failure);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let pool = Arc::new(GpuBufferPool::new(device.clone(), usage, largest));
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let readable = Arc::new(GpuBufferPool::new(device.clone(), usage, largest));
        Ok(Self {
            nothing: pool.take(0, || ()),
            adapter,
            device,
            queue,
            pool,
            readable,
            recorder: Mutex::default(),
            failure,
        })
    }

    /// Returns what it is.
    pub fn adapter(&self) -> &Adapter {
        &self.adapter
    }

    /// Returns why it can compute no more.
    pub fn failure(&self) -> Option<Failure> {
        // Lets the driver report what it knows, without waiting.
        _ = self.device.poll(PollType::Poll);
        self.failure.get().cloned()
    }

    pub(crate) fn device(&self) -> &wgpu::Device {
        &self.device
    }

    pub(crate) fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// Returns memory for `bytes` bytes.
    pub(crate) fn memory(&self, bytes: u64) -> PooledBuffer {
        self.pool.take(bytes, || self.submit())
    }

    /// The same within an operation that is being recorded.
    pub(crate) fn memory_or(&self, bytes: u64, submit: impl FnOnce()) -> PooledBuffer {
        self.pool.take(bytes, submit)
    }

    /// Submits what is recorded, unless another thread records an operation.
    fn submit(&self) {
        let state = match self.recorder.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        Recording::new(self, state).submit();
    }

    /// Begins to record an operation. Only one thread records at a time.
    pub(crate) fn record(&self) -> Recording<'_> {
        let state = self.recorder.lock();
        Recording::new(self, state.unwrap_or_else(PoisonError::into_inner))
    }

    /// What a kernel is bound to.
    pub(crate) fn resource<'a>(&'a self, binding: Binding<'a>) -> BindingResource<'a> {
        match binding {
            Binding::Read(buffer) | Binding::Write(buffer) => {
                assert_eq!(numbers_of(buffer), Float::F32, "only weights are bf16");
                self.raw(buffer).as_entire_binding()
            }
            Binding::ReadIf(Some(buffer)) => self.resource(Binding::Read(buffer)),
            Binding::ReadIf(None) => self.nothing.buffer().as_entire_binding(),
            Binding::Weights(buffer) => self.raw(buffer).as_entire_binding(),
            Binding::Host(uploaded) => uploaded.resource(),
        }
    }

    fn raw<'a>(&'a self, buffer: &'a Buffer) -> &'a wgpu::Buffer {
        (buffer.memory::<PooledBuffer>()).map_or(self.nothing.buffer(), PooledBuffer::buffer)
    }

    /// Writes `values`, words of 32 bits, to the beginning of `buffer`.
    pub(crate) fn write<T: bytemuck::NoUninit>(&self, buffer: &Buffer, values: &[T]) {
        if !values.is_empty() {
            // What is recorded comes first: it may use this memory for something that was dropped.
            let mut recording = self.record();
            recording.submit();
            self.queue.write_buffer(self.raw(buffer), 0, bytemuck::cast_slice(values));
        }
    }

    /// Waits for all that is recorded and returns the words in `buffers`, one after another.
    pub(crate) fn read(&self, buffers: &[&Buffer]) -> Vec<Vec<u32>> {
        let readable: Vec<(PooledBuffer, u64)> = {
            let mut recording = self.record();
            let copied = |buffer: &&Buffer| {
                let words = match numbers_of(buffer) {
                    Float::F32 => buffer.len(),
                    Float::Bf16 => bf16::words(buffer.len()),
                };
                let bytes = 4 * words as u64;
                let memory = self.readable.take(bytes, || ());
                if bytes > 0 {
                    recording.copy(self.raw(buffer), memory.buffer(), bytes);
                }
                (memory, bytes)
            };
            let readable = buffers.iter().map(copied).collect();
            recording.submit();
            readable
        };
        for (memory, _) in &readable {
            // What goes wrong is seen below: `get_mapped_range` has no range then.
            memory.buffer().map_async(wgpu::MapMode::Read, .., |_| ());
        }
        let waited = self.device.poll(PollType::wait_indefinitely());
        self.check();
        let words = |(memory, bytes): &(PooledBuffer, u64)| {
            if *bytes == 0 {
                memory.buffer().unmap();
                return Vec::new();
            }
            let range = memory.buffer().slice(..*bytes).get_mapped_range();
            let words = range.map(|range| bytemuck::pod_collect_to_vec(&range));
            memory.buffer().unmap();
            words.unwrap_or_else(|_| self.unreadable(&waited))
        };
        readable.iter().map(words).collect()
    }

    /// Waits until this submission, or the last one, is computed.
    pub(crate) fn wait_for(&self, submission: Option<wgpu::SubmissionIndex>) {
        // An error is reported by `watch`.
        _ = self.device.poll(PollType::Wait { submission_index: submission, timeout: None });
    }

    /// Ends the work if the GPU can compute no more.
    pub(crate) fn check(&self) {
        if let Some(failure) = self.failure.get() {
            failure.clone().raise();
        }
    }

    fn unreadable(&self, waited: &impl std::fmt::Debug) -> ! {
        let message = format!("its results cannot be read: {waited:?}");
        let failure = || lost(&self.adapter.name, &message);
        self.failure.get_or_init(failure).clone().raise()
    }
}

/// What the adapter lacks.
pub(crate) fn lacking(adapter: &wgpu::Adapter, limits: &Limits) -> Option<String> {
    if !adapter.features().contains(Features::IMMEDIATES) || limits.max_immediate_size < IMMEDIATES {
        return Some(format!("it has no {IMMEDIATES} bytes of immediate data"));
    }
    let (threads, memory) =
        (limits.max_compute_invocations_per_workgroup, limits.max_compute_workgroup_storage_size);
    let bindings = limits.max_storage_buffers_per_shader_stage;
    (threads < 256 || memory < 32 << 10 || bindings < 10).then(|| {
        format!(
            "it has {threads} invocations and {memory} bytes of memory a workgroup and {bindings} buffers a \
             kernel, where 256, 32768 and 10 are needed"
        )
    })
}

/// Remembers the first error: they are reported when it suits the driver.
fn watch(device: &wgpu::Device, name: &str, failure: &Arc<OnceLock<Failure>>) {
    let (of_errors, of_loss) = (Arc::clone(failure), Arc::clone(failure));
    let names = [name.to_owned(), name.to_owned()];
    let [of_error, lost_name] = names;
    device.on_uncaptured_error(Arc::new(move |error| {
        _ = of_errors.set(reported(&of_error, error));
    }));
    device.set_device_lost_callback(move |_, message| {
        _ = of_loss.set(lost(&lost_name, &message));
    });
}

fn reported(name: &str, error: wgpu::Error) -> Failure {
    match error {
        wgpu::Error::OutOfMemory { source } => Failure {
            problem: format!("the GPU {name} has no memory left: {source}"),
            hint: OUT_OF_MEMORY.into(),
        },
        wgpu::Error::Validation { description, .. } => Failure {
            problem: format!("the GPU {name} was used wrongly: {description}"),
            hint: "this is a mistake in Attentive; please report it, and compute on the CPU".into(),
        },
        wgpu::Error::Internal { description, .. } => lost(name, &description),
    }
}

fn lost(name: &str, message: &str) -> Failure {
    Failure {
        problem: format!("the GPU {name} was lost: {message}"),
        hint: "start again: training continues from its last checkpoint; if it happens again, install a \
               newer driver or use another device"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use attentive_device::{Device, on};

    use super::*;

    #[test]
    fn a_lost_gpu_says_so_and_ends_what_is_computed_on_it() {
        // Not by `open`, which others share.
        let Ok(gpu) = Gpu::opened(0) else {
            let required = std::env::var("ATTENTIVE_GPU_TESTS").is_ok_and(|it| it == "required");
            assert!(!required, "there is no GPU");
            eprintln!("skipped: there is no GPU");
            return;
        };
        let gpu: &'static Gpu = Box::leak(Box::new(gpu));
        let compute = || {
            let sum = || {
                let mut x = Buffer::from(vec![1.0, 2.0]);
                x.edit(|x| x[0] += x[1]);
                x.into_vec()
            };
            Failure::caught(|| on(gpu, sum))
        };
        assert_eq!((compute(), Device::failure(gpu)), (Ok(vec![3.0, 2.0]), None));
        gpu.device.destroy();
        let failure = Device::failure(gpu).expect("a failure");
        assert!(failure.problem.contains("was lost"), "{failure:?}");
        assert_eq!(compute(), Err(failure));
    }
}
