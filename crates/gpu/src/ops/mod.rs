//! Operations, a file for each kind, with kernels in `wgsl/`.

pub(crate) mod additive_attention;
pub(crate) mod attention;
pub(crate) mod attentive_recurrent;
pub(crate) mod decoding;
pub(crate) mod dropout;
pub(crate) mod elementwise;
pub(crate) mod linear;
pub(crate) mod loss;
pub(crate) mod nonlinearity;
pub(crate) mod norm;
pub(crate) mod optimizer;
mod product;
pub(crate) mod recurrent;
pub(crate) mod rows;
mod sums;
