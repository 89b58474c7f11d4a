//! Opening a GPU, and its memory.

use attentive_cuda::{Buffer, Cuda, Error, devices};

use super::gpu;

#[test]
fn there_is_no_gpu_beyond_the_last() {
    let Some(_) = gpu() else { return };
    let last = devices().expect("devices").len() - 1;
    let error = Cuda::open(last + 1).expect_err("an error");
    let number = last + 1;
    assert_eq!(error, Error::NoSuchDevice { number, last });
}

#[test]
fn numbers_come_back_as_they_were() {
    let Some(gpu) = gpu() else { return };
    let numbers: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let buffer = gpu.upload(&numbers).expect("memory");
    assert_eq!(gpu.download(&buffer).expect("numbers"), numbers);
    let zeros: Buffer<f32> = gpu.zeros(7).expect("memory");
    assert_eq!(gpu.download(&zeros).expect("numbers"), [0.0; 7]);
    let empty: Buffer<f32> = gpu.upload(&[]).expect("memory");
    assert!(empty.is_empty());
    assert_eq!(gpu.download(&empty).expect("numbers"), []);
}

#[test]
fn more_than_the_memory_is_an_error_and_the_gpu_goes_on() {
    let Some(gpu) = gpu() else { return };
    let bytes = gpu.device.memory + 4;
    let error = gpu.zeros::<f32>(bytes / 4).expect_err("an error");
    assert!(matches!(error, Error::OutOfMemory { bytes: asked } if asked >= bytes - 3));
    gpu.zeros::<f32>(1).expect("memory");
}

#[test]
fn moments_follow_each_other() {
    let Some(gpu) = gpu() else { return };
    let first = gpu.moment().expect("a moment");
    let buffer = gpu.zeros::<f32>(1 << 16).expect("memory");
    let second = gpu.moment().expect("a moment");
    gpu.download(&buffer).expect("numbers");
    assert!(first.seconds_until(&second).expect("a time") > 0.0);
}
