//! The CPU kernels of Attentive: slices in, slices out.
//!
//! Matrices are row-major `f32`; a linear layer's weight is `[d_out, d_in]`, so that an embedding table
//! `[vocab, d_model]` is an output projection as it stands. Three promises hold for every kernel:
//!
//! - the result for a row depends on that row and the weights alone, to the bit: not on the number of rows, the padding
//!   or the number of threads. Every sum runs in an order that is fixed by constants;
//! - [`mod@reference`] holds a naive twin that reads like the formula, and the tests compare the two;
//! - small work stays on the calling thread, large work is shared out with rayon.
//!
//! This is the one place in the project with `unsafe` code: vector instructions that are chosen when the program runs,
//! and threads that write disjoint tiles of one matrix.

#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

#[macro_use]
mod simd;
mod additive_attention;
mod area;
mod lengths;
mod parallel;
mod scratch;
mod starts;
mod tile;

pub use lengths::Lengths;
pub use starts::Starts;

pub mod attention;
pub mod attentive_recurrent;
pub mod cross_entropy;
pub mod dropout;
pub mod elementwise;
pub mod embedding;
pub mod gemm;
pub mod linear;
pub mod nonlinearity;
pub mod norm;
pub mod optimizer;
pub mod philox;
pub mod recurrent;
pub mod reference;
pub mod rotary;

#[cfg(test)]
mod testing;
