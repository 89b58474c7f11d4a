//! The device of a run.

#[cfg(feature = "gpu")]
use attentive_base::error::Error;
use attentive_base::error::Result;
use attentive_config::{GpuChoice, TrainDevice};
use attentive_device::{current, on};
use attentive_processes::Processes;

/// Runs `work`, in which this thread computes on the `device`. The device [`TrainDevice::Cpu`] is the one of
/// this thread, which is the CPU unless the caller has chosen another one. With several processes, all have
/// to call this.
///
/// # Errors
/// Those of `work`; [`attentive_base::error::Error::Usage`] for a GPU that does not exist or cannot be used,
/// and [`attentive_base::error::Error::Device`] for one that fails.
pub fn on_device<R>(
    device: TrainDevice,
    processes: &Processes,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let device = of_process(device, processes)
        .and_then(|device| attentive_pipeline::device::open(device, None))
        .map(|device| device.unwrap_or_else(current));
    let device = processes.agree("the device was chosen", device)?;
    attentive_pipeline::device::caught(|| on(device, work))
}

/// The `device` of this process: if several on a machine ask for `gpu`, each has the GPU of its number there.
///
/// # Errors
/// [`Error::Usage`] if the machine has fewer GPUs than processes.
///
/// [`Error::Usage`]: attentive_base::error::Error::Usage
pub fn of_process(device: TrainDevice, processes: &Processes) -> Result<TrainDevice> {
    match (device, processes.on_this_machine()) {
        (TrainDevice::Gpu(GpuChoice::Best), n) if n > 1 => {
            let number = one_of_several(n, processes.number_on_this_machine())?;
            Ok(TrainDevice::Gpu(GpuChoice::Number(number)))
        }
        _ => Ok(device),
    }
}

/// The GPU of the process `number` among `n` on this machine.
#[cfg(feature = "gpu")]
fn one_of_several(n: usize, number: usize) -> Result<usize> {
    use attentive_base::count::count;

    let found = attentive_gpu::adapters().len();
    if number < found {
        Ok(number)
    } else {
        Err(Error::usage(
            format!("{n} processes on this machine need a GPU each, and it has {}", count(found, "GPU")),
            "start as many processes on a machine as it has GPUs, or let them share one: choose the device \
             `gpu:0`",
        ))
    }
}

/// Without support for GPUs, whose lack is the error to report.
#[cfg(not(feature = "gpu"))]
fn one_of_several(_: usize, number: usize) -> Result<usize> {
    Ok(number)
}

#[cfg(test)]
mod tests;
