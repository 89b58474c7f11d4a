//! The device on which a model decodes.

use attentive_base::error::{Error, Result};
use attentive_checkpoint as checkpoint;
use attentive_config::{GpuChoice, TrainDevice};
use attentive_device::{Device, Failure, on};
use attentive_model::any_engine::AnyEngine;
use attentive_model::device_engine::DeviceEngine;
use attentive_model::engine::Precision;

use super::Pipeline;
use super::ready::decodes;

/// Opens a device for decoding in `precision`, if it is given; `None` for the CPU.
///
/// # Errors
/// The errors of [`gpu`]; [`Error::Usage`] for a GPU and a precision other than `f32`.
pub fn open(
    device: TrainDevice,
    precision: Option<Precision>,
) -> Result<Option<&'static dyn Device>> {
    let number = match device {
        TrainDevice::Cpu => return Ok(None),
        TrainDevice::Gpu(GpuChoice::Best) => None,
        TrainDevice::Gpu(GpuChoice::Number(number)) => Some(number),
    };
    match precision.filter(|&precision| precision != Precision::F32) {
        Some(precision) => Err(Error::usage(
            format!("GPUs compute in f32, not in {precision}"),
            "leave the precision out, or decode on the CPU",
        )),
        None => gpu(number).map(Some),
    }
}

/// Opens the GPU of this number, or the best one.
///
/// # Errors
/// [`Error::Usage`] if there is none, if it cannot be used, or if the program was built without support for GPUs.
#[cfg(feature = "gpu")]
pub fn gpu(number: Option<usize>) -> Result<&'static dyn Device> {
    match attentive_gpu::open(number) {
        Ok(gpu) => Ok(gpu),
        Err(error) => Err(Error::usage(error.to_string(), error.hint())),
    }
}

/// Refuses: the program was built without support for GPUs.
///
/// # Errors
/// Always.
#[cfg(not(feature = "gpu"))]
pub fn gpu(_: Option<usize>) -> Result<&'static dyn Device> {
    Err(Error::usage(
        "this program was built without support for GPUs",
        "build it with the feature `gpu`, or compute on the device `cpu`",
    ))
}

/// Does `work`, during which a device may fail.
///
/// # Errors
/// Those of `work`; [`Error::Device`] for a device that fails.
pub fn caught<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    Failure::caught(work).unwrap_or_else(|failure| Err(failed(failure)))
}

/// The error of a device that failed.
pub(super) fn failed(failure: Failure) -> Error {
    let Failure { problem, hint } = failure;
    Error::Device { problem, hint }
}

impl Pipeline {
    /// Lets the model, and those of its ensemble, decode on `device`, in `f32`: quantized weights are dequantized. Whatever is not
    /// search or generation, such as perplexities and alignments, is still computed on the CPU.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that does not decode; [`Error::Device`] for a device that fails.
    pub fn on_device(self, device: &'static dyn Device) -> Result<Self> {
        if !self.decodes() {
            let verb = self.architecture.task().verb();
            return Err(Error::usage(
                format!("a model that {verb} computes on the CPU only"),
                "leave the device out: only models that translate or generate have a choice",
            ));
        }
        let shortlist = self.stepper().shortlist().cloned();
        let weights = match self.model.get() {
            Some(model) => model.copied(),
            None => self.stepper_parameters(),
        };
        let engine = caught(|| {
            let model = on(device, || checkpoint::build(&self.architecture, weights));
            Ok(DeviceEngine::new(device, model))
        })?;
        let engine = AnyEngine::Device(engine).with_shortlist(shortlist);
        let partners = self.partners.into_iter();
        Ok(Self {
            engine: engine.into(),
            partners: partners
                .map(|partner| partner.on_device(device))
                .collect::<Result<_>>()?,
            ..self
        })
    }

    /// True for a model that translates or continues texts, which search decodes.
    pub fn decodes(&self) -> bool {
        decodes(&self.architecture)
    }

    /// True if it decodes on another device than the CPU.
    pub fn is_on_device(&self) -> bool {
        matches!(self.engine.get(), Some(AnyEngine::Device(_)))
    }
}
