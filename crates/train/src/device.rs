//! The device of a run.

#[cfg(feature = "gpu")]
use attentive_base::error::Error;
use attentive_base::error::Result;
use attentive_checkpoint as checkpoint;
use attentive_config::{GpuChoice, TrainDevice};
use attentive_device::{Cpu, Device, current, on};
use attentive_model::model::Model;
use attentive_processes::Processes;

/// Runs `work`, in which this thread computes on the `device`. The device [`TrainDevice::Cpu`] is the one of this thread, which
/// is the CPU unless the caller has chosen another one. With several processes, all have to call this.
///
/// # Errors
/// Those of `work`; [`attentive_base::error::Error::Usage`] for a GPU that does not exist or cannot be used, and
/// [`attentive_base::error::Error::Device`] for one that fails.
pub fn on_device<R>(
    device: TrainDevice,
    processes: &Processes,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let device = match device {
        TrainDevice::Cpu => Ok(current()),
        TrainDevice::Gpu(choice) => gpu(choice, processes),
    };
    let device = processes.agree("the device was chosen", device)?;
    attentive_pipeline::device::caught(|| on(device, work))
}

/// The GPU of this process.
fn gpu(choice: GpuChoice, processes: &Processes) -> Result<&'static dyn Device> {
    let number = match (choice, processes.on_this_machine()) {
        (GpuChoice::Number(number), _) => Some(number),
        (GpuChoice::Best, 1) => None,
        (GpuChoice::Best, n) => Some(one_of_several(n, processes.number_on_this_machine())?),
    };
    attentive_pipeline::device::gpu(number)
}

/// The GPU of the process `number` among `n` on this machine.
#[cfg(feature = "gpu")]
fn one_of_several(n: usize, number: usize) -> Result<usize> {
    use attentive_base::count::count;

    let found = attentive_gpu::adapters().len();
    match number < found {
        true => Ok(number),
        false => Err(Error::usage(
            format!(
                "{n} processes on this machine need a GPU each, and it has {}",
                count(found, "GPU")
            ),
            "start as many processes on a machine as it has GPUs, or let them share one: `train.device = \"gpu:0\"`",
        )),
    }
}

/// Without support for GPUs, whose lack is the error to report.
#[cfg(not(feature = "gpu"))]
fn one_of_several(_: usize, number: usize) -> Result<usize> {
    Ok(number)
}

/// The model with its parameters in the memory of the host, where search reads them: a copy if they are elsewhere.
pub(super) fn on_host(model: &Model) -> Model {
    let mut parameters = model.parameters().iter();
    if parameters.all(|parameter| parameter.values().is_on_host()) {
        return model.clone();
    }
    let copied = model.copied();
    on(&Cpu, || checkpoint::build(model.architecture(), copied))
}

#[cfg(test)]
mod tests;
