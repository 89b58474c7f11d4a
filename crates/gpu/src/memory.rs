//! Memory of the GPU that is kept for reuse.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attentive_device::{Buffer, Failure};
use attentive_kernels::gemm::Float;
use wgpu::{BufferDescriptor, BufferUsages, ErrorFilter};

/// Free bytes that the pool keeps even if little is in use.
const KEPT: u64 = 256 << 20;

/// What to try if there is no memory left.
pub(crate) const OUT_OF_MEMORY: &str = "use smaller batches (`train.batch_tokens`, `decode.batch_size`) or a \
                                        smaller beam (`decode.beam_width`), or another device";

/// Free buffers of one GPU.
#[derive(Debug)]
pub(crate) struct GpuBufferPool {
    device: wgpu::Device,
    usage: BufferUsages,
    /// The size of the largest buffer, in bytes.
    largest: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By size.
    free: BTreeMap<u64, Vec<wgpu::Buffer>>,
    free_bytes: u64,
    used_bytes: u64,
}

/// A buffer that goes back to its pool. The queue runs in order, so what is recorded next may use it at once.
#[derive(Debug)]
pub(crate) struct PooledBuffer {
    buffer: wgpu::Buffer,
    pool: Arc<GpuBufferPool>,
    numbers: Float,
}

impl PooledBuffer {
    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// The same memory for numbers of this type.
    pub(crate) fn of(mut self, numbers: Float) -> Self {
        self.numbers = numbers;
        self
    }
}

/// The type in which a buffer's numbers are stored.
pub(crate) fn numbers_of(buffer: &Buffer) -> Float {
    let memory = buffer.memory::<PooledBuffer>();
    memory.map_or(Float::F32, |memory| memory.numbers)
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.pool.give(self.buffer.clone());
    }
}

impl GpuBufferPool {
    pub(crate) fn new(device: wgpu::Device, usage: BufferUsages, largest: u64) -> Self {
        Self { device, usage, largest, state: Mutex::default() }
    }

    /// Returns memory for at least `bytes` bytes of unspecified contents. If there is none left, `submit`
    /// submits what is recorded: until then, buffers that it uses stay, although they are free.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64, submit: impl FnOnce()) -> PooledBuffer {
        if bytes > self.largest {
            too_large(bytes, self.largest);
        }
        let size = rounded(bytes).min(self.largest.next_multiple_of(4));
        let buffer = self.reused(size);
        let buffer = buffer.unwrap_or_else(|| self.created(size, submit));
        self.state().used_bytes += size;
        PooledBuffer { buffer, pool: Arc::clone(self), numbers: Float::F32 }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reused(&self, size: u64) -> Option<wgpu::Buffer> {
        let mut state = self.state();
        let buffer = state.free.get_mut(&size)?.pop()?;
        state.free_bytes -= size;
        Some(buffer)
    }

    fn created(&self, size: u64, submit: impl FnOnce()) -> wgpu::Buffer {
        if let Some(buffer) = self.tried(size) {
            return buffer;
        }
        // What is free may be enough, once nothing that was recorded uses it.
        submit();
        self.state().clear();
        _ = self.device.poll(wgpu::PollType::wait_indefinitely());
        self.tried(size).unwrap_or_else(|| self.exhausted(size))
    }

    /// `None` if there is not enough memory.
    fn tried(&self, size: u64) -> Option<wgpu::Buffer> {
        let scope = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(&BufferDescriptor {
            label: None,
            size,
            usage: self.usage,
            mapped_at_creation: false,
        });
        let error = pollster::block_on(scope.pop());
        error.is_none().then_some(buffer)
    }

    fn exhausted(&self, size: u64) -> ! {
        let used = self.state().used_bytes;
        Failure {
            problem: format!("the GPU has no memory for {} more; {} are in use", in_mib(size), in_mib(used)),
            hint: OUT_OF_MEMORY.into(),
        }
        .raise()
    }

    fn give(&self, buffer: wgpu::Buffer) {
        let mut state = self.state();
        let size = buffer.size();
        state.used_bytes -= size;
        state.free_bytes += size;
        state.free.entry(size).or_default().push(buffer);
        state.shrink();
    }
}

impl State {
    /// Frees the largest buffers while more is free than in use: batches of changing sizes leave some that
    /// fit nothing.
    fn shrink(&mut self) {
        while self.free_bytes > KEPT.max(2 * self.used_bytes) {
            let Some((&size, buffers)) = self.free.iter_mut().next_back() else {
                return;
            };
            match buffers.pop() {
                Some(_) => self.free_bytes -= size,
                None => _ = self.free.remove(&size),
            }
        }
    }

    fn clear(&mut self) {
        self.free.clear();
        self.free_bytes = 0;
    }
}

/// The size that serves for `bytes`: a quarter, a half, three quarters or all of the way to the next power of
/// two.
fn rounded(bytes: u64) -> u64 {
    let step = (bytes.max(1).next_power_of_two() / 8).max(256);
    bytes.max(1).next_multiple_of(step)
}

fn too_large(bytes: u64, largest: u64) -> ! {
    Failure {
        problem: format!(
            "a matrix of {} does not fit into a buffer of this GPU, which holds {} at most",
            in_mib(bytes),
            in_mib(largest)
        ),
        hint: "use smaller batches (`train.batch_tokens`), a smaller vocabulary or a smaller model, or \
               another device"
            .into(),
    }
    .raise()
}

fn in_mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_by_a_quarter_at_most() {
        for bytes in [1, 255, 256, 257, 4_000, 5_000, 1 << 20, (1 << 20) + 1] {
            let size = rounded(bytes);
            assert!(size >= bytes && size.is_multiple_of(256), "{bytes}: {size}");
            assert!(size <= (bytes + bytes / 4).max(256 + bytes), "{bytes}: {size}");
        }
        assert_eq!(rounded(0), 256);
        assert_eq!(rounded(1 << 27), 1 << 27);
    }
}
