//! Kernels for NVIDIA's GPUs, compiled beforehand: nothing of CUDA is needed to build, and only the driver to run.
//!
//! All operations are queued on one stream; only what returns numbers waits. The sources of the kernels are in `src/kernels`,
//! and what NVRTC makes of them in `src/images`: a program for each kind of GPU, and PTX for kinds that come later. A number of
//! a product is one sum in a fixed order, which depends on nothing but a row and a column.
//!
//! No kernel has run on a GPU yet. The tests run them on the CPU, by the emulator in `emulator/`, which shows that their
//! results are right and says nothing about speed.
#![cfg(feature = "cuda")]

mod attention;
mod bf16;
mod buffer;
mod cublaslt;
mod cuda;
mod device;
mod error;
mod image;
mod kernels;
mod product;

pub use attention::{Attention, AttentionInputs};
pub use bf16::Bf16;
pub use buffer::{Buffer, Matrix, Shape};
pub use cublaslt::CublasLt;
pub use cuda::{Cuda, Moment};
pub use device::{Capability, Device, devices};
pub use error::Error;
pub use product::{Form, Out, Tile};
