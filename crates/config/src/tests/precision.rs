//! Tests of number types.

use attentive_kernels::gemm::Float;
use attentive_kernels::packed::Precision;
use serde_json::to_value;

use crate::{GpuChoice, TrainConfig, TrainDevice, TrainPrecision};

#[test]
fn number_types_have_their_usual_names() {
    for one in [Float::F32, Float::Bf16] {
        assert_eq!(to_value(one).unwrap(), one.to_string());
    }
    for one in [TrainPrecision::F32, TrainPrecision::Bf16] {
        assert_eq!(to_value(one).unwrap(), Precision::from(products(TrainDevice::Cpu, one)).name());
    }
}

#[test]
fn gpus_compute_in_single_precision() {
    let auto = |device| products(device, TrainPrecision::Auto);
    assert_eq!(auto(TrainDevice::Cpu), Float::fastest());
    assert_eq!(auto(TrainDevice::Gpu(GpuChoice::Best)), Float::F32);
}

fn products(device: TrainDevice, precision: TrainPrecision) -> Float {
    let train = TrainConfig { device, precision, ..TrainConfig::default() };
    train.products()
}
