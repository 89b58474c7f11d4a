//! The CPU kernels of Attentive: slices in, slices out.
//!
//! Matrices are row-major `f32`. The weight of a linear layer is `[d_out, d_in]`, so an embedding table
//! `[vocab, d_model]` can serve as an output projection unchanged. Every kernel guarantees the following:
//!
//! - The result for a row depends, to the bit, only on that row and the weights, not on the number of rows,
//!   the padding or the number of threads. The order of every sum is fixed by constants.
//! - [`mod@reference`] holds a naive double-precision implementation that reads like the formula; tests
//!   compare the two.
//! - Small work stays on the calling thread; large work is divided among the current [`threads::Threads`].
//!
//! This crate contains all `unsafe` code of the project: vector instructions selected at run time, and
//! threads that write disjoint tiles of a matrix.

#![deny(unsafe_op_in_unsafe_fn)]
// Other targets have the portable kernels alone, and what selects others has nothing to do.
#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(dead_code, unused_unsafe, unused_variables)
)]

#[macro_use]
mod simd;
mod area;
mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
mod parallel;
mod prefetch;
mod scratch;
mod tile;
mod transpose;

pub use attentive_base::lengths::Lengths;

pub mod additive_attention;
pub mod attention;
pub mod attentive_recurrent;
pub mod cached_attention;
pub mod ceiling;
pub mod cross_entropy;
pub mod dropout;
pub mod elementwise;
pub mod embedding;
pub mod gemm;
pub mod instruction_set;
pub mod lazy_adam;
pub mod linear;
pub mod mapped;
pub mod mean;
pub mod muon;
pub mod nonlinearity;
pub mod norm;
pub mod optimizer;
pub mod packed;
#[cfg(target_arch = "x86_64")]
mod philox;
pub mod platform;
pub mod recurrent;
pub mod reference;
pub mod rotary;
pub mod team;
pub mod threads;
pub mod top_k;

#[cfg(test)]
mod testing;
