//! The GPUs of a machine.

use std::fmt;

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{DriverError, result};

use crate::error::Error;

/// A GPU that NVIDIA's driver finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// What its instructions are.
    pub capability: Capability,
    /// How many multiprocessors it has.
    pub multiprocessors: usize,
    /// Its memory, in bytes.
    pub memory: usize,
}

/// The compute capability of a GPU, which says what instructions it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capability {
    /// The generation.
    pub major: i32,
    /// The member of the generation.
    pub minor: i32,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The GPUs of this machine, in the order of NVIDIA's driver.
///
/// # Errors
///
/// There is no driver or no GPU, or the driver fails.
pub fn devices() -> Result<Vec<Device>, Error> {
    // SAFETY: it only tries to load the library, whose code NVIDIA answers for.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriver);
    }
    let no_device = DriverError(CUresult::CUDA_ERROR_NO_DEVICE);
    let found = result::init().and_then(|()| result::device::get_count());
    let count = match found {
        Ok(0) => return Err(Error::NoDevice),
        Err(error) if error == no_device => return Err(Error::NoDevice),
        found => found.map_err(Error::failed("be listed by its driver"))?,
    };
    (0..count)
        .map(|number| device(number).map_err(Error::failed("be described by its driver")))
        .collect()
}

/// The version of CUDA that the driver supports: 1000 times the major version and 10 times the minor one. `devices` has found
/// the driver.
pub(crate) fn driver_version() -> Result<i32, Error> {
    let mut version = 0;
    // SAFETY: it writes one number to the place that it gets.
    let status = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    status
        .result()
        .map_err(Error::failed("name the version of its driver"))?;
    Ok(version)
}

fn device(number: i32) -> Result<Device, DriverError> {
    let handle = result::device::get(number)?;
    // SAFETY: the driver has just given this handle.
    let attribute = |attribute| unsafe { result::device::get_attribute(handle, attribute) };
    Ok(Device {
        number: number.unsigned_abs() as usize,
        name: result::device::get_name(handle)?,
        capability: Capability {
            major: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            minor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        },
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?
            .unsigned_abs() as usize,
        // SAFETY: as above.
        memory: unsafe { result::device::total_mem(handle) }?,
    })
}
