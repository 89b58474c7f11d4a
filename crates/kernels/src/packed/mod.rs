//! Weights packed for inference, in a layout that does not depend on the machine, and their products.
//!
//! A matrix `[n, k]`, the weight of a linear layer from k to n columns, is stored in panels of 16 output
//! columns. Line i of a panel has 64 bytes, one word of 4 bytes for each column: an `f32` at depth i, two
//! bfloat16 numbers from depth 2i on, or four bytes from depth 4i on. Missing columns and depths are zero:
//!
//! | type | layout | size of a row |
//! |---|---|---|
//! | [`PackedF32`] | `[⌈n/16⌉, k, 16]` | 4 k |
//! | [`PackedBf16`] | `[⌈n/16⌉, ⌈k/2⌉, 16, 2]` | 2 k |
//! | [`PackedInt8`] | `[⌈n/16⌉, ⌈k/4⌉, 16, 4]` | k |
//!
//! Views borrow the numbers, for instance from a file mapped into memory; the kernels are fastest if they
//! start at a multiple of 64 bytes. Owners, whose names end in `Buf`, pack a row-major matrix.

mod columns;
mod error;
mod float;
mod int8;
mod layout;
mod left;
mod lines;
mod precision;
mod product;
mod weight;

pub use columns::PackedColumns;
pub use error::PackedError;
pub use float::{PackedBf16, PackedBf16Buf, PackedF32, PackedF32Buf, PackedFloat, PackedFloatBuf};
pub use int8::{MAX_INT8_K, PackedInt8, PackedInt8Buf};
pub use left::{LeftOperand, LeftOperandBuf};
pub(crate) use lines::{Number, PANEL, with_lines};
pub use precision::Precision;
pub use product::{
    PackedAffine, linear_packed, linear_packed_add, linear_packed_columns, linear_packed_joined, shared_by,
    team_size,
};
pub use weight::{PackedWeight, PackedWeightBuf};

#[cfg(test)]
mod tests;
