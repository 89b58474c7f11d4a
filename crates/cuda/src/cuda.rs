//! An open GPU.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::sys::{CUevent_flags, CUresult};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaStream, DeviceRepr, DriverError, ValidAsZeroBits,
};
use cudarc::nvrtc::Ptx;

use crate::buffer::Buffer;
use crate::device::{Device, devices, driver_version};
use crate::error::Error;
use crate::image::Image;
use crate::kernels::Kernels;

/// The threads of a block, as `kThreads` in `tile.cuh`.
pub(crate) const THREADS: u32 = 128;

/// A GPU with its kernels, and the stream on which all its operations are queued, one after the other.
pub struct Cuda {
    /// Which one it is.
    pub device: Device,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cuda").field(&self.device).finish()
    }
}

/// A place in the stream, to measure times.
#[derive(Debug)]
pub struct Moment(CudaEvent);

impl Cuda {
    /// Opens the GPU of this number.
    ///
    /// # Errors
    ///
    /// There is no driver or no such GPU, one of them is too old, or the driver fails.
    pub fn open(number: usize) -> Result<Self, Error> {
        let mut devices = devices()?;
        if number >= devices.len() {
            let last = devices.len() - 1;
            return Err(Error::NoSuchDevice { number, last });
        }
        let device = devices.swap_remove(number);
        let Some(image) = Image::for_capability(device.capability) else {
            return Err(Error::OldDevice {
                name: device.name,
                capability: device.capability,
            });
        };
        let found = driver_version()?;
        if found < image.needed {
            let needed = image.needed;
            return Err(Error::OldDriver { found, needed });
        }
        let context = CudaContext::new(number).map_err(Error::failed("be opened"))?;
        // SAFETY: there is one stream only, so no buffer is used on one and freed on another.
        unsafe { context.disable_event_tracking() };
        let module = context
            .load_module(Ptx::from_binary(image.bytes()?))
            .map_err(Error::failed("load its kernels"))?;
        Ok(Self {
            kernels: Kernels::of(&module).map_err(Error::failed("find its kernels"))?,
            stream: context
                .new_stream()
                .map_err(Error::failed("open a stream"))?,
            device,
        })
    }

    /// A buffer of zeros.
    ///
    /// # Errors
    ///
    /// There is not enough memory.
    pub fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, len: usize) -> Result<Buffer<T>, Error> {
        // An empty allocation is an error of the driver.
        let slice = self.stream.alloc_zeros(len.max(1));
        let slice = slice.map_err(allocation::<T>(len))?;
        Ok(Buffer { slice, len })
    }

    /// A buffer with these numbers.
    ///
    /// # Errors
    ///
    /// There is not enough memory, or the driver fails.
    pub fn upload<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        values: &[T],
    ) -> Result<Buffer<T>, Error> {
        let mut buffer = self.zeros(values.len())?;
        if !values.is_empty() {
            self.stream
                .memcpy_htod(values, &mut buffer.slice)
                .map_err(Error::failed("copy numbers to its memory"))?;
        }
        Ok(buffer)
    }

    /// The numbers of a buffer. Waits until all that was queued before is done.
    ///
    /// # Errors
    ///
    /// This, or what was queued before, fails.
    pub fn download<T: DeviceRepr>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, Error> {
        let values = self.stream.clone_dtoh(&buffer.slice);
        let mut values = values.map_err(Error::failed("copy numbers from its memory"))?;
        self.wait()?;
        values.truncate(buffer.len);
        Ok(values)
    }

    /// Waits until all that was queued is done.
    ///
    /// # Errors
    ///
    /// What was queued fails.
    pub fn wait(&self) -> Result<(), Error> {
        self.stream
            .synchronize()
            .map_err(Error::failed("finish its work"))
    }

    /// Makes this GPU the one that libraries use on this thread.
    pub(crate) fn bind(&self) -> Result<(), Error> {
        let bound = self.stream.context().bind_to_thread();
        bound.map_err(Error::failed("be opened on this thread"))
    }

    /// The moment at which all that was queued before is done.
    ///
    /// # Errors
    ///
    /// The driver fails.
    pub fn moment(&self) -> Result<Moment, Error> {
        let with_time = Some(CUevent_flags::CU_EVENT_DEFAULT);
        self.stream
            .record_event(with_time)
            .map(Moment)
            .map_err(Error::failed("record a moment"))
    }
}

impl Moment {
    /// The seconds from this moment to a later one. Waits for both.
    ///
    /// # Errors
    ///
    /// What was queued before fails.
    pub fn seconds_until(&self, later: &Self) -> Result<f64, Error> {
        let milliseconds = self.0.elapsed_ms(&later.0);
        Ok(f64::from(milliseconds.map_err(Error::failed("finish its work"))?) / 1e3)
    }
}

/// What the kernels count with `int`, with room for a tile beyond the end.
pub(crate) fn small(size: usize) -> Option<i32> {
    let size = i32::try_from(size).ok()?;
    (size < 1 << 30).then_some(size)
}

fn allocation<T>(len: usize) -> impl Fn(DriverError) -> Error {
    move |error| match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory {
            bytes: len * size_of::<T>(),
        },
        _ => Error::failed("allocate memory")(error),
    }
}
