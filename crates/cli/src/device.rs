//! The device of training, and that of trained models.

use attentive_config::TrainDevice;
use attentive_device::Device;

use super::message;

/// What computes.
#[derive(clap::Args)]
pub(super) struct DeviceArgs {
    /// Device for training: `cpu`, `gpu`, or `gpu:N` with a number of `attentive devices` [default:
    /// `train.device` of the configuration, or `cpu`]. It prevails over `--set train.device=…`.
    #[arg(long, value_name = "DEVICE")]
    device: Option<TrainDevice>,
}

/// What computes a trained model.
#[derive(clap::Args)]
pub(super) struct DecodingDeviceArgs {
    /// Device for the model: `cpu`, `gpu`, or `gpu:N` with a number of `attentive devices`. GPUs compute in
    /// f32, with weights in f32 or bf16.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(super) device: TrainDevice,
}

impl DeviceArgs {
    /// The choice as an override of the configuration.
    pub(super) fn as_override(&self) -> Option<String> {
        let device = self.device?;
        Some(format!("train.device={device}"))
    }
}

/// Warns if what should be a GPU is a driver that computes on the CPU.
pub(super) fn warn_of_software(device: Option<&dyn Device>) {
    let hardware = device.and_then(Device::hardware);
    let warning = hardware.and_then(|hardware| hardware.warning());
    warning.iter().for_each(message::warning);
}
